"""Evaluation of the policy on held-out tasks, by split."""

from dataclasses import asdict
from typing import Any

from agent.tasks.document_qa.draft import Split
from agent.tasks.scoring import Score, score
from agent.tasks.task import Problem
from agent.train import data
from agent.train.log import Log, say
from agent.train.recipe import Recipe
from agent.train.rollouts.workers import Crew

TITLES: dict[Split, str] = {
    "train": "fresh tasks",
    "names": "held-out names",
    "wording": "held-out wording",
    "family": "held-out family",
}


class Examiner:
    """Evaluates the policy on a recipe's held-out tasks.

    Args:
        recipe: Determines the tasks, their number and the temperature.
        crew: Performs the rollouts.
        log: Receives the score of each split.
    """

    def __init__(self, recipe: Recipe, crew: Crew, log: Log) -> None:
        self._given = recipe.evaluation
        self._crew = crew
        self._log = log
        found = {split: data.held_out(recipe, split) for split in self._given.splits}
        self._tasks: dict[Split, list[Problem]] = {
            split: problems for split, problems in found.items() if problems
        }

    def measure(self, stage: str, step: int) -> dict[Split, Score]:
        """Evaluate each split; log the scores under a stage and its step."""
        return {split: self._measured(split, stage, step) for split in self._tasks}

    def measured(self, stage: str, step: int) -> bool:
        """Return whether the log has the scores of all splits for this stage and step."""
        lines: list[dict[str, Any]] = list(self._log.lines("evaluation"))
        found = {each["split"] for each in lines if (each["stage"], each["step"]) == (stage, step)}
        return found >= set(self._tasks)

    def _measured(self, split: Split, stage: str, step: int) -> Score:
        done = self._crew.work(self._tasks[split], self._given.temperature, "evaluation", split)
        answered = sum(each.answer is not None for each in done)
        found = score([each.reward for each in done], answered)
        self._log.write("evaluation", stage=stage, step=step, split=split, **asdict(found))
        interval = f"{found.low:.2f} to {found.high:.2f}"
        say(f"{stage} {step}, {TITLES[split]}: {found.mean:.2f} ({interval}) of {found.tasks}")
        return found
