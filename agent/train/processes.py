"""Where rollouts have their sandboxes from; without an engine plain processes can be chosen."""

import sys
import time
import uuid
from collections.abc import Generator
from typing import Literal

from agent.errors import EngineError
from agent.events import Event, Preparing, SandboxReady
from agent.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.instance import DataFolder
from agent.sandbox.process import ISOLATES_NOTHING, ProcessSandbox
from agent.settings import Settings
from agent.stop import Stop
from agent.studio import Studio
from agent.workspace.blobs import BlobStore

_OPEN = "A plain process has this machine's network: the run's network must be open, as it is."


def studio_of(settings: Settings, sandbox: Literal["container", "process"]) -> Studio:
    """A studio whose sandboxes are of this kind; where they isolate nothing stderr is told so."""
    if sandbox == "container":
        return Studio(settings)
    print(ISOLATES_NOTHING, file=sys.stderr)
    return Studio(settings, Processes)


class Processes:
    """Gives each run a sandbox that isolates nothing; see ``agent.sandbox.process``.

    Args:
        settings: How much is kept of outputs and of versions.
        data: The data folder, held by this process.
    """

    def __init__(self, settings: Settings, data: DataFolder) -> None:
        self.blobs = BlobStore(data.path / "blobs", limit=settings.blob_store)
        self._limits = settings.sandbox_limits()
        self._data = data

    def close(self) -> None:
        """Nothing is held."""

    def draft(self) -> str:
        """See ``agent.studio.Source``."""
        sandbox = uuid.uuid4().hex
        for name in ("input", "output"):
            (self._data.workspace(sandbox) / name).mkdir(parents=True)
        return sandbox

    def take(
        self,
        folder: RunFolder,
        stop: Stop,  # noqa: ARG002 - there is nothing to wait for
    ) -> Generator[Event, None, Sandbox | None]:
        """See ``agent.recorder.Computers``.

        Raises:
            EngineError: the run's network is less than open, which nothing here could hold.
        """
        if folder.network.access != "open":
            raise EngineError(_OPEN)
        yield Preparing(state="starting_sandbox", detail=ISOLATES_NOTHING)
        began = time.monotonic()
        sandbox = ProcessSandbox(folder.sandbox_folder, self._limits)
        folder.use(folder.sandbox)
        took = time.monotonic() - began
        yield SandboxReady(sandbox=folder.sandbox, seconds=took, pooled=False)
        return sandbox
