"""Provides runs that are carried out here with sandboxes on the nodes of a Ray cluster."""

import logging
import signal
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace

from agent.api.studio import Opener, containers
from agent.cluster.cluster import Cluster
from agent.cluster.node import Node
from agent.cluster.sandboxes.host import SandboxHost
from agent.cluster.sandboxes.placed import RELEASE_SECONDS, PlacedSandbox
from agent.cluster.sandboxes.remote_sandbox import RemoteSandbox
from agent.cluster.sandboxes.workspace_copy import WorkspaceCopy
from agent.data_folder import DataFolder
from agent.errors import EngineError, SandboxError, StudioError
from agent.events import Event, Preparing, SandboxReady
from agent.provisioning.backend import SetupStatus
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.disk import volume
from agent.sandbox.docker.inventory import Inventory
from agent.settings import Settings
from agent.util.signals import restored_handler
from agent.util.stop import Stop
from agent.util.wait import WaitCancelled, run_cancellable
from agent.workspace.files import Workspace
from agent.workspace.versions.blobs import BlobStore

_ATTEMPTS = 3
_ANSWER_SECONDS = 10.0
_RETRY_SECONDS = 60.0
_THREADS_PER_SANDBOX = 12  # for a sandbox's shell, its jobs, its changes, and calls
_NO_ENGINE = (
    "Sandboxes of {path} are not removed by the page, which uses a cluster, but by the next "
    "command that uses that folder."
)
_CLOSED = "The studio is shutting down."
_log = logging.getLogger(__name__)


