"""Evaluation of the policy on held-out tasks, by split."""

from dataclasses import asdict
from typing import Any

from agent.tasks.document_qa.draft import Split
from agent.tasks.scoring import Score, score_rewards
from agent.tasks.task import TaskRecord
from agent.train import data
from agent.train.log import TrainingLog, print_line
from agent.train.recipe import Recipe
from agent.train.rollouts.workers import RolloutRunner

SPLIT_TITLES: dict[Split, str] = {
    "train": "fresh tasks",
    "names": "held-out names",
    "wording": "held-out wording",
    "family": "held-out family",
}


class Evaluator:
    """Evaluates the policy on a recipe's held-out tasks.

    Args:
        recipe: Determines the tasks, their number and the temperature.
        runner: Performs the rollouts.
        log: Receives the score of each split.
    """

    def __init__(self, recipe: Recipe, runner: RolloutRunner, log: TrainingLog) -> None:
        self._config = recipe.evaluation
        self._runner = runner
        self._log = log
        found = {split: data.evaluation_tasks(recipe, split) for split in self._config.splits}
        self._tasks: dict[Split, list[TaskRecord]] = {
            split: tasks for split, tasks in found.items() if tasks
        }

    def evaluate(self, stage: str, step: int) -> dict[Split, Score]:
        """Evaluate each split; log the scores under a stage and its step."""
        return {split: self._evaluate_split(split, stage, step) for split in self._tasks}

    def is_evaluated(self, stage: str, step: int) -> bool:
        """Return whether the log has the scores of all splits for this stage and step."""
        lines: list[dict[str, Any]] = list(self._log.lines("evaluation"))
        found = {each["split"] for each in lines if (each["stage"], each["step"]) == (stage, step)}
        return found >= set(self._tasks)

    def _evaluate_split(self, split: Split, stage: str, step: int) -> Score:
        rollouts = self._runner.run_policy(
            self._tasks[split], self._config.temperature, "evaluation", split
        )
        answered = sum(each.answer is not None for each in rollouts)
        result = score_rewards([each.reward for each in rollouts], answered)
        self._log.write("evaluation", stage=stage, step=step, split=split, **asdict(result))
        interval = f"{result.low:.2f} to {result.high:.2f}"
        print_line(
            f"{stage} {step}, {SPLIT_TITLES[split]}: {result.mean:.2f} ({interval}) of "
            f"{result.tasks}"
        )
        return result
