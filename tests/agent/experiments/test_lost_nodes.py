"""An evaluation whose runs are carried out elsewhere, until no node is left."""

from pathlib import Path

import pytest

from agent.api.experiments import EvaluationResult
from agent.api.studio import Studio
from agent.experiments.outcomes import OUTCOMES
from agent.experiments.runner import Progress
from agent.settings import Settings
from tests.support.cluster.placed_runs import GONE, Nodes
from tests.support.evaluations.suites import members, sums
from tests.support.local_provider import LocalSandboxProvider

TASKS = 30


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    settings = Settings(data=tmp_path / "data")
    return Studio(settings, source=lambda _, data: LocalSandboxProvider(data.path))


def outcomes(result: EvaluationResult) -> dict[str, int]:
    return {name: count for name in OUTCOMES if (count := result.counts[name])}


def test_an_evaluation_stops_once_when_no_node_is_left_and_is_continued(studio: Studio) -> None:
    suite, progress = sums(TASKS, scorer="letter"), list[Progress]()
    nodes, others = Nodes(5, failing=2), Nodes(TASKS)
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
