"""The tasks of a recipe, and the ways in which they are shown."""

import json

import pytest

from agent.errors import TrainError
from agent.tasks.document_qa.rng import Rng
from agent.tasks.task import TaskRecord
from agent.train import data, recipe
from agent.train.learning import solution_paths

CPU = recipe.load_recipe("cpu")


def test_kinds_come_in_turn_and_the_same_for_a_seed() -> None:
    made = data.training_tasks(CPU)
    assert len(made) == CPU.tasks.count
    assert [each.domain for each in made[:4]] == ["codes", "homes", "makers", "codes"]
    assert [each.id for each in data.training_tasks(CPU)] == [each.id for each in made]


@pytest.mark.parametrize("split", ["train", "names", "wording", "family"])
def test_evaluation_tasks_are_not_trained_on(split: str) -> None:
    trained = {(each.problem_statement, str(each.input_files)) for each in data.training_tasks(CPU)}
    for each in data.evaluation_tasks(CPU, split):  # type: ignore[arg-type]
        assert (each.problem_statement, str(each.input_files)) not in trained


def test_a_question_of_a_family_may_be_named() -> None:
    chosen = recipe.load_recipe("cpu", {"tasks.kinds": "[staff.room]"})
    assert all(each.ground_truth.isdigit() for each in data.training_tasks(chosen))


@pytest.mark.parametrize(
    ("kind", "told"), [("staf", "has no family"), ("staff.age", "has no question")]
)
def test_an_unknown_kind_is_reported(kind: str, told: str) -> None:
    with pytest.raises(TrainError, match=rf"tasks\.kinds: .*{told}"):
        data.training_tasks(recipe.load_recipe("cpu", {"tasks.kinds": f"[{kind}]"}))


def commands(way: solution_paths.Solution) -> list[str]:
    return [
        json.loads(call.arguments).get("command", call.name) for turn in way for call in turn.calls
    ]


def test_the_right_way_looks_and_hands_in() -> None:
    problem = data.training_tasks(CPU)[0]
    look, write, submit = commands(solution_paths.sandbox_solution(problem, 1.0, ["wrong"], Rng(0)))
    name = look.removeprefix("cat input/")
    assert problem.ground_truth in str(problem.input_files[name])
    assert write == f"echo {problem.ground_truth} > output/answer.txt"
    assert submit == "submit"


def test_any_other_way_ends_in_another_answer() -> None:
    for number, problem in enumerate(data.training_tasks(CPU)[:60]):
        way = commands(
            solution_paths.sandbox_solution(
                problem, 0.0, [problem.ground_truth, "it's"], Rng(number)
            )
        )
        assert way[-2:] == ["echo 'it'\"'\"'s' > output/answer.txt", "submit"]


def test_who_knows_no_way_says_so() -> None:
    with pytest.raises(solution_paths.NoSolution):
        solution_paths.sandbox_solution(TaskRecord("a", "Which?", "b", "exact"), 1.0, [], Rng(0))
