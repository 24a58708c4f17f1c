"""The ``openai`` package's client, without unneeded headers or imports of its 470 type modules."""

import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

import httpx2

from agent.models.base import ModelConfig
from agent.models.transport.base_url import BaseUrl
from agent.models.transport.sdk_client import HEADERS, SdkClient

_TYPES = "openai.types"
_loading = threading.RLock()


class _PackageOnDemand(ModuleType):
    """A package whose code is executed when a name is used that is no module of it."""

    def __getattr__(self, name: str) -> object:
        """Return an attribute that the package does not have yet."""
        with _loading:
            loader = self.__dict__.pop("_loader", None)
            if loader is not None:
                loader.exec_module(self)
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _LoaderOnDemand(Loader):
    """Leaves it to a package when its real loader executes its code."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the package, empty."""
        return _PackageOnDemand(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Store the real loader for the first use."""
        module.__dict__["_loader"] = self._loader


class _TypesFinder:
    """Finds the packages of types, to be loaded on demand."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import ``openai.types`` or a package in it; None for all other modules."""
        if name != _TYPES and not name.startswith(f"{_TYPES}."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.loader and spec.submodule_search_locations is not None:
            spec.loader = _LoaderOnDemand(spec.loader)
        return spec


sys.meta_path.insert(0, _TypesFinder)
try:
    import openai
finally:
    sys.meta_path.remove(_TypesFinder)


def create_openai_client(
    address: BaseUrl, config: ModelConfig, timeout: httpx2.Timeout, http: httpx2.AsyncClient
) -> SdkClient:
    """Return a client for Chat Completions and Responses."""
    client = _Client(
        api_key=config.api_key,
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        base_url=address.display_url,
        default_query=address.query,
        max_retries=0,
        timeout=timeout,
        http_client=http,
    )
    return SdkClient(client, openai)


class _Client(openai.AsyncOpenAI):
    """A client that sends only the necessary headers, and a key only if there is one."""

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        key = f"Bearer {self.api_key}" if self.api_key else openai.Omit()
        return {**HEADERS, "Authorization": key}

    def _validate_headers(self, headers: object, custom_headers: object) -> None:
        """Allow requests without a key: many endpoints need none."""
