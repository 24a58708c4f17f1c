"""Held-out tasks of a recipe, and what the rollouts of a policy on them are worth."""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent.api.experiments import judge_model
from agent.errors import StudioError
from agent.events import RunEnded
from agent.experiments import suites
from agent.experiments.experiment import Judge
from agent.experiments.outcomes import is_infrastructure_failure
from agent.experiments.suite import Suite
from agent.grading.checks import Grade, JudgeAccess
from agent.grading.grade import grade
from agent.runs import journal
from agent.settings import load as settings
from agent.tasks.document_qa.draft import Split
from agent.tasks.scoring import Score, score_rewards
from agent.tasks.task import TaskRecord
from agent.train import data
from agent.train.recipe import EvaluationConfig, JudgeConfig, Recipe
from agent.train.rollouts.rollouts import Rollout
from agent.util.stop import Stop

SPLIT_TITLES: dict[Split, str] = {
    "train": "fresh tasks",
    "names": "held-out names",
    "wording": "held-out wording",
    "family": "held-out family",
}
_MAX_REASONS = 3

Scorer = Callable[[Rollout, Stop], Grade | None]
"""Scores the answer of a rollout; None if it was stopped."""


@dataclass(frozen=True, slots=True)
class HeldOutTasks:
    """Tasks of one column of the table, with what an answer is worth."""

    name: str
    title: str
    tasks: Sequence[TaskRecord]
    score: Scorer


@dataclass(frozen=True, slots=True)
class HeldOutScore:
    """Scores of one column after a stage; failures of the engine or studio are missing, never 0."""

    score: Score | None
    infrastructure: int
    unscored: int
    reasons: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the figures as values of a line in the log."""
        known = asdict(self.score) if self.score else {"tasks": 0, "answered": 0, "mean": None}
        missing = {"infrastructure": self.infrastructure, "unscored": self.unscored}
        return known | missing | {"reasons": list(self.reasons)}


def held_out_tasks(recipe: Recipe) -> list[HeldOutTasks]:
    """Return the columns of a recipe's table that have tasks."""
    if recipe.evaluation.suite:
        return [_suite_tasks(recipe.evaluation)]
    columns = (
        HeldOutTasks(split, SPLIT_TITLES[split], data.evaluation_tasks(recipe, split), _reward)
        for split in recipe.evaluation.splits
    )
    return [column for column in columns if column.tasks]


def score_rollouts(
    column: HeldOutTasks, rollouts: Sequence[Rollout], concurrency: int
) -> HeldOutScore:
    """Score the rollouts of a column, several at a time; a judge takes seconds for each."""
    failed, judged = list[Rollout](), list[Rollout]()
    for each in rollouts:
        lost = is_infrastructure_failure(each.status, each.reason)
        (failed if lost else judged).append(each)
    stop = Stop()
    with ThreadPoolExecutor(concurrency, "score") as threads:
        try:
            scores = list(threads.map(lambda each: column.score(each, stop), judged))
        finally:
            stop.set()
    known = [each.score for each in scores if each is not None and each.score is not None]
    answered = sum(each.answer is not None for each in judged)
    reasons = Counter(each.reason for each in failed)
    reasons.update(each.reason for each in scores if each is not None and each.score is None)
    return HeldOutScore(
        score_rewards(known, answered) if known else None,
        len(failed),
        len(judged) - len(known),
        tuple(reason for reason, _ in reasons.most_common(_MAX_REASONS)),
    )


def title_of(name: str) -> str:
    """Return the title of a column in a log."""
    if name in SPLIT_TITLES:
        return SPLIT_TITLES[name]
    return suites.describe(name).title if name in suites.NAMES else name


def _reward(rollout: Rollout, stop: Stop) -> Grade:
    del stop
    return Grade(score=rollout.reward)


def _suite_tasks(config: EvaluationConfig) -> HeldOutTasks:
    """Return tasks of a suite, evenly from its groups."""
    suite = suites.load(config.suite, Path(config.data) if config.data else None)
    suite = suite.first(config.tasks)
    records = suites.as_records(suite)
    return HeldOutTasks(suite.name, suite.title, records, _suite_scorer(suite, config.judge))


def _suite_scorer(suite: Suite, config: JudgeConfig | None) -> Scorer:
    tasks = {task.id: task for task in suite.tasks}
    judge = _connect(config) if config else None

    def score(rollout: Rollout, stop: Stop) -> Grade | None:
        try:
            task = tasks[rollout.task.id]
            return grade(suite.expected(task), _final_answer(rollout), judge, stop)
        except StudioError as error:
            return Grade(score=None, reason=str(error))

    return score


def _connect(config: JudgeConfig) -> JudgeAccess:
    judge = Judge(model=config.model, base_url=config.base_url, votes=config.votes)
    return JudgeAccess(model=judge_model(settings(), judge), name=judge.model, votes=judge.votes)


def _final_answer(rollout: Rollout) -> str:
    """Return the answer that an evaluation scores: also one written before a limit."""
    last = journal.last_event(rollout.folder.journal)
    return last.answer if isinstance(last, RunEnded) else ""
