"""The name of the installed package, in a checkout: the same modules as ``agent``."""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import TYPE_CHECKING

import agent

if TYPE_CHECKING:
    from agent import *  # noqa: F403
    from agent import __all__ as __all__

_PREFIX = f"{__name__}."


class _SameModules(MetaPathFinder, Loader):
    """Imports ``llm_in_sandbox_studio.x`` as ``agent.x``, so that no module is loaded twice."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for the modules below the package."""
        del path, target
        return spec_from_loader(name, self) if name.startswith(_PREFIX) else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of ``agent`` in the new one's place."""
        name = module.__name__
        sys.modules[name] = importlib.import_module(f"agent.{name.removeprefix(_PREFIX)}")


sys.meta_path.insert(0, _SameModules())
sys.modules[__name__] = agent