class ClusterSandboxProvider:
    """Provides the runs of one data folder with sandboxes on a cluster's nodes."""

    def __init__(
        self,
        settings: Settings,
        data: DataFolder,
        on_status: Callable[[SetupStatus], None] = lambda _: None,
        *,
        source: Opener = containers,
        address: str = "",
    ) -> None:
        self.data = data
        self.blobs = BlobStore(data.path / "blobs", limit=settings.blob_store_bytes)
        self._settings = settings
        self._address = address or settings.ray
        self._source = source
        self._on_status = on_status
        self._on_capacity: Callable[[int], None] = lambda _: None
        self._lock = threading.Lock()
        self._cluster: Cluster | None = None
        self._connecting: threading.Thread | None = None
        self._failure = ""
        self._connected = threading.Event()
        self._closing = threading.Event()
        self._places: dict[str, Node] = {}

    @property
    def setup_status(self) -> SetupStatus:
        """Whether a node is ready; what is wrong with the others."""
        cluster, name = self._cluster, f"Ray cluster {self._address}"
        if self._failure:
            return SetupStatus("failed", self._failure)
        if cluster is None:
            return SetupStatus("connecting", f"Connecting to the {name}")
        if not cluster.nodes:
            detail = f"Waiting for a node of the {name}. {cluster.refusals}".rstrip()
            return SetupStatus("connecting", detail)
        image = next((node.image for node in cluster.nodes if node.image), "")
        detail = f"Nodes: {len(cluster.nodes)}, sandboxes: {cluster.capacity}"
        return SetupStatus("ready", detail, image=image, warning=cluster.refusals)

    @property
    def capacity(self) -> int:
        """How many sandboxes the nodes that are ready have room for."""
        return self._cluster.capacity if self._cluster is not None else 0

    def on_capacity(self, listener: Callable[[int], None]) -> None:
        """Call a function with the capacity now and whenever a node comes or goes."""
        self._on_capacity = listener
        listener(self.capacity)

    def open(self) -> None:
        """Start to connect in the background. Idempotent; tries again after a failure."""
        with self._lock:
            connecting = self._connecting is not None and self._connecting.is_alive()
            if self._closing.is_set() or connecting:
                return
            self._failure = ""
            self._connected.clear()
            self._connecting = threading.Thread(target=self._connect, name="cluster", daemon=True)
            self._connecting.start()

    def close(self) -> None:
        """Remove the sandboxes from the nodes and disconnect."""
        with self._lock:
            self._closing.set()
            connecting, self._connecting = self._connecting, None
        if connecting is not None:
            connecting.join()
        self._connected.set()  # so that no run waits any longer
        volume.detach_all(self.data.path)

    def create_workspace(self) -> str:
        """Create a sandbox's folder with an empty workspace; return the sandbox's id."""
        return self.data.create_sandbox(self._settings.disk)

    def empty_workspace(self, sandbox_id: str) -> None:
        """Do nothing: all files here belong to this process."""

    def remove_container(self, sandbox_id: str) -> None:
        """Remove a stopped sandbox from its node, if that is still there."""
        node = self._places.pop(sandbox_id, None)
        if node is not None:
            with suppress(StudioError):  # the node removes it when it ends
                node.call(
                    "release", sandbox_id, False, give_up=lambda seconds: seconds > RELEASE_SECONDS
                )

    def remove_leftovers(self, folder: DataFolder) -> None:
        """Refuse: this machine may have no engine."""
        raise EngineError(_NO_ENGINE.format(path=folder.path))

    def remove_expired(self) -> None:
        """Remove sandboxes that were stopped too long ago, on all nodes."""
        for node in self.nodes:
            node.send("remove_expired")

    def inventory(self) -> Inventory:
        """Return what the nodes store; a node that does not answer is left out."""
        found = [each for node in self.nodes for each in _inventory(node)]
        images = {image.tag: image for each in found for image in each.images}
        sandboxes = tuple(sandbox for each in found for sandbox in each.sandboxes)
        return Inventory(sandboxes, tuple(images.values()))

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """Return the run's sandbox on a node; see ``agent.runs.recorded_run.SandboxProvider``."""
        cluster = yield from self._wait_for_cluster(stop)
        if cluster is None:
            return None
        for _ in range(_ATTEMPTS):
            if not cluster.has_free_sandbox:
                status = self.setup_status
                detail = "All sandboxes of the nodes are in use" if status.phase == "ready" else (
                    status.detail
                )  # fmt: skip
                yield Preparing(state="starting_sandbox", detail=detail)
            node = cluster.take(stop, self._places.get(folder.sandbox))
            if node is None:
                return None
            placed = PlacedSandbox(node, folder.sandbox, self._lose)
            try:
                return (yield from self._open(cluster, placed, folder, stop))
            except StudioError:
                if stop.is_set:
                    return None
                if not placed.lost:
                    raise
        raise EngineError(f"{_ATTEMPTS} nodes were lost while they started this sandbox.")

    def _open(
        self, cluster: Cluster, placed: PlacedSandbox, folder: RunFolder, stop: Stop
    ) -> Generator[Event, None, Sandbox | None]:
        """Start a run's sandbox and send its files; None if a stop comes first."""
        began = time.monotonic()
        copy = WorkspaceCopy(Workspace(folder.workspace), placed, self._settings.disk)
        with ExitStack() as on_failure:
            on_failure.callback(cluster.give_back, placed.node)
            on_failure.callback(_release_quietly, placed, keep=folder.sandbox_used)
            ready = yield from _start(placed, folder, stop)
            if ready is None or not (yield from _send_files(copy, placed.node, stop)):
                return None
            recreated = folder.sandbox_used and ready.origin == "new"
            folder.set_sandbox(folder.sandbox)
            yield replace(
                ready, sandbox=folder.sandbox, seconds=time.monotonic() - began,
                origin="recreated" if recreated else ready.origin, node=placed.node.name,
            )  # fmt: skip
            on_failure.pop_all()
        self._places[folder.sandbox] = placed.node
        return RemoteSandbox(
            folder.sandbox, folder.workspace, placed, copy,
            on_end=lambda: cluster.give_back(placed.node),
        )  # fmt: skip

    def _wait_for_cluster(self, stop: Stop) -> Generator[Event, None, Cluster | None]:
        """Wait until this process is connected; None if a stop comes first."""
        self.open()
        if not self._connected.is_set():
            yield Preparing(state="starting_sandbox", detail=self.setup_status.detail)
            try:
                run_cancellable(self._connected.wait, stop)
            except WaitCancelled:
                return None
        if self._cluster is None:
            raise EngineError(self._failure or _CLOSED)
        return self._cluster

    def _connect(self) -> None:
        """Connect, and disconnect when the provider is closed."""
        self._on_status(self.setup_status)
        cluster = Cluster(
            self._address, self._source, self._report, SandboxHost, _THREADS_PER_SANDBOX,
            retry_seconds=_RETRY_SECONDS,
        )  # fmt: skip
        try:
            with restored_handler(signal.SIGTERM):  # Ray's would abort this process
                cluster.connect()
        except StudioError as error:
            self._failure = str(error)
        except Exception as error:  # noqa: BLE001 - runs wait for this thread
            _log.exception("The cluster cannot be used")
            self._failure = f"The Ray cluster {self._address} cannot be used: {error}"
        else:
            self._cluster = cluster
        self._connected.set()
        self._on_status(self.setup_status)
        if self._cluster is not None:
            self._closing.wait()  # Linux ends a local cluster with the thread that started it
            self._cluster = None
            cluster.close()

    def _report(self, sentence: str) -> None:
        """Log what happened to a node, and pass on what follows from it."""
        _log.info("%s", sentence)
        self._on_status(self.setup_status)
        self._on_capacity(self.capacity)

    def _lose(self, node: Node) -> None:
        if self._cluster is not None and self._cluster.lose(node):
            _log.warning("Node %s was lost", node.name)

    @property
    def nodes(self) -> list[Node]:
        """The nodes that are ready."""
        return self._cluster.nodes if self._cluster is not None else []


def _start(
    placed: PlacedSandbox, folder: RunFolder, stop: Stop
) -> Generator[Event, None, SandboxReady | None]:
    """Create or restart a sandbox; yield the events before it is ready."""
    call, ready = uuid.uuid4().hex, None
    arguments = (folder.network, folder.memory, call)
    with stop.on_set(lambda: placed.send("stop", call)):
        for event in placed.stream("acquire", *arguments, stop=stop):
            if isinstance(event, SandboxReady):
                ready = event
            else:
                yield event
    return ready


def _send_files(copy: WorkspaceCopy, node: Node, stop: Stop) -> Generator[Event, None, bool]:
    """Send a run's files; return False if a stop comes first."""
    announced = False
    for _ in copy.begin():
        if stop.is_set:
            return False
        if not announced:
            yield Preparing(state="starting_sandbox", detail=f"Sending files to {node.name}")
            announced = True
    return True


def _release_quietly(placed: PlacedSandbox, *, keep: bool) -> None:
    try:
        placed.release(keep=keep)
    except SandboxError as error:
        _log.warning("%s", error)


def _inventory(node: Node) -> Iterator[Inventory]:
    """Yield what a node stores, if it answers."""
    try:
        yield node.call("inventory", give_up=lambda seconds: seconds > _ANSWER_SECONDS)
    except StudioError as error:
        _log.warning("Node %s does not tell what it stores: %s", node.name, error)
