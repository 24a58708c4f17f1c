"""Score a model's answers: outcome rewards, and their mean with a confidence interval."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt

from agent.errors import TaskError
from agent.grading.checks import Check, Expected
from agent.tasks.task import QaType, TaskRecord
from agent.util.text import one_line, quote

# Expressions are not scored by ROUGE-L, which would reward listing two numbers over deciding.
_CHECKS: dict[QaType, Check] = {
    "single_choice": "letter",
    "multiple_choice": "choice_f1",
    "open_ended": "open_ended",
    "exact": "verbatim",
}
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Score:
    """Mean reward over some tasks, where none for an answer is 0, and its 95 % interval."""

    tasks: int
    answered: int
    mean: float
    low: float
    high: float


def score_answers(
    tasks: Iterable[TaskRecord], answers: Mapping[str, str | None]
) -> dict[str, Score]:
    """Score each domain, sorted by name, and then all tasks under the empty name."""
    return score_grades(
        (task, answer, reward(task, answer)) for task, answer in matched(tasks, answers)
    )


def matched(
    tasks: Iterable[TaskRecord], answers: Mapping[str, str | None]
) -> Iterator[tuple[TaskRecord, str | None]]:
    """Yield each task with its answer. Raises ``TaskError`` for an answer to no task."""
    unmatched = set(answers)
    for task in tasks:
        unmatched.discard(task.id)
        yield task, answers.get(task.id)
    if unmatched:
        raise TaskError(f"answers: no task has the id {quote(min(unmatched))}.")


def score_grades(graded: Iterable[tuple[TaskRecord, str | None, float]]) -> dict[str, Score]:
    """Score tasks with their answers and rewards, in the format of ``score_answers``."""
    rewards: dict[str, list[float]] = {}
    answered: dict[str, int] = {}
    for task, answer, value in graded:
        rewards.setdefault(task.domain, []).append(value)
        answered[task.domain] = answered.get(task.domain, 0) + (answer is not None)
    if not rewards:
        raise TaskError("tasks: there are no tasks.")
    return score_domains(rewards, answered)


def score_domains(
    rewards: Mapping[str, list[float]], answered: Mapping[str, int]
) -> dict[str, Score]:
    """Score the rewards of each domain and of all, in the format of ``score_answers``."""
    scores = {name: score_rewards(each, answered[name]) for name, each in sorted(rewards.items())}
    everything = [value for each in rewards.values() for value in each]
    return {**scores, "": score_rewards(everything, sum(answered.values()))}


def format_table(scores: Mapping[str, Score]) -> str:
    """Format the scores as a table for a terminal."""
    rows = [f"{'family':<16}{'tasks':>7}{'answered':>10}{'mean':>8}   95 % interval"]
    for name, each in scores.items():
        row = f"{one_line(name or 'all'):<16}{each.tasks:>7}{each.answered:>10}"
        rows.append(f"{row}{each.mean:>8.3f}   {each.low:.3f} to {each.high:.3f}")
    return "\n".join(rows)


def score_rewards(rewards: list[float], answered: int) -> Score:
    """Score at least one reward; Wilson's interval is conservative for fractional rewards."""
    mean = sum(rewards) / len(rewards)
    return Score(len(rewards), answered, mean, *wilson_interval(mean, len(rewards)))


def wilson_interval(mean: float, count: int) -> tuple[float, float]:
    """Return the Wilson 95 % interval of a mean of ``count`` (at least 1) rewards."""
    square = _Z * _Z / count
    middle = (mean + square / 2) / (1 + square)
    half = _Z * sqrt(mean * (1 - mean) / count + square / (4 * count)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def expected_of(task: TaskRecord) -> Expected:
    """Return what an answer to a task is compared with, and how."""
    return task.expected or Expected(
        check=_CHECKS[task.qa_type], answer=task.ground_truth, question=task.problem_statement
    )


def reward(task: TaskRecord, answer: str | None) -> float:
    """Return the reward of an answer; None, as of a missing file, gets 0."""
    from agent.grading.grade import grade  # only to grade

    found = grade(expected_of(task), answer or "")
    return found.score if found and found.score is not None else 0.0
