"""Provides sandboxes to runs: from the warm pool, newly created, or restarted."""

import logging
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor

from agent.data_folder import DataFolder
from agent.errors import EngineError, EngineUnanswered, SandboxError, StudioError
from agent.events import Event, Preparing, SandboxOrigin, SandboxReady
from agent.provisioning.backend import Backend, SetupStatus
from agent.provisioning.factory import SandboxFactory
from agent.provisioning.move_files import is_cheap_to_move, move_to_sandbox
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.disk import volume
from agent.sandbox.docker.inventory import Inventory, read_inventory
from agent.sandbox.engine.client import Client, is_responding, wait_for_engine
from agent.sandbox.pool import Pool
from agent.settings import Settings
from agent.util.stop import Stop
from agent.util.wait import WaitCancelled, run_cancellable
from agent.workspace.versions.blobs import BlobStore

_log = logging.getLogger(__name__)
_PODMAN_NO_NETWORK = (
    "Podman cannot isolate a sandbox from this machine's network. Start a new run with Network set "
    "to None, or use Docker."
)


class SandboxAhead:
    """One sandbox, created in the background for the first run; its folder exists already."""

    def __init__(self, sandbox_id: str, create: Callable[[str], Sandbox]) -> None:
        self.sandbox_id = sandbox_id
        self._create = create
        self._created: Future[Sandbox | None] = Future()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._taken = False

    def start(self) -> None:
        """Begin to create it."""
        self._thread = threading.Thread(target=self._work, name="sandbox ahead", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until it is created, or could not be."""
        if self._thread is not None:
            self._created.result()

    def take(self) -> Sandbox | None:
        """Return the sandbox, which the caller then owns, if there is one; call ``wait`` first."""
        with self._lock:
            taken, self._taken = self._taken, True
        return None if taken or self._thread is None else self._created.result()

    def close(self) -> None:
        """Close the sandbox if nothing took it; wait for one that is being created."""
        if (sandbox := self.take()) is None:
            return
        try:
            sandbox.close()
        except (StudioError, OSError) as error:
            _log.warning("An unused sandbox could not be closed: %s", error)

    def _work(self) -> None:
        try:
            self._created.set_result(self._create(self.sandbox_id))
        except Exception as error:  # noqa: BLE001 - the run's own attempt says what is wrong
            _log.info("A sandbox could not be created ahead of its run: %s", error)
            self._created.set_result(None)


class DockerSandboxProvider:
    """Provides sandboxes to the runs of one locked data folder.

    ``on_status`` is called from the setup thread. A given ``backend`` is closed with this provider.
    ``ahead`` creates the first sandbox at once, with a network and the default limits.
    """

    def __init__(
        self,
        settings: Settings,
        data: DataFolder,
        on_status: Callable[[SetupStatus], None] = lambda _: None,
        *,
        disks: bool = True,
        backend: Backend | None = None,
        ahead: bool = False,
    ) -> None:
        self.data = data
        self.blobs = BlobStore(data.path / "blobs", limit=settings.blob_store_bytes)
        self._pool_size = settings.warm_sandboxes
        self._pool: Pool[Sandbox] | None = None
        self._close_lock, self._closed = threading.Lock(), False
        self._backend = backend or Backend(settings, data)
        self._factory = SandboxFactory(settings, data, self._backend, disks=disks)
        self._factory.remove_orphans()
        self._ahead = (
            SandboxAhead(self._factory.create_workspace(), self._factory.create_new)
            if ahead
            else None
        )
        self._workspace_ahead = self._ahead.sandbox_id if self._ahead else ""
        self._backend.notify(on_status, self._begin_creating)

    @property
    def setup_status(self) -> SetupStatus:
        """The current setup status."""
        return self._backend.setup_status

    @property
    def capacity(self) -> int | None:
        """None: the sandboxes are on this machine, without a limit by this provider."""
        return None

    def on_capacity(self, listener: Callable[[int], None]) -> None:
        """Do nothing: the capacity does not change."""

    def open(self) -> None:
        """Start to connect, clean up and build in the background. Idempotent."""
        self._backend.open()

    def wait_until_ready(self, stop: Stop) -> None:
        """Wait until sandboxes can be created; see ``Backend.wait_until_ready``."""
        for _ in self._backend.wait_until_ready(stop):
            continue

    def close(self) -> None:
        """Remove the idle sandboxes and close the backend; may be called twice."""
        with self._close_lock:
            closed, self._closed = self._closed, True
        if closed:  # another process may have the data folder by now
            return
        self._backend.cancel_setup()
        with ThreadPoolExecutor(1) as beside:
            proxy = beside.submit(self._backend.close_proxy)
            if self._ahead is not None:
                self._ahead.close()
            if self._pool is not None:
                self._pool.close()
            self._factory.close()
            proxy.result()
        self._backend.close()
        self._factory.remove_orphans()
        self.blobs.close()
        volume.detach_all(self.data.path)

    def create_workspace(self) -> str:
        """Create a sandbox's folder with an empty workspace but no container; return its id."""
        prepared, self._workspace_ahead = self._workspace_ahead, ""
        return prepared or self._factory.create_workspace()

    def empty_workspace(self, sandbox_id: str) -> None:
        """Empty a sandbox's workspace; see ``SandboxFactory.empty_workspace``."""
        self._factory.empty_workspace(sandbox_id)

    def remove_container(self, sandbox_id: str) -> None:
        """Remove a sandbox's stopped container; see ``SandboxFactory.remove_container``."""
        self._factory.remove_container(sandbox_id)

    def remove_leftovers(self, folder: DataFolder) -> None:
        """Remove what a dead process left in the engine; see ``Backend.remove_leftovers``."""
        self._backend.remove_leftovers(folder)

    def remove_expired(self) -> None:
        """See ``SandboxFactory.remove_expired``."""
        self._factory.remove_expired()

    def inventory(self) -> Inventory:
        """Return what the engine stores for this data folder; empty if it is not reached."""
        client, proxy = self._backend.client, self._backend.proxy
        if client is None:
            return Inventory()
        images = (self._backend.setup_status.image, proxy.image if proxy else "")
        return read_inventory(client, self.data.instance_id, images)

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """Return the run's sandbox; ``EngineError`` with a network on Podman."""
        began = time.monotonic()
        if not (yield from self._wait_for_backend(stop)):
            return None
        if self._backend.proxy is None and folder.network.access != "none":
            raise EngineError(_PODMAN_NO_NETWORK)
        pooled = self._take_from_pool(folder)
        origin: SandboxOrigin = "new"
        try:
            if pooled is not None:
                sandbox = pooled
            elif (ahead := (yield from self._take_ahead(folder, stop))) is not None:
                sandbox = ahead
            else:
                sandbox, origin = yield from self._create_or_restart(folder, stop)
        except WaitCancelled:
            return None
        sandbox.set_network_policy(folder.network)
        folder.set_sandbox(sandbox.id)
        yield SandboxReady(
            sandbox=sandbox.id,
            seconds=time.monotonic() - began,
            pooled=pooled is not None,
            origin=origin,
            image="" if origin == "restarted" else self._backend.image_id,
        )
        return sandbox

    def _wait_for_backend(self, stop: Stop) -> Generator[Event, None, bool]:
        """Yield the progress of the setup; return whether it is ready (False: a stop came)."""
        for status in self._backend.wait_until_ready(stop):
            if status.phase == "ready":
                return True
            yield Preparing(state="preparing_image", detail=status.detail, progress=status.progress)
        return False

    def wait_for_pool(self, seconds: float) -> bool:
        """Wait up to ``seconds`` until the pool is full; return whether it is."""
        end = time.monotonic() + seconds
        self._backend.wait_for(lambda: self._pool is not None, seconds)
        return self._pool is not None and self._pool.wait_full(end - time.monotonic())

    def _begin_creating(self) -> None:
        if self._backend.proxy is None:
            return  # these sandboxes are for runs with a network
        self._pool = Pool(
            self._factory.create_idle,
            self._pool_size,
            dispose=lambda sandbox: sandbox.close(),
            lost=lambda sandbox: sandbox.lost,
        )
        if self._ahead is not None:
            self._ahead.start()

    def _take_ahead(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """Return the sandbox that was created ahead for this run; None if there is none."""
        ahead = self._ahead
        if ahead is None or folder.sandbox != ahead.sandbox_id:
            return None
        yield Preparing(state="starting_sandbox")
        run_cancellable(ahead.wait, stop)
        if _is_default_new(folder):
            return ahead.take()
        ahead.close()
        return None

    def _take_from_pool(self, folder: RunFolder) -> Sandbox | None:
        """Return a pooled sandbox for a new run and move the run's files into it; else None."""
        if self._pool is None or not _is_default_new(folder):
            return None
        with folder.workspace_lock:
            sandbox = self._pool.take() if is_cheap_to_move(folder) else None
            if sandbox is not None:
                move_to_sandbox(folder, sandbox.id, sandbox.workspace)
        return sandbox

    def _create_or_restart(
        self, folder: RunFolder, stop: Stop
    ) -> Generator[Event, None, tuple[Sandbox, SandboxOrigin]]:
        """Create or restart the run's sandbox. Raises ``WaitCancelled`` if a stop comes first."""
        yield Preparing(state="starting_sandbox")
        client = self._backend.client
        assert client is not None
        if not run_cancellable(lambda: is_responding(client), stop):
            yield from _wait_for_engine(client, stop)
        if not run_cancellable(lambda: self._factory.can_create(folder), stop):
            self._backend.rebuild_image()
            if not (yield from self._wait_for_backend(stop)):
                raise WaitCancelled("The run was stopped.")
            yield Preparing(state="starting_sandbox")
        try:
            return self._create_or_restart_once(folder, stop)
        except EngineUnanswered:  # no command was executed yet, and nothing is left behind
            yield from _wait_for_engine(client, stop)
            return self._create_or_restart_once(folder, stop)

    def _create_or_restart_once(
        self, folder: RunFolder, stop: Stop
    ) -> tuple[Sandbox, SandboxOrigin]:
        return run_cancellable(
            lambda: self._factory.create_or_restart(folder, stop),
            stop,
            on_late_result=lambda result: _release(*result),
            guard=self._factory.container_lock(folder.sandbox),
        )


def _wait_for_engine(client: Client, stop: Stop) -> Generator[Event, None, None]:
    """Wait for the engine, and say so. Raises ``WaitCancelled`` if a stop comes first."""
    yield Preparing(state="starting_sandbox", detail="Waiting for the container engine")
    run_cancellable(lambda: wait_for_engine(client, stop), stop)


def _is_default_new(folder: RunFolder) -> bool:
    """Whether a run needs a new sandbox with a network and the operator's limits."""
    return not folder.sandbox_used and folder.network.access != "none" and folder.memory is None


def _release(sandbox: Sandbox, origin: SandboxOrigin) -> None:
    """Close a sandbox that was ready only after a stop; only stop it if the run used it before."""
    try:
        if origin == "new":
            sandbox.close()
        else:
            sandbox.stop()
    except SandboxError as error:
        _log.warning("%s", error)
