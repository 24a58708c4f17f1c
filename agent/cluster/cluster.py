"""A Ray cluster that carries out runs: one actor per node, runs placed by free sandboxes."""

import logging
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import ray
import ray.exceptions
from ray._private import ray_constants
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agent.api.placement import RunOrder
from agent.api.studio import Opener, containers
from agent.cluster.node import Node, cause_of
from agent.cluster.node_process import NodeProcess, Prepared
from agent.cluster.parts import Part
from agent.cluster.placed_run import PlacedRun
from agent.cluster.worker import Worker
from agent.errors import EngineError, NoNodeLeft, UsageError
from agent.provisioning.capacity import sandboxes_of_this_machine
from agent.runs.folder import RunFolder
from agent.util.stop import Stop
from agent.workspace.versions.blobs import BlobStore

# The name of the resource that a node declares: ``ray start --resources='{"sandbox": 8}'``
RESOURCE = "sandbox"
_POLL_SECONDS = 2.0
_NO_NODE_SECONDS = 120.0
_CLOSE_SECONDS = 60.0
_LOCAL_STORE_BYTES = 100 * 1024**2
_CONTROL_THREADS = 2
_CONNECT_SECONDS = 10.0
_LOOPBACK = "127.0.0.1"
_MAX_UNDECLARED = 64
_log = logging.getLogger(__name__)


@dataclass
class _Nodes:
    """What is known of the nodes; guarded by a condition."""

    active: list[Node] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    retry_at: dict[str, float] = field(default_factory=dict)
    declared: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)


