"""Held-out tasks: a suite is scored by its own scorer, and what has no score is counted apart."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from agent.api.studio import Studio
from agent.errors import ModelUnavailable, TaskError
from agent.limits import Limits
from agent.models.base import Model
from agent.tasks.task import TaskRecord
from agent.train import recipe
from agent.train.held_out import HeldOutScore, held_out_tasks, score_rollouts, title_of
from agent.train.rollouts.rollouts import RolloutPlan, run_rollouts
from tests.support.models.endpoint import Endpoint
from tests.support.models.scripted import SUBMIT, ScriptedModel, ScriptedTurn, bash
from tests.support.models.turns import Turn

if TYPE_CHECKING:
    from agent.train.rollouts.policy import Policy

PLAN = RolloutPlan(Limits(steps=2, seconds=60, reminders=0, attempts=1), concurrency=2)

UNREACHABLE = ScriptedTurn(error=ModelUnavailable("The endpoint is not reachable."))


def write(answer: str) -> ScriptedTurn:
    return bash(f"cat > output/answer.txt <<'END'\n{answer}\nEND")


def evaluate(
    studio: Studio,
    changes: Mapping[str, str],
    turns: Callable[[TaskRecord], tuple[ScriptedTurn, ...]],
    at_once: int = 2,
) -> HeldOutScore:
    """Score what a script answers to the tasks of a recipe's suite."""
    (column,) = held_out_tasks(recipe.load_recipe("cpu", changes))

    def model(task: TaskRecord) -> Model:
        return ScriptedModel(turns(task))

    found = sorted(run_rollouts(column.tasks, model, studio, PLAN), key=lambda each: each.number)
    return score_rollouts(column, found, at_once)


@pytest.mark.nightly
def test_a_suite_is_scored_by_its_own_scorer_and_not_by_the_reward(studio: Studio) -> None:
    answers = {
        "Caption2mol-1": (write("Both fit at first.\n\\boxed{A}"), SUBMIT),
        "Name_Conversion-1": (write("A"), SUBMIT),
        "Name_Conversion-2": (write("A"), SUBMIT),
        "Name_Conversion-3": (write("B"), write("B")),  # the limit of steps; the answer counts
    }
    columns = held_out_tasks(recipe.load_recipe("cpu", {"evaluation.suite": "chembench"}))
    assert [(each.name, each.title) for each in columns] == [("chembench", "ChemBench4K")]

    chosen = {"evaluation.suite": "chembench", "evaluation.tasks": "8"}
    result = evaluate(studio, chosen, lambda task: answers.get(task.id, (UNREACHABLE,)))
    assert result.score is not None
    assert (result.score.tasks, result.score.mean) == (4, 0.75)
    # Four tasks failed for reasons that are not the model's: they are not zeros.
    assert (result.infrastructure, result.unscored) == (4, 0)
    assert result.reasons == ("The endpoint is not reachable.",)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("suite", "answer"), [("ifbench", "It is 2496."), ("aime", "So it is\n\\boxed{395}")]
)
def test_rules_and_mathematics_have_their_scorers(studio: Studio, suite: str, answer: str) -> None:
    chosen = {"evaluation.suite": suite, "evaluation.tasks": "1"}
    result = evaluate(studio, chosen, lambda _: (write(answer), SUBMIT))
    assert result.score is not None
    assert result.score.mean == 1


@pytest.mark.nightly
def test_a_judge_that_fails_leaves_answers_unscored(studio: Studio) -> None:
    replies = ["Yes.\nRIGHT", "Yes.\nRIGHT", "Hm.", "Hm."]
    with Endpoint([Turn(text=text) for text in replies]) as endpoint:
        judge = json.dumps({"base_url": endpoint.url, "model": "j", "votes": 2})
        chosen = {"evaluation.suite": "ugphysics", "evaluation.tasks": "2"}
        chosen["evaluation.judge"] = judge
        result = evaluate(studio, chosen, lambda _: (write("3000 J"), SUBMIT), at_once=1)
    assert result.score is not None
    assert (result.score.tasks, result.score.mean) == (1, 1.0)
    assert (result.infrastructure, result.unscored) == (0, 1)
    assert result.reasons[0].startswith("2 of 2 votes failed.")


@pytest.mark.nightly
def test_without_any_score_the_mean_is_not_known(failing_studio: Studio) -> None:
    chosen = {"evaluation.suite": "aime", "evaluation.tasks": "2"}
    result = evaluate(failing_studio, chosen, lambda _: (write("1"), SUBMIT))
    assert result.score is None
    assert (result.infrastructure, result.unscored) == (2, 0)
    line = result.to_json()
    assert (line["mean"], line["tasks"]) == (None, 0)


@pytest.mark.nightly
@pytest.mark.usefixtures("training_packages")
def test_empty_answers_are_zeros_and_do_not_end_the_training(studio: Studio) -> None:
    """They are the model's failures: a weak model may give nothing else."""
    from agent.train.rollouts.workers import RolloutRunner

    loaded = recipe.load_recipe("cpu", {"evaluation.suite": "aime", "evaluation.tasks": "2"})
    (column,) = held_out_tasks(loaded)
    runner = RolloutRunner(loaded, cast("Policy", None), studio)
    found = runner.run_models(lambda _: ScriptedModel((ScriptedTurn(""),)), column.tasks)
    assert {each.status for each in found} == {"failed"}
    result = score_rollouts(column, found, 1)
    assert result.score is not None
    assert (result.score.tasks, result.score.mean, result.infrastructure) == (2, 0.0, 0)


def test_generated_tasks_have_a_column_for_each_split() -> None:
    columns = held_out_tasks(recipe.load_recipe("cpu"))
    assert [each.name for each in columns] == ["names", "wording", "family"]
    assert [len(each.tasks) for each in columns] == [16, 16, 16]


def test_missing_data_of_a_suite_is_reported(tmp_path: Path) -> None:
    chosen = {"evaluation.suite": "aime", "evaluation.data": str(tmp_path / "none")}
    with pytest.raises(TaskError, match="none"):
        held_out_tasks(recipe.load_recipe("cpu", chosen))


def test_a_column_of_an_unknown_suite_keeps_its_name() -> None:
    titles = [title_of(name) for name in ("names", "aime", "mine")]
    assert titles == ["held-out names", "AIME 2025", "mine"]
