"""Sandboxes for rollouts: containers, or plain processes where no engine runs."""

import sys
import time
import uuid
from collections.abc import Generator
from typing import Literal

from agent.api.studio import Opener, Studio, containers
from agent.cluster.connect import opener_on
from agent.data_folder import DataFolder
from agent.errors import EngineError
from agent.events import Event, Preparing, SandboxReady
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.process import NO_ISOLATION_WARNING, ProcessSandbox
from agent.settings import Settings
from agent.util.stop import Stop
from agent.workspace.versions.blobs import BlobStore

_NETWORK_MUST_BE_OPEN = (
    "A plain process has full access to this machine's network. Set the run's network to open."
)


def create_studio(
    settings: Settings, sandbox: Literal["container", "process"], ray: str = ""
) -> Studio:
    """Create a studio with such sandboxes; warn on stderr if they isolate nothing."""
    if sandbox == "process":
        print(NO_ISOLATION_WARNING, file=sys.stderr)
    return Studio(settings, opener_on(ray, opener(sandbox)) if ray else opener(sandbox))


def opener(sandbox: Literal["container", "process"]) -> Opener:
    """Return what creates the provider of such sandboxes."""
    return containers if sandbox == "container" else ProcessSandboxProvider


class ProcessSandboxProvider:
    """Provider of sandboxes that isolate nothing; see ``agent.sandbox.process``."""

    def __init__(self, settings: Settings, data: DataFolder) -> None:
        self.blobs = BlobStore(data.path / "blobs", limit=settings.blob_store_bytes)
        self._limits = settings.sandbox_limits()
        self._data = data

    def close(self) -> None:
        """Do nothing: no resources are held."""

    def create_workspace(self) -> str:
        """See ``agent.api.studio.ClosableSandboxProvider``."""
        sandbox = uuid.uuid4().hex
        for name in ("input", "output"):
            (self._data.workspace(sandbox) / name).mkdir(parents=True)
        return sandbox

    def acquire(
        self,
        folder: RunFolder,
        stop: Stop,  # noqa: ARG002 - there is nothing to wait for
    ) -> Generator[Event, None, Sandbox | None]:
        """Return the sandbox; a plain process cannot restrict the network."""
        if folder.network.access != "open":
            raise EngineError(_NETWORK_MUST_BE_OPEN)
        yield Preparing(state="starting_sandbox", detail=NO_ISOLATION_WARNING)
        began = time.monotonic()
        sandbox = ProcessSandbox(folder.sandbox_folder, self._limits)
        folder.set_sandbox(folder.sandbox)
        took = time.monotonic() - began
        yield SandboxReady(sandbox=folder.sandbox, seconds=took, pooled=False)
        return sandbox
