"""The commands with ``--ray``, on nodes of this machine that have a data folder each."""

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.events import RunEnded, RunStarted
from agent.experiments.folder import ExperimentFolder
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.sandbox.engine.client import Client
from tests.support.cluster.nodes import Nodes, containers_of, ray_nodes
from tests.support.evaluations.command import evaluation_command
from tests.support.evaluations.suites import respond
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn
from tests.support.server import wait_until

pytest.importorskip("ray", reason="Ray is not installed (make .make/ray)")
TASKS = int(os.environ.get("CLUSTER_TASKS", "12"))
"""Tasks, each in both modes: CLUSTER_TASKS=100 is an evaluation of 200 runs."""

BEFORE_THE_KILL = TASKS // 4
TIMEOUT_SECONDS = 240 + 6 * TASKS
pytestmark = [
    pytest.mark.engine,
    pytest.mark.nightly,
    pytest.mark.usefixtures("image"),
    pytest.mark.timeout(3 * TIMEOUT_SECONDS),  # of two commands, and of clusters for them
]


class Interruption:
    """Answers as ``respond`` does; in the middle it waits until a node was killed."""

    def __init__(self) -> None:
        self.reached, self.over = threading.Event(), threading.Event()
        self._submits = 0

    def __call__(self, body: Body) -> Turn:
        turn = respond(body)
        if ("submit", {}) in turn.calls:
            self._submits += 1
        if self._submits >= BEFORE_THE_KILL:
            self.reached.set()
            self.over.wait(120)
        return turn


def outcomes(data: Path) -> dict[tuple[int, int], tuple[float | None, bytes]]:
    """Return the score and the answer file of each run; every run is there once and complete."""
    (path,) = (data / "evaluations").iterdir()
    folder = ExperimentFolder.open(data, path.name)
    entries = folder.runs()
    assert {entry.run for entry in entries} == set(RunFolder.ids(data))
    found = {}
    for entry in entries:
        run = RunFolder.open(data, entry.run)
        events = [event for _, event in journal.read(run.journal)]
        assert [type(events[0]), type(events[-1])] == [RunStarted, RunEnded]
        assert sum(isinstance(event, RunStarted | RunEnded) for event in events) == 2
        score, answer = folder.score(entry.run), run.workspace / "output" / "answer.txt"
        content = answer.read_bytes() if answer.exists() else b""
        found[entry.task, entry.member] = (score.value if score else None, content)
    return found


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with ray_nodes(tmp_path, 3, 2) as nodes:
        yield nodes


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    lines = ({"problem": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(1, TASKS + 1))
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_an_evaluation_stops_once_without_any_node_and_continues_on_others(
    tmp_path: Path, tasks: Path
) -> None:
    interruption, data, output = Interruption(), tmp_path / "data", str(tmp_path / "results")
    members, resume = ("--member", "sandbox"), ("--resume", "--retry-infrastructure")
    with Endpoint(interruption) as endpoint:
        with (
            ray_nodes(tmp_path / "first", 1, 2) as nodes,
            evaluation_command(
                data, tasks, endpoint.url, *members, "--output", output, "--ray", nodes.address,
                environment=nodes.environment,
            ) as command,
        ):  # fmt: skip
            assert interruption.reached.wait(120), command.communicate()
            nodes.kill(0)
            interruption.over.set()
            stdout, stderr = command.communicate(timeout=TIMEOUT_SECONDS)
        assert command.returncode == 1, stderr
        assert "No node of the cluster can carry out runs." in stderr
        assert "failed by an infrastructure error" not in stdout
        with (
            ray_nodes(tmp_path / "second", 1, 2) as nodes,
            evaluation_command(
                data, tasks, endpoint.url, *resume, "--output", output, "--ray", nodes.address,
                environment=nodes.environment,
            ) as command,
        ):  # fmt: skip
            stdout, stderr = command.communicate(timeout=TIMEOUT_SECONDS)
    assert command.returncode == 0, stderr


def test_an_evaluation_survives_the_loss_of_a_node(
    tmp_path: Path, tasks: Path, nodes: Nodes, engine: Client
) -> None:
    interruption = Interruption()
    began = time.monotonic()
    with Endpoint(interruption) as endpoint:
        options = ("--member", "sandbox", "--member", "plain")
        with evaluation_command(
            tmp_path / "placed", tasks, endpoint.url, *options, "--ray", nodes.address,
            environment=nodes.environment,
        ) as command:  # fmt: skip
            assert interruption.reached.wait(120), command.communicate()
            nodes.kill(0)
            interruption.over.set()
            stdout, stderr = command.communicate(timeout=TIMEOUT_SECONDS)
        assert command.returncode == 0, stderr
        assert "was lost" in stderr
        placed = time.monotonic()
        with evaluation_command(tmp_path / "here", tasks, endpoint.url, *options) as command:
            command.communicate(timeout=TIMEOUT_SECONDS)
    here = time.monotonic()
    assert outcomes(tmp_path / "placed") == outcomes(tmp_path / "here")
    assert f"{2 * TASKS} of {2 * TASKS} runs done." in stdout
    wait_until(lambda: not containers_of(tmp_path, engine), 120)
    assert not [path for each in nodes.folders for path in each.rglob("journal.jsonl")]
    print(f"{2 * TASKS} runs: {placed - began:.0f} s on three nodes, {here - placed:.0f} s without")
