"""Provides sandboxes to runs: from the warm pool, newly created, or restarted."""

import logging
import time
from collections.abc import Callable, Generator

from agent.data_folder import DataFolder
from agent.errors import EngineError, SandboxError
from agent.events import Event, Origin, Preparing, SandboxReady
from agent.provisioning.backend import EngineRoom, Readiness
from agent.provisioning.factory import Workshop
from agent.provisioning.migrate import light, settle
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.disk import volume
from agent.sandbox.docker.inventory import Census, census
from agent.sandbox.engine.client import answers, await_engine
from agent.sandbox.pool import Pool
from agent.settings import Settings
from agent.util.cancellation import Stop
from agent.util.wait import GivenUp, beside
from agent.workspace.versions.blobs import BlobStore

_log = logging.getLogger(__name__)
_NO_NETWORK = (
    "Podman cannot keep a sandbox off this machine's network. Start a new run with Network set to "
    "None, or use Docker."
)


class Computers:
    """Provides sandboxes to the runs of one data folder.

    Args:
        settings: Limits, image, engine, size of the pool.
        data: The data folder, locked by this process.
        report: Called with each change of ``readiness``, from the setup thread.
        disks: Whether sandboxes get their own disk where the host supports it.
    """

    def __init__(
        self,
        settings: Settings,
        data: DataFolder,
        report: Callable[[Readiness], None] = lambda _: None,
        *,
        disks: bool = True,
    ) -> None:
        self.data = data
        self.blobs = BlobStore(data.path / "blobs", limit=settings.blob_store)
        self._size = settings.pool
        self._pool: Pool | None = None
        self._room = EngineRoom(settings, data, report, self._stock)
        self._workshop = Workshop(settings, data, self._room, disks=disks)
        self._workshop.remove_orphans()

    @property
    def readiness(self) -> Readiness:
        """The current setup status."""
        return self._room.readiness

    def open(self) -> None:
        """Start to connect, clean up and build in the background. Idempotent."""
        self._room.open()

    def close(self) -> None:
        """Remove the idle sandboxes and close the backend; a setup in progress creates none."""
        self._room.shut()
        if self._pool is not None:
            self._pool.close()
        self._room.close()
        self._workshop.remove_orphans()
        volume.detach_all(self.data.path)

    def draft(self) -> str:
        """Create a sandbox's folder with an empty workspace but no container; return its id."""
        sandbox_id = self._workshop.new_folder()
        for name in ("input", "output"):
            (self.data.workspace(sandbox_id) / name).mkdir(parents=True)
        return sandbox_id

    def empty(self, sandbox_id: str) -> None:
        """Empty a sandbox's workspace; see ``Workshop.empty``."""
        self._workshop.empty(sandbox_id)

    def discard(self, sandbox_id: str) -> None:
        """Remove a sandbox's stopped container; see ``Workshop.discard``."""
        self._workshop.discard(sandbox_id)

    def tidy(self) -> None:
        """See ``Workshop.tidy``."""
        self._workshop.tidy()

    def census(self) -> Census:
        """Return what the engine stores for this data folder; empty if it is not reached.

        Raises:
            SandboxError: the engine refused.
        """
        client, egress = self._room.client, self._room.egress
        if client is None:
            return Census()
        images = (self._room.readiness.image, egress.image if egress else "")
        return census(client, self.data.instance, images)

    def take(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """Return the run's sandbox; see ``agent.runs.recorder.Computers``.

        Raises:
            EngineError: the run asks for a network, and the engine is Podman.
        """
        began = time.monotonic()
        if (yield from self._room.ready(stop)) is None:
            return None
        if self._room.egress is None and folder.network.access != "none":
            raise EngineError(_NO_NETWORK)
        pooled = self._from_pool(folder)
        origin: Origin = "new"
        try:
            if pooled is not None:
                sandbox = pooled
            else:
                sandbox, origin = yield from self._cold(folder, stop)
        except GivenUp:
            return None
        sandbox.allow(folder.network)
        folder.use(sandbox.id)
        yield SandboxReady(
            sandbox=sandbox.id,
            seconds=time.monotonic() - began,
            pooled=pooled is not None,
            origin=origin,
        )
        return sandbox

    def wait_for_pool(self, seconds: float) -> bool:
        """Wait up to ``seconds`` until the pool is full; return whether it is."""
        end = time.monotonic() + seconds
        self._room.wait(lambda: self._pool is not None, seconds)
        return self._pool is not None and self._pool.wait_full(end - time.monotonic())

    def _stock(self) -> None:
        if self._room.egress is not None:  # pooled sandboxes are for runs with a network
            self._pool = Pool(self._workshop.idle, self._size)

    def _from_pool(self, folder: RunFolder) -> Sandbox | None:
        """Return a pooled sandbox for a new run and move the run's files into it; else None."""
        if self._pool is None or folder.used or folder.network.access == "none":
            return None
        with folder.settling:
            sandbox = self._pool.take() if light(folder) else None
            if sandbox is not None:
                settle(folder, sandbox.id, sandbox.workspace)
        return sandbox

    def _cold(
        self, folder: RunFolder, stop: Stop
    ) -> Generator[Event, None, tuple[Sandbox, Origin]]:
        """Create or restart the run's sandbox. Raises ``GivenUp`` if a stop comes first."""
        yield Preparing(state="starting_sandbox")
        client = self._room.client
        assert client is not None
        if not beside(lambda: answers(client), stop):
            yield Preparing(state="starting_sandbox", detail="Waiting for the container engine")
            beside(lambda: await_engine(client, stop), stop)
        if not beside(lambda: self._workshop.can_make(folder), stop):
            self._room.begin_again()
            if (yield from self._room.ready(stop)) is None:
                raise GivenUp("The run was stopped.")
            yield Preparing(state="starting_sandbox")
        turn = self._workshop.turn(folder.sandbox)
        return beside(
            lambda: self._workshop.make(folder), stop, late=lambda made: _let_go(*made), guard=turn
        )


def _let_go(sandbox: Sandbox, origin: Origin) -> None:
    """Close a sandbox that was ready only after a stop; only stop it if the run used it before."""
    try:
        if origin == "new":
            sandbox.close()
        else:
            sandbox.rest()
    except SandboxError as error:
        _log.warning("%s", error)
