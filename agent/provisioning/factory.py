"""Creates, restarts, keeps and removes the sandboxes of one data folder."""

import logging
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from agent.data_folder import DataFolder
from agent.errors import EngineError, ImageError, SandboxError
from agent.events import SandboxOrigin
from agent.provisioning.backend import Backend
from agent.runs.disk_usage import all_sandbox_ids, bytes_on_disk, run_sandbox_ids
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.disk import scratch, volume
from agent.sandbox.docker import lifecycle
from agent.sandbox.docker.container import ContainerSpec, host_certificates
from agent.sandbox.docker.removals import Removals
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from agent.sandbox.keyed_locks import KeyedLocks
from agent.settings import Settings
from agent.util import clock
from agent.util.stop import Stop
from agent.util.wait import WaitCancelled

_log = logging.getLogger(__name__)
_EMPTY_COMMAND = "cd / && find /workspace -mindepth 1 -xdev -delete"
_TIMEOUT_SECONDS = 120.0
_DAY_SECONDS = 86_400.0
_STARTS_AT_ONCE = min(8, 2 * (os.cpu_count() or 1))
"""Sandboxes to start at once: more share the same processors, and all wait for the last."""


class Turns:
    """Lets a number of threads in at once, in order of arrival, unlike ``threading.Semaphore``."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def take(self, stop: Stop) -> Iterator[None]:
        """Wait for a turn and hold it for the block. Raises ``WaitCancelled`` after a stop."""
        self._wait(stop)
        try:
            yield
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._free += 1

    @property
    def waiting(self) -> int:
        """Number of threads that wait."""
        return len(self._waiting)

    def _wait(self, stop: Stop) -> None:
        woken = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            self._waiting.append(woken)
        with stop.on_set(woken.set):
            woken.wait()
        with self._lock:
            if woken in self._waiting:
                self._waiting.remove(woken)
                raise WaitCancelled("The wait was cancelled because the run was stopped.")


class SandboxFactory:
    """Creates, restarts and removes sandboxes of a locked data folder. Thread-safe."""

    def __init__(
        self, settings: Settings, data: DataFolder, backend: Backend, *, disks: bool
    ) -> None:
        self._settings, self._data, self._backend = settings, data, backend
        self._disk = settings.disk if disks else None
        self._container_locks = KeyedLocks[str]()
        self._turns = Turns(_STARTS_AT_ONCE)
        self._removals = Removals()

    def close(self) -> None:
        """Wait until nothing of the closed sandboxes is left."""
        self._removals.close()

    def create_workspace(self) -> str:
        """See ``DataFolder.create_sandbox``."""
        return self._data.create_sandbox(self._disk)

    def create_idle(self) -> Sandbox:
        """Create a sandbox that no run uses yet, with its own folder."""
        sandbox_id = self.create_workspace()
        folder = self._data.path / "sandboxes" / sandbox_id
        with ExitStack() as on_failure:
            on_failure.callback(volume.discard, folder)
            sandbox = self.create_new(sandbox_id)
            on_failure.pop_all()
        return sandbox

    def create_new(self, sandbox_id: str) -> Sandbox:
        """Create a sandbox with a network and the default limits in a folder that exists."""
        if not self._backend.has_image():
            self._backend.rebuild_image()
            raise ImageError("The sandbox image was removed; it is being built again.")
        with self._turns.take(Stop()):
            return self._create(sandbox_id)

    def container_lock(self, sandbox_id: str) -> threading.Lock:
        """Return the lock for creating, restarting or removing a sandbox's container."""
        return self._container_locks.of(sandbox_id)

    def can_create(self, folder: RunFolder) -> bool:
        """Return whether a stopped container exists, or an image to create one from."""
        if self._backend.has_image():
            return True
        return folder.sandbox_used and bool(
            lifecycle.list_containers(self._engine, self._data.instance_id, folder.sandbox)
        )

    def create_or_restart(self, folder: RunFolder, stop: Stop) -> tuple[Sandbox, SandboxOrigin]:
        """Create or restart the run's sandbox; the caller holds its ``container_lock``."""
        self._removals.wait(folder.sandbox)
        with self._turns.take(stop):
            if folder.sandbox_used:
                return self._restart(folder)
            network = _has_network(folder)
            return self._create(folder.sandbox, network=network, memory=folder.memory), "new"

    def empty_workspace(self, sandbox_id: str) -> None:
        """Empty a sandbox's workspace as root: this user may not delete files of root's."""
        if self._backend.client is None:
            raise EngineError(
                "The container engine, which is needed to remove the files, cannot be reached."
            )
        self._removals.wait(sandbox_id)
        with self._turns.take(Stop()):
            created = self._create(sandbox_id, network=False)
        with closing(created) as sandbox:
            for _ in sandbox.execute(_EMPTY_COMMAND, timeout=_TIMEOUT_SECONDS, stop=Stop()):
                pass
        self._removals.wait(sandbox_id)

    def remove_container(self, sandbox_id: str) -> None:
        """Remove a sandbox's stopped container, if the engine is reachable."""
        if self._backend.client is None:
            return
        self._removals.wait(sandbox_id)
        try:
            for info in lifecycle.list_containers(self._engine, self._data.instance_id, sandbox_id):
                self._remove(info)
        except SandboxError as error:
            _log.warning("%s", error)

    def remove_expired(self) -> None:
        """Remove containers of sandboxes that were stopped too long ago or belong to no run."""
        if self._backend.client is None or self._backend.setup_status.phase != "ready":
            return
        try:
            for info in lifecycle.list_containers(self._engine, self._data.instance_id):
                if info.sandbox_id and info.state == "exited":
                    self._remove_if_expired(info)
        except SandboxError as error:
            _log.warning("%s", error)

    def remove_orphans(self) -> None:
        """Remove folders that belong to no run; call it only while no sandboxes are created."""
        data = self._data.path
        for folder in volume.find_orphans(
            data, lambda run: run_sandbox_ids(data, run) if run else all_sandbox_ids(data)
        ):
            volume.discard(folder)

    @property
    def _engine(self) -> Client:
        assert self._backend.client is not None
        return self._backend.client

    def _restart(self, folder: RunFolder) -> tuple[Sandbox, SandboxOrigin]:
        """Restart a run's sandbox; if it is gone, create a new one on the run's files."""
        network = _has_network(folder)
        try:
            restarted = DockerSandbox.restart(
                self._engine, self._spec(folder.sandbox, network, folder.memory)
            )
        except SandboxError as error:
            _log.warning("The sandbox of run %s cannot be restarted: %s", folder.id, error)
        else:
            if restarted is not None:
                return restarted, "restarted"
        old = lifecycle.list_containers(self._engine, self._data.instance_id, folder.sandbox)
        created = self._create(folder.sandbox, network=network, memory=folder.memory)
        for info in old:
            self._remove(info)
        return created, "recreated"

    def _remove_if_expired(self, info: lifecycle.ContainerInfo) -> None:
        """Remove a container whose retention has expired, unless it is being restarted."""
        with self.container_lock(info.sandbox_id):
            since = lifecycle.stopped_at(self._engine, info.id)
            if since is None:
                return
            folder = self._data.path / "sandboxes" / info.sandbox_id
            expired = clock.now() - since > self._settings.stopped_days * _DAY_SECONDS
            if expired or not volume.is_assigned(folder):
                self._remove(info)
                if folder.is_dir():
                    volume.attach(folder)
                    scratch.discard(folder)

    def _remove(self, info: lifecycle.ContainerInfo) -> None:
        lifecycle.remove(self._engine, info.id)
        if self._backend.proxy is not None and info.network is not None:
            self._backend.proxy.remove_network(info.network)

    def _create(
        self, sandbox_id: str, *, network: bool = True, memory: int | None = None
    ) -> DockerSandbox:
        return DockerSandbox.create(self._engine, self._spec(sandbox_id, network, memory))

    def _spec(self, sandbox_id: str, network: bool, memory: int | None) -> ContainerSpec:
        settings = self._settings
        limits = settings.sandbox_limits()
        if memory is not None:
            limits = replace(limits, memory=min(memory, limits.memory))
        chosen = Path(settings.ca_bundle) if settings.ca_bundle else None
        return ContainerSpec(
            image=self._backend.setup_status.image,
            image_id=self._backend.image_id,
            instance=self._data.instance_id,
            sandbox_id=sandbox_id,
            workspace=self._data.workspace(sandbox_id),
            limits=limits,
            certificates=chosen if chosen and chosen.is_file() else host_certificates(),
            proxy=self._backend.proxy if network else None,
            runtime=settings.runtime,
            count_usage=bytes_on_disk,
            removals=self._removals,
        )


def _has_network(folder: RunFolder) -> bool:
    return folder.network.access != "none"
