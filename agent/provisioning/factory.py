"""Creates, restarts, keeps and removes the sandboxes of one data folder."""

import logging
import threading
import uuid
from contextlib import ExitStack, closing
from pathlib import Path
from weakref import WeakValueDictionary

from agent.data_folder import DataFolder
from agent.errors import EngineError, ImageError, SandboxError
from agent.events import Origin
from agent.provisioning.backend import EngineRoom
from agent.runs.disk_usage import named_sandboxes, on_disk
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.disk import scratch, volume
from agent.sandbox.docker import lifecycle
from agent.sandbox.docker.container import ContainerSpec, host_certificates
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from agent.settings import Settings
from agent.util import clock
from agent.util.cancellation import Stop

_log = logging.getLogger(__name__)
_EMPTY = "cd / && find /workspace -mindepth 1 -xdev -delete"
_PATIENCE = 120.0
_DAY = 86_400.0


class Workshop:
    """Creates, restarts and removes sandboxes. Thread-safe.

    Args:
        settings: A sandbox's limits, and how long a stopped one is kept.
        data: The data folder, locked by this process.
        room: The engine client, image and proxy to use.
        disks: Whether sandboxes get their own disk where the host supports it.
    """

    def __init__(
        self, settings: Settings, data: DataFolder, room: EngineRoom, *, disks: bool
    ) -> None:
        self._settings, self._data, self._room, self._disks = settings, data, room, disks
        self._lock = threading.Lock()
        self._turns: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    def new_folder(self) -> str:
        """Create a sandbox's folder, with its own disk if possible; return the sandbox's id."""
        sandbox_id = uuid.uuid4().hex
        folder = self._data.workspace(sandbox_id).parent
        if self._disks:
            volume.make(folder, self._settings.disk)
        folder.mkdir(mode=0o700, exist_ok=True)
        return sandbox_id

    def idle(self) -> Sandbox:
        """Create a sandbox that no run uses yet, with its own folder.

        Raises:
            StudioError: it cannot be created; nothing is left behind.
        """
        if not self._room.has_image():
            self._room.begin_again()
            raise ImageError("The sandbox image was removed; it is made again.")
        sandbox_id = self.new_folder()
        with ExitStack() as on_failure:
            on_failure.callback(volume.discard, self._data.path / "sandboxes" / sandbox_id)
            sandbox = self._create(sandbox_id)
            on_failure.pop_all()
        return sandbox

    def turn(self, sandbox_id: str) -> threading.Lock:
        """Return the lock for creating, restarting or removing a sandbox's container."""
        with self._lock:
            turn = self._turns.get(sandbox_id) or threading.Lock()
            self._turns[sandbox_id] = turn
            return turn

    def can_make(self, folder: RunFolder) -> bool:
        """Return whether a stopped container exists, or an image to create one from.

        Raises:
            SandboxError: the engine refused.
        """
        kept = folder.used and lifecycle.listed(self._engine, self._data.instance, folder.sandbox)
        return bool(kept) or self._room.has_image()

    def make(self, folder: RunFolder) -> tuple[Sandbox, Origin]:
        """Create or restart the run's sandbox; the caller must hold its ``turn``.

        Raises:
            SandboxError: the engine refused.
        """
        if folder.used:
            return self._again(folder)
        return self._create(folder.sandbox, network=_networked(folder)), "new"

    def empty(self, sandbox_id: str) -> None:
        """Empty a sandbox's workspace as root in a new container.

        Removes files that root created in an earlier container and that this process's user may
        not remove.

        Raises:
            StudioError: no container can be created.
        """
        if self._room.client is None:
            raise EngineError("The container engine, which could remove them, is not reached.")
        with closing(self._create(sandbox_id, network=False)) as sandbox:
            for _ in sandbox.execute(_EMPTY, timeout=_PATIENCE, stop=Stop()):
                pass

    def discard(self, sandbox_id: str) -> None:
        """Remove a sandbox's stopped container if the engine is reachable.

        Otherwise ``tidy`` or the next start removes it.
        """
        if self._room.client is None:
            return
        try:
            for kept in lifecycle.listed(self._engine, self._data.instance, sandbox_id):
                self._drop(kept)
        except SandboxError as error:
            _log.warning("%s", error)

    def tidy(self) -> None:
        """Remove containers of sandboxes that were stopped too long ago or belong to no run."""
        if self._room.client is None or self._room.readiness.phase != "ready":
            return
        try:
            found = lifecycle.listed(self._engine, self._data.instance)
            named = named_sandboxes(self._data.path)
            for kept in found:
                if kept.sandbox and kept.state == "exited":
                    self._expire(kept, named)
        except SandboxError as error:
            _log.warning("%s", error)

    def remove_orphans(self) -> None:
        """Remove sandbox folders that belong to no run, such as those of idle pooled sandboxes.

        Call it only while no sandboxes are created: before the first and after the last.
        """
        for folder in volume.orphans(self._data.path, named_sandboxes(self._data.path)):
            volume.discard(folder)

    @property
    def _engine(self) -> Client:
        assert self._room.client is not None
        return self._room.client

    def _again(self, folder: RunFolder) -> tuple[Sandbox, Origin]:
        """Restart a run's sandbox; if it is gone, create a new one on the run's files."""
        network = _networked(folder)
        try:
            woken = DockerSandbox.wake(self._engine, self._spec(folder.sandbox, network))
        except SandboxError as error:
            _log.warning("The sandbox of run %s cannot be woken: %s", folder.id, error)
        else:
            if woken is not None:
                return woken, "woken"
        old = lifecycle.listed(self._engine, self._data.instance, folder.sandbox)
        made = self._create(folder.sandbox, network=network)
        for kept in old:
            self._drop(kept)
        return made, "remade"

    def _expire(self, kept: lifecycle.Kept, named: set[str]) -> None:
        """Remove a container whose retention has expired, unless it is being restarted."""
        with self.turn(kept.sandbox):
            since = lifecycle.stopped_at(self._engine, kept.container)
            if since is None:
                return
            rested = clock.now() - since
            if kept.sandbox not in named or rested > self._settings.resting_days * _DAY:
                self._drop(kept)
                folder = self._data.path / "sandboxes" / kept.sandbox
                if folder.is_dir():
                    volume.attach(folder)
                    scratch.discard(folder)

    def _drop(self, kept: lifecycle.Kept) -> None:
        lifecycle.remove(self._engine, kept.container)
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
