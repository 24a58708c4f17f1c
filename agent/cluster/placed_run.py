"""A run that a node carries out; here it is an ordinary run of the data folder."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from agent.api.placement import RunOrder
from agent.cluster.node import Node, NodeLost
from agent.cluster.parts import Part
from agent.cluster.receiver import Receiver
from agent.errors import EngineError
from agent.events import RunEnded
from agent.runs.event_recorder import EventRecorder, OpenRound
from agent.runs.folder import RunFolder
from agent.runs.journal import last_event
from agent.sandbox.disk import volume
from agent.util.stop import Stop
from agent.workspace.versions.blobs import BlobStore

_ATTEMPTS = 3
_log = logging.getLogger(__name__)


class Nodes(Protocol):
    """The nodes: ``agent.cluster.cluster.Cluster``, whose methods these are."""

    def free_sandbox(self, stop: Stop) -> AbstractContextManager[Node | None]:
        """Wait for a free sandbox and return a context with its node."""

    def carry_out(self, node: Node, run: str, order: RunOrder) -> Iterator[Part]:
        """Carry out a run and yield its parts."""

    def stop_run(self, node: Node, run: str) -> None:
        """End a run early."""

    def lose(self, node: Node) -> bool:
        """Use a node's process no longer."""


class PlacedRun:
    """A run on a node; on another one it starts again, under the same id, if that is lost."""

    def __init__(self, nodes: Nodes, folder: RunFolder, order: RunOrder, blobs: BlobStore) -> None:
        self.id, self.folder = folder.id, folder
        self._nodes = nodes
        self._order = order
        self._receiver = Receiver(folder, dict(order.inputs), blobs)
        self._stop = Stop()

    def carry_out(self) -> tuple[str, str, str]:
        """Carry it out; return its status, its answer and why it failed."""
        self.folder.set_network(self._order.spec.policy)
        self.folder.set_sandbox(self.folder.sandbox)
        mark = OpenRound(self.folder.data, self.id)
        mark.begin()
        try:
            for _ in range(_ATTEMPTS):
                ended = self._attempt()
                if ended is not None:
                    return ended
            raise EngineError(f"{_ATTEMPTS} nodes were lost while they carried out this run.")
        finally:
            self._receiver.close()
            self._end_interrupted()
            mark.end()

    def stop(self) -> None:
        """End it early, from any thread."""
        self._stop.set()

    def close(self) -> None:
        """Unmount its disk: thousands of them would stay mounted."""
        volume.detach(self.folder.sandbox_folder, idle=True)

    def _attempt(self) -> tuple[str, str, str] | None:
        """Carry it out on one node; return None if that was lost."""
        end = None
        with self._nodes.free_sandbox(self._stop) as node:
            if node is None:
                return "stopped", "", self._stop.reason
            self._receiver.reset()
            try:
                with self._stop.on_set(lambda: self._nodes.stop_run(node, self.id)):
                    for part in self._nodes.carry_out(node, self.id, self._order):
                        if part.kind == "ended":
                            end = part
                        else:
                            self._receiver.receive(part)
            except NodeLost:
                self._nodes.lose(node)
        return None if end is None else self._end(end)

    def _end_interrupted(self) -> None:
        """End the round if the last node was lost in the middle of it."""
        journal = self.folder.journal
        if journal.exists() and not isinstance(last_event(journal), RunEnded):
            EventRecorder(self.folder).close()

    def _end(self, part: Part) -> tuple[str, str, str]:
        for name in part.data.decode(errors="replace").splitlines():
            _log.warning("Run %s: %.200r stays on its node: it is too large", self.id, name)
        return part.status, part.answer, part.path
