"""What an evaluation is: tasks with known answers, and the members that carry them out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from agent.compare.comparison import Judge, Member, check_judge, check_member
from agent.errors import UsageError
from agent.evals.suite import Suite, SuiteDescription

FORMAT = 1
"""The version of an evaluation's record; a newer version may add fields."""

MAX_MEMBERS = 12
MAX_REPETITIONS = 64
MAX_TASKS = 10_000
MAX_RUNS = 100_000
MAX_CONCURRENCY = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteInfo(SuiteDescription):
    """What an evaluation keeps of a suite.

    Attributes:
        tasks: How many of its tasks are in the evaluation.
        sha256: The hash of these tasks, with their answers and documents.
    """

    tasks: int = 0
    sha256: str = ""

    @classmethod
    def of(cls, suite: Suite, sha256: str) -> "SuiteInfo":
        """Return what is kept of a suite."""
        kept: dict[str, Any] = {
            each.name: getattr(suite, each.name) for each in fields(SuiteDescription)
        }
        return cls(**kept, tasks=len(suite.tasks), sha256=sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The definition of an evaluation; it never changes.

    Attributes:
        id: Its id, which cannot be guessed.
        suites: The suites; their tasks are in the folder.
        members: The members, in the order of their columns.
        baseline: The index of the member that the others are compared with, unless one of their
            own model is in plain mode (``baseline_of``).
        repetitions: How often each member does each task.
        concurrency: How many runs at a time.
        judge: The model that scores answers, for suites that need one.
        created: When it was created, in seconds since the epoch.
        owner: Its owner; empty for the operator.
        format: The version of the record.
    """

    id: str = ""
    suites: tuple[SuiteInfo, ...] = ()
    members: tuple[Member, ...]
    baseline: int = 0
    repetitions: int = 1
    concurrency: int = 4
    judge: Judge | None = None
    created: float = 0.0
    owner: str = ""
    format: int = FORMAT

    @property
    def task_count(self) -> int:
        """The number of tasks of all suites."""
        return sum(suite.tasks for suite in self.suites)

    def baseline_of(self, index: int) -> int:
        """Return the member that another is compared with: its own model without a sandbox.

        Where there is none or several, it is ``baseline``.
        """
        member = self.members[index]
        plain = [
            at for at, each in enumerate(self.members)
            if each.mode == "plain" and (each.model, each.base_url) == (member.model,
                                                                       member.base_url)
        ]  # fmt: skip
        return plain[0] if member.mode == "sandbox" and len(plain) == 1 else self.baseline


def check(evaluation: Evaluation, suites: Sequence[Suite]) -> None:
    """Check an evaluation of suites before it is created.

    Raises:
        UsageError: A value is missing or out of range; the text names it.
    """
    _check_suites(suites)
    tasks, members = sum(len(suite.tasks) for suite in suites), len(evaluation.members)
    for value, most, what in (
        (tasks, MAX_TASKS, "tasks"),
        (members, MAX_MEMBERS, "members"),
        (evaluation.repetitions, MAX_REPETITIONS, "repetitions"),
        (evaluation.concurrency, MAX_CONCURRENCY, "runs at a time"),
        (tasks * members * evaluation.repetitions, MAX_RUNS, "runs"),
    ):
        if not 1 <= value <= most:
            raise UsageError(f"An evaluation has 1 to {most:,} {what}, not {value:,}.")
    if not 0 <= evaluation.baseline < members:
        raise UsageError(f"There is no member {evaluation.baseline + 1} to compare with.")
    for member in evaluation.members:
        check_member(member)
    _check_judge(evaluation, suites)


def _check_suites(suites: Sequence[Suite]) -> None:
    names = [suite.name for suite in suites]
    if not suites or len(set(names)) < len(names):
        raise UsageError("An evaluation needs one or more suites, each once.")
    for suite in suites:
        if not suite.tasks:
            raise UsageError(f"{suite.title} has no tasks.")


def _check_judge(evaluation: Evaluation, suites: Sequence[Suite]) -> None:
    judged = [suite.title for suite in suites if suite.scorer == "judge"]
    if judged and evaluation.judge is None:
        raise UsageError(
            f"Answers of {', '.join(judged)} are scored by a judge. Name its model and endpoint."
        )
    if evaluation.judge is not None:
        check_judge(evaluation.judge)


def remaining_seconds(done: int, total: int, elapsed: float) -> float | None:
    """Return an estimate of the seconds until all runs have ended; None if it is not known."""
    if done < 1 or not math.isfinite(elapsed):
        return None
    return elapsed / done * (total - done)
