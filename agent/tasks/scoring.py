"""Answers of a model against the tasks they are of: the mean reward, and how sure it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

from agent.errors import TaskError
from agent.legible import one_line
from agent.tasks.record import Problem
from agent.tasks.record import shown as quoted
from agent.tasks.rewards import reward

_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Score:
    """The rewards of some tasks.

    Attributes:
        tasks: How many there are.
        answered: Of how many there is an answer.
        mean: The mean reward, that of a task without an answer being 0.
        low: Where its 95 % interval begins,
        high: and where it ends.
    """

    tasks: int
    answered: int
    mean: float
    low: float
    high: float


def scored(problems: Iterable[Problem], answers: Mapping[str, str | None]) -> dict[str, Score]:
    """The score of each domain, by name, and of all together under the empty name, which is last.

    Raises:
        TaskError: there are no tasks, or an answer is of none of them.
    """
    rewards: dict[str, list[float]] = {}
    answered: dict[str, int] = {}
    left = set(answers)
    for problem in problems:
        left.discard(problem.id)
        answer = answers.get(problem.id)
        rewards.setdefault(problem.domain, []).append(reward(problem, answer))
        answered[problem.domain] = answered.get(problem.domain, 0) + (answer is not None)
    if left:
        raise TaskError(f"answers: {quoted(min(left))} is the id of no task.")
    if not rewards:
        raise TaskError("tasks: there are none.")
    return by_domain(rewards, answered)


def by_domain(rewards: Mapping[str, list[float]], answered: Mapping[str, int]) -> dict[str, Score]:
    """The score of each domain that has rewards, and of all together, as ``scored`` gives it."""
    scores = {name: score(each, answered[name]) for name, each in sorted(rewards.items())}
    everything = [value for each in rewards.values() for value in each]
    return {**scores, "": score(everything, sum(answered.values()))}


def shown(scores: Mapping[str, Score]) -> str:
    """The scores as a table for a person at a terminal."""
    rows = [f"{'family':<16}{'tasks':>7}{'answered':>10}{'mean':>8}   95 % interval"]
    for name, each in scores.items():
        head = f"{one_line(name or 'all'):<16}{each.tasks:>7}{each.answered:>10}"
        rows.append(f"{head}{each.mean:>8.3f}   {each.low:.3f} to {each.high:.3f}")
    return "\n".join(rows)


def score(rewards: list[float], answered: int) -> Score:
    """The score of rewards, of which there is one at least.

    The interval is Wilson's, which stays within 0 and 1 and has a width where all are right.
    For rewards between 0 and 1 it is too wide rather than too narrow: with the same mean
    nothing spreads more than rewards of 0 and 1.
    """
    mean = sum(rewards) / len(rewards)
    return Score(len(rewards), answered, mean, *interval(mean, len(rewards)))


def interval(mean: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a mean of so many rewards, one at least."""
    square = _Z * _Z / count
    middle = (mean + square / 2) / (1 + square)
    half = _Z * sqrt(mean * (1 - mean) / count + square / (4 * count)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
