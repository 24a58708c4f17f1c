"""The command ``eval scan``: asks a model about the runs of an evaluation, and goes on."""

import json
from pathlib import Path

import pytest

from tests.agent.cli.conftest import Command
from tests.agent.cli.test_evaluate import solve
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn

QUESTION = "Does it state a result?"


def answer(body: Body) -> Turn:
    """Solve tasks; answer questions, of the second run never in the form that is asked for."""
    content = body["messages"][-1]["content"]
    if QUESTION not in content:
        return solve(body)
    if body["model"] == "silent":
        return Turn(text="It does.")
    said = {"answer": "yes", "step": 1, "quote": "\\boxed", "reason": "It has a box."}
    return Turn(text=json.dumps(said), usage=(500, 20))


@pytest.mark.nightly
def test_a_question_about_runs_is_asked_once_and_printed(tmp_path: Path, command: Command) -> None:
    output = tmp_path / "results"
    with Endpoint(answer) as endpoint:
        options = ("aime", "--limit", "2", "--member", "plain,model=m", "--output", str(output))
        assert command(endpoint.url, "eval", *options).returncode == 0
        evaluation = json.loads((output / "evaluation.json").read_text())["id"]
        scan = ("eval", "scan", evaluation, QUESTION, "--model")
        silent = command(endpoint.url, *scan, "silent", "--where", "outcome=right")
        assert silent.returncode == 1
        assert "It has no JSON object." in silent.stderr
        before = len(endpoint.requests)
        found = command(endpoint.url, *scan, "m")
        assert found.returncode == 0, found.stderr
        assert "2 runs, about" in found.stderr
        assert "yes, step 1, verified" in found.stderr
        rows = [json.loads(line) for line in found.stdout.splitlines()]
        assert {(row["model"], row["answer"], row["citation"]) for row in rows} >= {
            ("m", "yes", "verified")
        }
        assert len(endpoint.requests) == before + 2
        assert command(endpoint.url, *scan, "m").returncode == 0
        assert len(endpoint.requests) == before + 2
        unknown = command(endpoint.url, "eval", "scan", "nosuchevaluation", QUESTION)
        assert "There is no evaluation nosuchevaluation" in unknown.stderr
