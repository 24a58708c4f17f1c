"""Generation and scoring of tasks on the command line, and a task executed as a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.api.studio import Studio
from agent.cli.main import main
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.settings import Settings
from agent.tasks.document_qa.generate import TRAIN_FAMILIES
from agent.tasks.jsonl import read_tasks
from agent.tasks.scoring import reward, score_answers, score_rewards
from agent.tasks.setup import ANSWER_PATH, build_task, write_inputs
from agent.tasks.task import TaskRecord
from tests.support.models.endpoint import Endpoint, Turn


def generate_tasks(folder: Path, *options: str) -> list[TaskRecord]:
    path = folder / "tasks.jsonl"
    assert main(["document-tasks", "--output", str(path), *options]) == 0
    return list(read_tasks(path))


def write_results(folder: Path, answers: dict[str, str | None]) -> str:
    path = folder / "results.jsonl"
    lines = [json.dumps({"id": name, "answer": answer}) for name, answer in answers.items()]
    path.write_text("\n".join(lines))
    return str(path)


def test_tasks_are_generated_and_answers_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = generate_tasks(tmp_path, "--split", "names", "--count", "20", "--seed", "3")
    assert len({each.domain for each in tasks}) == len(TRAIN_FAMILIES)
    answers = {each.id: each.ground_truth for each in tasks[:10]} | {tasks[10].id: None}
    capsys.readouterr()
    assert main(["score", str(tmp_path / "tasks.jsonl"), write_results(tmp_path, answers)]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["family", "tasks", "answered", "mean"]
    assert [row.split()[0] for row in rows] == [*sorted({each.domain for each in tasks}), "all"]
    assert rows[-1].split() == ["all", "20", "10", "0.500", "0.299", "to", "0.701"]


def test_tasks_of_a_family_and_levels_are_generated(tmp_path: Path) -> None:
    options = ("--family", "logs", "--level", "2", "--level", "4", "--count", "4")
    tasks = generate_tasks(tmp_path, *options)
    ids = [f"logs-train-{level}-0-0000{n}" for n, level in enumerate([2, 4, 2, 4])]
    assert [each.id for each in tasks] == ids
    assert tasks == generate_tasks(tmp_path, *options)


@pytest.mark.parametrize(
    ("answers", "message"),
    [({"nobody": "x"}, "no task has the id 'nobody'"), (None, "results.jsonl cannot be read")],
)
def test_errors_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answers: dict[str, Any], message: str
) -> None:
    generate_tasks(tmp_path, "--count", "1")
    path = write_results(tmp_path, answers) if answers else str(tmp_path / "results.jsonl")
    assert main(["score", str(tmp_path / "tasks.jsonl"), path]) == 1
    assert message in capsys.readouterr().err


def test_an_unknown_family_creates_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jsonl"
    assert main(["document-tasks", "--family", "loans", "--output", str(path)]) == 1
    assert "has no family 'loans'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_intervals_stay_within_their_bounds_and_have_a_width() -> None:
    assert score_rewards([1.0] * 20, 20).high == 1
    assert 0.8 < score_rewards([1.0] * 20, 20).low < 0.9
    assert score_rewards([0.0], 0).low == 0
    assert score_rewards([0.5] * 4, 4).mean == 0.5
    both = score_answers([TaskRecord("a", "?", "B", "single_choice", "x")], {})
    assert (both["x"].mean, both[""].answered) == (0, 0)


@pytest.mark.contract
@pytest.mark.engine
def test_a_task_runs_and_is_scored(tmp_path: Path, image: str) -> None:
    (problem,) = generate_tasks(
        tmp_path, "--family", "recipes", "--count", "1", "--level", "1", "--seed", "4"
    )
    truth = problem.ground_truth
    command = f"cat input/recipes/*.txt && printf '%s\\n' '{truth}' > output/answer.txt"
    turns = [Turn(calls=[("execute_bash", {"command": command})]), Turn(calls=[("submit", {})])]
    settings = Settings(data=tmp_path / "data", image=image, warm_sandboxes=0)
    with Endpoint(turns) as endpoint, Studio(settings) as studio, studio.new() as run:
        write_inputs(problem, run.workspace)
        model = EndpointModel(ModelConfig(endpoint.url, "test-model"))
        assert [*run.start(build_task(problem), model)]
        with run.workspace.open_read(ANSWER_PATH) as answer:
            assert reward(problem, answer.read().decode()) == 1
    first, second = (request.body["messages"] for request in endpoint.requests)
    assert problem.problem_statement in first[-1]["content"]
    assert all(name in first[-1]["content"] for name in problem.input_files)
    assert all(str(text)[:20] in second[-1]["content"] for text in problem.input_files.values())
    assert endpoint.history_errors == []
