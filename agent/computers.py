"""Where sandboxes come from: warm out of the pool, made for a run, or woken from their rest."""

import logging
import time
from collections.abc import Callable, Generator

from agent.engine_room import EngineRoom, Readiness
from agent.errors import SandboxError
from agent.events import Event, Origin, Preparing, SandboxReady
from agent.folder import RunFolder
from agent.sandbox import disk
from agent.sandbox.base import Sandbox
from agent.sandbox.census import Census, census
from agent.sandbox.engine import answers, await_engine
from agent.sandbox.instance import DataFolder
from agent.sandbox.pool import Pool
from agent.settings import Settings
from agent.settling import light, settle
from agent.stop import Stop
from agent.waiting import GivenUp, beside
from agent.workshop import Workshop
from agent.workspace.blobs import BlobStore

_log = logging.getLogger(__name__)


class Computers:
    """Gives sandboxes to the runs of one data folder.

    Args:
        settings: Limits, image, engine, size of the pool.
        data: The data folder, held by this process.
        report: Told of each change of ``readiness``, from a thread of theirs.
        disks: Whether sandboxes get a disk of their own, where that can be.
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
        """How far they are at this moment."""
        return self._room.readiness

    def open(self) -> None:
        """Begin to connect, clean up and build, in the background. May be called again."""
        self._room.open()

    def close(self) -> None:
        """Remove the idle sandboxes and let the engine go; what is being set up makes none."""
        self._room.shut()
        if self._pool is not None:
            self._pool.close()
        self._room.close()
        self._workshop.remove_orphans()
        disk.detach_all(self.data.path)

    def draft(self) -> str:
        """Make a sandbox's folder with an empty workspace, no container yet; its id."""
        sandbox_id = self._workshop.new_folder()
        for name in ("input", "output"):
            (self.data.workspace(sandbox_id) / name).mkdir(parents=True)
        return sandbox_id

    def empty(self, sandbox_id: str) -> None:
        """Empty a sandbox's workspace; see ``Workshop.empty``."""
        self._workshop.empty(sandbox_id)

    def discard(self, sandbox_id: str) -> None:
        """Remove the container in which a sandbox rests; see ``Workshop.discard``."""
        self._workshop.discard(sandbox_id)

    def tidy(self) -> None:
        """Remove the containers of sandboxes that have rested too long, or that no run has."""
        self._workshop.tidy()

    def census(self) -> Census:
        """What the engine holds for this data folder; nothing where it is not reached.

        Raises:
            SandboxError: it refused.
        """
        client, egress = self._room.client, self._room.egress
        if client is None:
            return Census()
        images = (self._room.readiness.image, egress.image if egress else "")
        return census(client, self.data.instance, images)

    def take(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """The run's sandbox; see ``agent.recorder.Computers``."""
        began = time.monotonic()
        if (yield from self._room.ready(stop)) is None:
            return None
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
        """Wait until the pool is as full as it is to be; return whether it is."""
        end = time.monotonic() + seconds
        self._room.wait(lambda: self._pool is not None, seconds)
        return self._pool is not None and self._pool.wait_full(end - time.monotonic())

    def _stock(self) -> None:
        self._pool = Pool(self._workshop.idle, self._size)

    def _from_pool(self, folder: RunFolder) -> Sandbox | None:
        """A warm sandbox for a run that has none yet, with the run's files moved into it."""
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
        """The run's sandbox, made or woken for it. ``GivenUp`` where a stop came first."""
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
    """End a sandbox that came too late; one that a run had worked in before is kept for it."""
    try:
        if origin == "new":
            sandbox.close()
        else:
            sandbox.rest()
    except SandboxError as error:
        _log.warning("%s", error)
