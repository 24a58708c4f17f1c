"""Evaluation of the policy on held-out tasks, by split or suite."""

from typing import Any

from agent.train.held_out import HeldOutScore, HeldOutTasks, held_out_tasks, score_rollouts
from agent.train.log import TrainingLog, print_line
from agent.train.recipe import Recipe
from agent.train.rollouts.workers import RolloutRunner


class Evaluator:
    """Evaluates the policy on a recipe's held-out tasks; the log receives each column's scores."""

    def __init__(self, recipe: Recipe, runner: RolloutRunner, log: TrainingLog) -> None:
        self._temperature = recipe.evaluation.temperature
        self._concurrency = recipe.rollouts.concurrency
        self._runner = runner
        self._log = log
        self._columns = held_out_tasks(recipe)

    def evaluate(self, stage: str, step: int) -> dict[str, HeldOutScore]:
        """Evaluate each column; log the scores under a stage and its step."""
        return {column.name: self._evaluate(column, stage, step) for column in self._columns}

    def is_evaluated(self, stage: str, step: int) -> bool:
        """Return whether the log has the scores of all columns for this stage and step."""
        lines: list[dict[str, Any]] = list(self._log.lines("evaluation"))
        found = {each["split"] for each in lines if (each["stage"], each["step"]) == (stage, step)}
        return found >= {column.name for column in self._columns}

    def _evaluate(self, column: HeldOutTasks, stage: str, step: int) -> HeldOutScore:
        rollouts = self._runner.run_policy(
            column.tasks, self._temperature, "evaluation", column.name
        )
        result = score_rollouts(column, rollouts, self._concurrency)
        self._log.write("evaluation", stage=stage, step=step, split=column.name, **result.to_json())
        print_line(f"{stage} {step}, {column.title}: {_describe(result)}")
        return result


def _describe(result: HeldOutScore) -> str:
    score = result.score
    parts = [
        f"{score.mean:.2f} ({score.low:.2f} to {score.high:.2f}) of {score.tasks}"
        if score
        else "no scores"
    ]
    if result.infrastructure:
        parts.append(f"{result.infrastructure} infrastructure errors")
    if result.unscored:
        parts.append(f"{result.unscored} unscored")
    if result.reasons:
        parts.append(" ".join(result.reasons))
    return "; ".join(parts)