class Cluster:
    """Connects to a Ray cluster and starts its actors; on exit it ends runs and cleans up nodes.

    ``report`` gets sentences for people, from any thread. A node that could not be used is tried
    again after ``retry_seconds``.
    """

    def __init__(
        self,
        address: str,
        source: Opener = containers,
        report: Callable[[str], None] = lambda _: None,
        process: type[NodeProcess] = Worker,
        threads_per_sandbox: int = 1,
        retry_seconds: float = math.inf,
    ) -> None:
        self._address = address
        self._source = source
        self._report = report
        self._process = process
        self._threads_per_sandbox = threads_per_sandbox
        self._retry_seconds = retry_seconds
        self._nodes = _Nodes()
        self._closing = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="cluster", daemon=True)

    def __enter__(self) -> Self:
        """Connect, and wait until a node is ready. Raises ``StudioError`` if none will be."""
        with ExitStack() as on_failure:
            self.connect()
            on_failure.callback(ray.shutdown)
            on_failure.callback(self._stop_watching)
            self._wait_for_nodes()
            on_failure.pop_all()
        return self

    def connect(self) -> None:
        """Connect; nodes are taken up as they become ready. ``close`` disconnects."""
        _connect(self._address)
        if self._address == "local":
            host = ray.util.get_node_ip_address()
            self._report(f"Ray listens on {host if host == _LOOPBACK else 'all addresses'}")
        self._watcher.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the nodes' actors and disconnect."""
        self._stop_watching()
        closing = [each.actor.close.remote() for each in self._nodes.active]
        if closing:
            ray.wait(closing, num_returns=len(closing), timeout=_CLOSE_SECONDS)
        ray.shutdown()

    @property
    def capacity(self) -> int:
        """How many runs the nodes that are ready carry out at once."""
        with self._nodes.changed:
            return sum(each.sandboxes for each in self._nodes.active)

    @property
    def name(self) -> str:
        """The cluster, as a part of a sentence."""
        if self._address == "local":
            return "a Ray cluster on that machine"
        return f"the Ray cluster {self._address}"

    @property
    def refusals(self) -> str:
        """Which nodes are not used and why; empty if none."""
        with self._nodes.changed:
            return " ".join(f"{name}: {why}" for name, why in sorted(self._nodes.refused.items()))

    @property
    def nodes(self) -> list[Node]:
        """The nodes that are ready."""
        with self._nodes.changed:
            return [each for each in self._nodes.active if each.sandboxes]

    def place(self, folder: RunFolder, order: RunOrder, blobs: BlobStore) -> PlacedRun:
        """Return the run of an order; see ``agent.api.placement.Placement``."""
        return PlacedRun(self, folder, order, blobs)

    @contextmanager
    def free_sandbox(self, stop: Stop) -> Iterator[Node | None]:
        """Wait for a free sandbox and yield its node; None if stopped first."""
        node = self.take(stop)
        try:
            yield node
        finally:
            if node is not None:
                self.give_back(node)

    def take(self, stop: Stop, wanted: Node | None = None) -> Node | None:
        """Wait for a free sandbox and count it as busy; return its node, None if stopped first.

        The ``wanted`` node is used as long as it is there, even if none of its sandboxes is free.
        """
        with stop.on_set(self._wake):
            return self._take(stop, wanted)

    def give_back(self, node: Node) -> None:
        """Count a sandbox of a node as free."""
        with self._nodes.changed:
            node.busy -= 1
            self._nodes.changed.notify_all()

    @property
    def has_free_sandbox(self) -> bool:
        """Whether ``take`` returns without waiting."""
        with self._nodes.changed:
            return any(each.busy < each.sandboxes for each in self._nodes.active)

    def carry_out(self, node: Node, run: str, order: RunOrder) -> Iterator[Part]:
        """Carry out a run on a node and yield its parts. Raises ``NodeLost``, ``StudioError``."""
        for batch in node.stream("carry_out", run, order):
            yield from batch

    def stop_run(self, node: Node, run: str) -> None:
        """End a run on a node early."""
        node.send("stop", run)

    def lose(self, node: Node) -> bool:
        """Use a node's process no longer; return False if it was lost already."""
        with self._nodes.changed:
            if node not in self._nodes.active:
                return False
            self._nodes.active.remove(node)
            self._nodes.changed.notify_all()
        ray.kill(node.actor)
        self._report(f"Node {node.name} was lost. {self._process.LOSS}")
        return True

    def _take(self, stop: Stop, wanted: Node | None) -> Node | None:
        ready_at = time.monotonic()
        with self._nodes.changed:
            while not stop.is_set:
                if wanted is not None and wanted in self._nodes.active:
                    wanted.busy += 1
                    return wanted
                free = [each for each in self._nodes.active if each.busy < each.sandboxes]
                if free:
                    node = max(free, key=lambda each: (each.sandboxes - each.busy) / each.sandboxes)
                    node.busy += 1
                    return node
                self._nodes.changed.wait(_POLL_SECONDS)
                if self._nodes.active:
                    ready_at = time.monotonic()
                elif time.monotonic() - ready_at > _NO_NODE_SECONDS:
                    raise NoNodeLeft(self._no_nodes())
        return None

    def _wake(self) -> None:
        with self._nodes.changed:
            self._nodes.changed.notify_all()

    def _wait_for_nodes(self) -> None:
        """Wait until all nodes that are there are ready or refused."""
        with self._nodes.changed:
            while not self._closing.is_set():
                active = self._nodes.active
                if active and all(each.sandboxes for each in active):
                    return
                if not active and (self._nodes.refused or not self._watcher.is_alive()):
                    raise EngineError(self._no_nodes())
                self._nodes.changed.wait(_POLL_SECONDS)

    def _no_nodes(self) -> str:
        return f"No node of the cluster can carry out runs. {self.refusals}".rstrip()

    def _stop_watching(self) -> None:
        self._closing.set()
        self._watcher.join(_CLOSE_SECONDS)

    def _watch(self) -> None:
        """Start an actor on each new node, and take up those that are ready."""
        while not self._closing.is_set():
            try:
                self._look_for_nodes()
            except Exception:
                if math.isinf(self._retry_seconds):
                    raise
                _log.exception("The nodes of the cluster cannot be listed; this is tried again")
            self._wake()
            preparing = any(each.preparing is not None for each in self._nodes.active)
            self._closing.wait(0.1 if preparing else _POLL_SECONDS)

    def _look_for_nodes(self) -> None:
        self._start_actors()
        for node in list(self._nodes.active):
            if node.preparing is not None:
                self._take_up(node)

    def _start_actors(self) -> None:
        known = {each.id for each in self._nodes.active}
        listed = ray.nodes()
        # A node that is gone declares nothing any more: what it meant for the others holds.
        self._nodes.declared |= any(RESOURCE in each["Resources"] for each in listed)
        for each in listed:
            wanted = RESOURCE in each["Resources"] or not self._nodes.declared
            if not (each["Alive"] and wanted) or each["NodeID"] in known:
                continue
            if time.monotonic() < self._nodes.retry_at.get(each["NodeID"], 0.0):
                continue
            node = self._start(each)
            with self._nodes.changed:
                self._nodes.active.append(node)

    def _start(self, listed: Mapping[str, Any]) -> Node:
        """Start the actor of a node that Ray lists."""
        declared = int(listed["Resources"].get(RESOURCE, 0))
        threads = declared or _MAX_UNDECLARED
        options = {
            "num_cpus": 0, "resources": {RESOURCE: declared} if declared else {},
            "max_concurrency": threads * self._threads_per_sandbox + _CONTROL_THREADS,
            "max_restarts": 0,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(listed["NodeID"], soft=False),
        }  # fmt: skip
        actor = ray.remote(self._process).options(**options).remote(self._source, declared)
        name = f"{listed['NodeManagerHostname']} ({listed['NodeID'][:6]})"
        return Node(listed["NodeID"], name, actor, threads, actor.prepare.remote())

    def _take_up(self, node: Node) -> None:
        done, _ = ray.wait([node.preparing], timeout=0)
        if not done:
            return
        try:
            prepared: Prepared = ray.get(node.preparing)
        except ray.exceptions.RayError as error:
            why = str(cause_of(error)) if isinstance(error, ray.exceptions.RayTaskError) else (
                "its process could not be started."
            )  # fmt: skip
            with self._nodes.changed:
                self._nodes.active.remove(node)
                self._nodes.refused[node.id] = why
                self._nodes.retry_at[node.id] = time.monotonic() + self._retry_seconds
            self._report(f"Node {node.name} is not used: {why}")
            ray.kill(node.actor)
            return
        with self._nodes.changed:
            self._nodes.refused.pop(node.id, None)
            node.preparing, node.sandboxes = None, min(prepared.sandboxes, node.threads)
            node.image = prepared.image
        self._report(f"Node {node.name} is ready: {node.sandboxes} sandboxes")


def _connect(address: str) -> None:
    """Connect to a cluster, or start one on this machine. Raises ``UsageError``."""
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        # Ray then listens on loopback only, as it does by default on macOS and Windows.
        ray_constants.ENABLE_RAY_CLUSTER = False
        options |= {
            "include_dashboard": False, "object_store_memory": _LOCAL_STORE_BYTES,
            "num_cpus": 1, "resources": {RESOURCE: sandboxes_of_this_machine()},
        }  # fmt: skip
    try:
        _check_reachable(address)
        ray.init(address, **options)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise UsageError(f"There is no Ray cluster at “{address}” to connect to: {error}") from None


def _check_reachable(address: str) -> None:
    """Raise ``OSError`` at once if nothing listens there; Ray would wait for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
