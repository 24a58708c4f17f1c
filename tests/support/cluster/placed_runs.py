"""Runs that nodes without Ray carry out, until their work is cut off."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.api.placement import RunOrder
from agent.errors import NoNodeLeft
from agent.events import Event, encode
from agent.runs.folder import RunFolder
from agent.workspace.versions.blobs import BlobStore
from tests.support.component.events import ended, started

GONE = "No node of the cluster can carry out runs."


def lose_nodes() -> None:
    raise NoNodeLeft(GONE)


class Nodes:
    """Carries out some runs, one of which may fail; the next ones are cut off.

    Args:
        runs: How many it carries out.
        failing: Number of the run that fails.
        capacity: How many runs it carries out at once.
        cut: Called in each further run, which lasts until it is stopped.
    """

    name = "two nodes"

    def __init__(
        self, runs: int, failing: int = 0, capacity: int = 3, cut: Callable[[], None] = lose_nodes
    ) -> None:
        self.asked, self.runs, self.failing, self.capacity = 0, runs, failing, capacity
        self.cut = cut
        self._lock = threading.Lock()

    def place(self, folder: RunFolder, order: RunOrder, blobs: BlobStore) -> "PlacedRun":
        return PlacedRun(self, folder)

    def take(self) -> int:
        with self._lock:
            self.asked += 1
            return self.asked


@dataclass(eq=False)
class PlacedRun:
    nodes: Nodes
    folder: RunFolder
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def id(self) -> str:
        return self.folder.id

    def carry_out(self) -> tuple[str, str, str]:
        number = self.nodes.take()
        end = ended("answered", "A")
        if number == self.nodes.failing:
            end = ended("failed", reason="The engine is gone.")
        if number > self.nodes.runs:
            self.nodes.cut()
            assert self.stopped.wait(60)
            end = ended("stopped")
        events: list[Event] = [started("Which letter?", run=self.id, mode="plain"), end]
        self.folder.journal.write_bytes(b"".join(encode(event) + b"\n" for event in events))
        return end.status, end.answer, end.reason

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None: ...
