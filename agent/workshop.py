"""The workshop: sandboxes of one data folder made, woken, kept while they rest, and removed."""

import logging
import threading
import uuid
from contextlib import ExitStack, closing
from pathlib import Path
from weakref import WeakValueDictionary

from agent import clock
from agent.engine_room import EngineRoom
from agent.errors import EngineError, ImageError, SandboxError
from agent.events import Origin
from agent.folder import RunFolder
from agent.removal import named_sandboxes, on_disk
from agent.sandbox import disk, resting
from agent.sandbox.base import Sandbox
from agent.sandbox.container import ContainerSpec, host_certificates
from agent.sandbox.docker import DockerSandbox
from agent.sandbox.engine import Client
from agent.sandbox.instance import DataFolder
from agent.settings import Settings
from agent.stop import Stop

_log = logging.getLogger(__name__)
_EMPTY = "cd / && find /workspace -mindepth 1 -xdev -delete"
_PATIENCE = 120.0
_DAY = 86_400.0


class Workshop:
    """Makes and keeps the sandboxes. Any thread may use it.

    Args:
        settings: What a sandbox may use, and how long it rests.
        data: The data folder, held by this process.
        room: What they are made with.
        disks: Whether sandboxes get a disk of their own, where that can be.
    """

    def __init__(
        self, settings: Settings, data: DataFolder, room: EngineRoom, *, disks: bool
    ) -> None:
        self._settings, self._data, self._room, self._disks = settings, data, room, disks
        self._lock = threading.Lock()
        self._turns: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    def new_folder(self) -> str:
        """Make a sandbox's folder, a disk of its own where that can be; the sandbox's id."""
        sandbox_id = uuid.uuid4().hex
        folder = self._data.workspace(sandbox_id).parent
        if self._disks:
            disk.make(folder, self._settings.disk)
        folder.mkdir(mode=0o700, exist_ok=True)
        return sandbox_id

    def idle(self) -> Sandbox:
        """A sandbox for nobody yet, on a folder of its own.

        Raises:
            StudioError: none can be made; nothing is left behind.
        """
        if not self._room.has_image():
            self._room.begin_again()
            raise ImageError("The sandbox image was removed; it is made again.")
        sandbox_id = self.new_folder()
        with ExitStack() as on_failure:
            on_failure.callback(disk.discard, self._data.path / "sandboxes" / sandbox_id)
            sandbox = self._create(sandbox_id)
            on_failure.pop_all()
        return sandbox

    def turn(self, sandbox_id: str) -> threading.Lock:
        """What is held by whoever makes, wakes or removes a sandbox's container."""
        with self._lock:
            turn = self._turns.get(sandbox_id) or threading.Lock()
            self._turns[sandbox_id] = turn
            return turn

    def can_make(self, folder: RunFolder) -> bool:
        """Whether there is a container to be woken, or an image to make one from.

        Raises:
            SandboxError: the engine refused.
        """
        kept = folder.used and resting.listed(self._engine, self._data.instance, folder.sandbox)
        return bool(kept) or self._room.has_image()

    def make(self, folder: RunFolder) -> tuple[Sandbox, Origin]:
        """The run's sandbox, made or woken; for who holds its ``turn``.

        Raises:
            SandboxError: the engine refused.
        """
        if folder.used:
            return self._again(folder)
        return self._create(folder.sandbox, network=_networked(folder)), "new"

    def empty(self, sandbox_id: str) -> None:
        """Empty a sandbox's workspace as root of a container on it.

        For what root made in an earlier one, and this process's user may not remove.

        Raises:
            StudioError: no container can be made.
        """
        if self._room.client is None:
            raise EngineError("The container engine, which could remove them, is not reached.")
        with closing(self._create(sandbox_id, network=False)) as sandbox:
            for _ in sandbox.execute(_EMPTY, timeout=_PATIENCE, stop=Stop()):
                pass

    def discard(self, sandbox_id: str) -> None:
        """Remove the container in which a sandbox rests, as far as the engine is reached.

        What is left goes with ``tidy``, or at the next start.
        """
        if self._room.client is None:
            return
        try:
            for kept in resting.listed(self._engine, self._data.instance, sandbox_id):
                self._drop(kept)
        except SandboxError as error:
            _log.warning("%s", error)

    def tidy(self) -> None:
        """Remove the containers of sandboxes that have rested too long, or that no run has."""
        if self._room.client is None or self._room.readiness.phase != "ready":
            return
        try:
            found = resting.listed(self._engine, self._data.instance)
            named = named_sandboxes(self._data.path)
            for kept in found:
                if kept.sandbox and kept.state == "exited":
                    self._expire(kept, named)
        except SandboxError as error:
            _log.warning("%s", error)

    def remove_orphans(self) -> None:
        """Remove sandbox folders that no run names, as an idle pool leaves them.

        Only while nothing here makes new ones: before the first, and after the last.
        """
        for folder in disk.orphans(self._data.path, named_sandboxes(self._data.path)):
            disk.discard(folder)

    @property
    def _engine(self) -> Client:
        assert self._room.client is not None
        return self._room.client

    def _again(self, folder: RunFolder) -> tuple[Sandbox, Origin]:
        """The sandbox that a run had, woken; where that is gone, another on its files."""
        network = _networked(folder)
        try:
            woken = DockerSandbox.wake(self._engine, self._spec(folder.sandbox, network))
        except SandboxError as error:
            _log.warning("The sandbox of run %s cannot be woken: %s", folder.id, error)
        else:
            if woken is not None:
                return woken, "woken"
        old = resting.listed(self._engine, self._data.instance, folder.sandbox)
        made = self._create(folder.sandbox, network=network)
        for kept in old:
            self._drop(kept)
        return made, "remade"

    def _expire(self, kept: resting.Kept, named: set[str]) -> None:
        """Remove a container if its time is over, unless it is just being woken."""
        with self.turn(kept.sandbox):
            since = resting.stopped_at(self._engine, kept.container)
            if since is None:
                return
            rested = clock.now() - since
            if kept.sandbox not in named or rested > self._settings.resting_days * _DAY:
                self._drop(kept)

    def _drop(self, kept: resting.Kept) -> None:
        resting.remove(self._engine, kept.container)
        if self._room.egress is not None and kept.place is not None:
            self._room.egress.detach(kept.place)

    def _create(self, sandbox_id: str, *, network: bool = True) -> DockerSandbox:
        return DockerSandbox.create(self._engine, self._spec(sandbox_id, network))

    def _spec(self, sandbox_id: str, network: bool) -> ContainerSpec:
        settings = self._settings
        chosen = Path(settings.ca_bundle) if settings.ca_bundle else None
        return ContainerSpec(
            image=self._room.readiness.image,
            instance=self._data.instance,
            sandbox_id=sandbox_id,
            workspace=self._data.workspace(sandbox_id),
            limits=settings.sandbox_limits(),
            certificates=chosen if chosen and chosen.is_file() else host_certificates(),
            egress=self._room.egress if network else None,
            runtime=settings.runtime,
            usage=on_disk,
        )


def _networked(folder: RunFolder) -> bool:
    return folder.network.access != "none"
