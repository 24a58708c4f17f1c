"""Stops Gradio from writing type stubs at each import: half of the import's time."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

_MODULE = "gradio.component_meta"


class _LoaderWithoutStubs(SourceFileLoader):
    """Loads the module and replaces the function that writes the stubs."""

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, then replace the function with one that does nothing."""
        super().exec_module(module)
        module.__dict__["create_or_modify_pyi"] = lambda *_arguments: None


class _ModuleFinder:
    """Finds the module the first time that it is imported, and then removes itself."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import the module; None for all other modules."""
        if name != _MODULE:
            return None
        sys.meta_path.remove(_ModuleFinder)
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.origin:
            spec.loader = _LoaderWithoutStubs(name, spec.origin)
        return spec


def skip_type_stubs() -> None:
    """Make the first import of Gradio skip its type stubs; call it before that import."""
    if _MODULE not in sys.modules:
        sys.meta_path.insert(0, _ModuleFinder)
