"""An evaluation whose runs are carried out elsewhere, until no node is left."""

import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.api.evaluation import EvaluationResult
from agent.api.placement import RunOrder
from agent.api.studio import Studio
from agent.errors import NoNodeLeft
from agent.evals.outcomes import OUTCOMES
from agent.evals.runner import Progress
from agent.events import Event, encode
from agent.runs.folder import RunFolder
from agent.settings import Settings
from agent.workspace.versions.blobs import BlobStore
from tests.support.component.events import ended, started
from tests.support.evaluations.suites import members, sums
from tests.support.local_provider import LocalSandboxProvider

TASKS = 30
GONE = "No node of the cluster can carry out runs."


class Nodes:
    """Carries out some runs, one of which may fail, and has no node from then on."""

    capacity, name = 3, "two nodes"

    def __init__(self, runs: int = TASKS, failing: int = 0) -> None:
        self.asked, self.failing = 0, failing
        self._runs, self._lock = runs, threading.Lock()

    def place(self, folder: RunFolder, order: RunOrder, blobs: BlobStore) -> "PlacedRun":
        return PlacedRun(self, folder)

    def take(self) -> int:
        with self._lock:
            self.asked += 1
            if self.asked > self._runs:
                raise NoNodeLeft(GONE)
            return self.asked


@dataclass(eq=False)
class PlacedRun:
    nodes: Nodes
    folder: RunFolder

    @property
    def id(self) -> str:
        return self.folder.id

    def carry_out(self) -> tuple[str, str, str]:
        fails = self.nodes.take() == self.nodes.failing
        end = ended("failed", reason="The engine is gone.") if fails else ended("answered", "A")
        events: list[Event] = [started("Which letter?", run=self.id, mode="plain"), end]
        self.folder.journal.write_bytes(b"".join(encode(event) + b"\n" for event in events))
        return end.status, end.answer, end.reason

    def stop(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    settings = Settings(data=tmp_path / "data")
    return Studio(settings, source=lambda _, data: LocalSandboxProvider(data.path))


def outcomes(result: EvaluationResult) -> dict[str, int]:
    return {name: count for name in OUTCOMES if (count := result.counts[name])}


def test_an_evaluation_stops_once_when_no_node_is_left_and_is_continued(studio: Studio) -> None:
    suite, progress = sums(TASKS, scorer="letter"), list[Progress]()
    nodes, others = Nodes(runs=5, failing=2), Nodes()
    with studio:
        cut = studio.evaluate(suite, members=members("http://a.example/v1", "plain"),
                              placement=nodes, on_progress=progress.append)  # fmt: skip
        assert nodes.asked <= 5 + nodes.capacity
        assert set(cut.problems.values()) == {GONE}
        assert outcomes(cut) == {"wrong": 4, "infrastructure": 1, "waiting": TASKS - 5}
        assert cut.state == "interrupted"
        assert progress[-1].done < 5 + 2 * nodes.capacity

        again = studio.evaluate(resume=cut.id, retry_infrastructure=True, placement=others)
    assert others.asked == TASKS - 4
    assert outcomes(again) == {"wrong": TASKS}
    assert (again.state, again.problems) == ("finished", {})
