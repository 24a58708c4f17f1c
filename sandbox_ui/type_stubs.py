"""Keeps Gradio from writing type stubs (``.pyi``) of its components whenever it is imported.

For every component class Gradio parses the class's source and renders a stub, which takes half of
the import's time, and it writes into the installed package. No option turns this off.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

_MODULE = "gradio.component_meta"


class _LoaderWithoutStubs(SourceFileLoader):
    """Loads the module that writes the stubs, without its function for it."""

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module's code and replace the function."""
        super().exec_module(module)
        module.__dict__["create_or_modify_pyi"] = lambda *_arguments: None


class _ModuleFinder:
    """Finds that module; finds it once, since it is imported once."""

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
    """Have Gradio imported without writing stubs; without effect if it has been imported."""
    if _MODULE not in sys.modules and _ModuleFinder not in sys.meta_path:
        sys.meta_path.insert(0, _ModuleFinder)
