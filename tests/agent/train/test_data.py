"""The tasks of a recipe, and their demonstrated solutions."""

import json
import shlex

import pytest

from agent.errors import TrainError
from agent.tasks.document_qa.rng import Rng
from agent.tasks.task import TaskRecord
from agent.train import data, recipe
from agent.train.learning import solution_paths

RECIPE = recipe.load_recipe("cpu")


def test_kinds_alternate_and_are_deterministic() -> None:
    tasks = data.training_tasks(RECIPE)
    assert len(tasks) == RECIPE.tasks.count
    assert [each.domain for each in tasks[:4]] == ["codes", "homes", "makers", "codes"]
    assert [each.id for each in data.training_tasks(RECIPE)] == [each.id for each in tasks]


@pytest.mark.parametrize("split", ["train", "names", "wording", "family"])
def test_evaluation_tasks_are_not_trained_on(split: str) -> None:
    training_tasks = {
        (each.problem_statement, str(each.input_files)) for each in data.training_tasks(RECIPE)
    }
    for each in data.evaluation_tasks(RECIPE, split):  # type: ignore[arg-type]
        assert (each.problem_statement, str(each.input_files)) not in training_tasks


def test_kinds_can_name_a_question_of_a_family() -> None:
    recipe_of_one_question = recipe.load_recipe("cpu", {"tasks.families": "[staff.room]"})
    assert all(each.ground_truth.isdigit() for each in data.training_tasks(recipe_of_one_question))


@pytest.mark.parametrize(
    ("kind", "message"), [("staf", "has no family"), ("staff.age", "has no question")]
)
def test_an_unknown_kind_is_reported(kind: str, message: str) -> None:
    with pytest.raises(TrainError, match=rf"tasks\.families: .*{message}"):
        data.training_tasks(recipe.load_recipe("cpu", {"tasks.families": f"[{kind}]"}))


def commands(solution: solution_paths.Solution) -> list[str]:
    return [
        json.loads(call.arguments).get("command", call.name)
        for turn in solution
        for call in turn.calls
    ]


def test_a_correct_solution_reads_the_file_and_submits() -> None:
    problem = data.training_tasks(RECIPE)[0]
    look, write, submit = commands(solution_paths.sandbox_solution(problem, 1.0, ["wrong"], Rng(0)))
    name = look.removeprefix("cat input/")
    assert problem.ground_truth in str(problem.input_files[name])
    assert write == f"echo {problem.ground_truth} > output/answer.txt"
    assert submit == "submit"


def test_an_incorrect_solution_ends_with_another_answer() -> None:
    for number, problem in enumerate(data.training_tasks(RECIPE)[:60]):
        wrong = [problem.ground_truth, "it's"]
        solution = commands(solution_paths.sandbox_solution(problem, 0.0, wrong, Rng(number)))
        assert solution[-2:] == ["echo 'it'\"'\"'s' > output/answer.txt", "submit"]


def test_a_task_without_a_known_solution_is_an_error() -> None:
    with pytest.raises(solution_paths.NoSolution):
        solution_paths.sandbox_solution(TaskRecord("a", "Which?", "b", "exact"), 1.0, [], Rng(0))


def test_a_file_name_is_not_executed() -> None:
    name = "$(touch pwned)/berlin.txt"
    files = {name: "Anna lives here.", "oslo.txt": "Bert lives here."}
    problem = TaskRecord("1", "Who lives in Berlin?", "Anna", "exact", "homes", files)
    ways = (
        solution_paths.sandbox_solution(problem, 0.3, ["Bert", "Carla"], Rng("way", number))
        for number in range(200)
    )
    reads = {tuple(shlex.split(each)) for way in ways for each in commands(way) if "cat" in each}
    assert ("cat", f"input/{name}") in reads
    assert all(len(command) == 2 for command in reads)
