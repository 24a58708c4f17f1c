"""The paper's preset on rows in the published form: six domains, both modes, as one table."""

import re
import shlex
from pathlib import Path

import pytest

from agent import Studio
from agent.experiments import suites
from agent.experiments.experiment import Judge
from agent.experiments.folder import ExperimentFolder, ScoreEntry
from agent.experiments.suite import EvalTask
from tests.agent.api.conftest import settings, studio
from tests.support.evaluations.benchmark import write_parquet
from tests.support.evaluations.suites import members, of_domain
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn

__all__ = ["settings", "studio"]


def judge(body: Body) -> Turn:
    """Compare the answers between the words of the preset's prompt."""
    text = body["messages"][0]["content"]
    (official,) = re.findall(r"^The official answer: (.*)$", text, re.MULTILINE)
    (given,) = re.findall(r"^The candidate's answer.*: (.*)$", text, re.MULTILINE)
    return Turn(text="CORRECT" if given == official else "INCORRECT")


class Competent:
    """Knows all answers, and works with tools where it has them."""

    def __init__(self, folder: Path) -> None:
        tasks = [task for name in suites.NAMES for task in suites.load(name, folder).tasks]
        self._tasks = {task.text: task for task in tasks}
        self.systems: set[str] = set()

    def __call__(self, body: Body) -> Turn:
        messages = body["messages"]
        user = next(each["content"] for each in messages if each["role"] == "user")
        task = self._tasks[max((text for text in self._tasks if text in user), key=len)]
        if not body.get("tools"):
            return Turn(text=_answer(task))
        if any(each["role"] == "tool" for each in messages):
            return Turn(calls=[("submit", {})])
        self.systems.add(messages[0]["content"].splitlines()[0])
        command = f"printf %s {shlex.quote(_answer(task))} > output/answer.txt"
        return Turn(calls=[("execute_bash", {"command": command})])


def _answer(task: EvalTask) -> str:
    if task.scorer == "rules":
        return "Just 1."
    return f"\\boxed{{{task.expected}}}" if task.scorer == "math" else task.expected


@pytest.mark.nightly
def test_the_preset_runs_all_domains_in_both_modes(studio: Studio, tmp_path: Path) -> None:
    folder = write_parquet(tmp_path / "bench")
    model = Competent(folder)
    with Endpoint(model) as endpoint, Endpoint(judge) as referee:
        result = studio.evaluate(
            suites.NAMES,
            data=dict.fromkeys(suites.NAMES, folder),
            members=members(endpoint.url),
            preset="paper",
            repeat={"aime": 2},
            judge=Judge(model="Qwen3-235B-A22B-Instruct-2507", base_url=referee.url, votes=4),
            confirm=lambda found: not found.problems,
        )
        sent = {each.body["temperature"] for each in endpoint.requests}
        asked = referee.requests[-1].body
    assert result.state == "finished"
    assert result.counts["right"] == result.counts["total"] == 2 * (2 * 2 + 1 + 1 + 2 + 2 * 4 + 1)
    assert [each["score"] for each in of_domain(result.description)] == [1.0, 1.0]
    assert (sent, asked["temperature"], asked["max_tokens"]) == ({1.0}, 0.7, 16_384)
    assert len(model.systems) == 6
    departures = result.description["preset"]["departures"]
    assert departures[:2] == [
        "AIME 2025: 2 tasks instead of 30",
        "AIME 2025: 2 repetitions instead of 16",
    ]
    assert not any("Judge" in each or "temperature" in each for each in departures)
    votes = {score.votes for score in _scores(studio, result.id)}
    assert votes == {(), (1.0,) * 4}


def _scores(studio: Studio, evaluation: str) -> list[ScoreEntry]:
    return list(ExperimentFolder.open(studio.path, evaluation).scores().values())
