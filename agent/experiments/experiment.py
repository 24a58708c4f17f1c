"""An experiment: a comparison has one task and inputs, an evaluation suites of tasks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal
from urllib.parse import urlsplit

from agent.errors import UsageError
from agent.experiments.suite import DataFile, Suite, SuiteDescription
from agent.grading.checks import OFFERED, VERDICTS, Check, Expected
from agent.run_fields import BY_NAME
from agent.runs.spec import RunSpec

FORMAT = 1
"""The version of an experiment's record; a newer version may add fields."""

Kind = Literal["comparison", "evaluation"]
MAX_MEMBERS = 12
MAX_REPETITIONS = 64
MAX_TASKS = 10_000
MAX_RUNS = 100_000
MAX_CONCURRENCY = 512
MAX_LABEL = 80
MAX_ANSWER = 20_000  # characters of an expected answer and of a judge's prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(RunSpec):
    """One column of an experiment: what is asked for, without the task.

    Attributes:
        label: Its name in the experiment.
        base_url: The endpoint's URL; empty for the studio's.
    """

    label: str
    base_url: str | None = ""

    def spec(self, task: str = "") -> RunSpec:
        """Return what is asked for with a task."""
        values = {name: getattr(self, name) for name in BY_NAME}
        return RunSpec(**values | {"task": task, "base_url": self.base_url or None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A model that decides whether an answer is right.

    Attributes:
        model: The model's name at the endpoint.
        base_url: The endpoint's URL; empty for the studio's. Its key is never stored.
        prompt: What it is asked, with the placeholders ``{task}``, ``{expected}`` and
            ``{answer}``; empty for the usual one.
        votes: How often it is asked about one answer.
        temperature: Of its answers; None for its usual one.
        max_tokens: Of one of its answers, at most; None for its usual number.
        right: What its prompt lets it answer for right; empty for ``RIGHT``.
        wrong: The same for wrong.
    """

    model: str
    base_url: str = ""
    prompt: str = ""
    votes: int = 1
    temperature: float | None = None
    max_tokens: int | None = None
    right: str = ""
    wrong: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """Its words for right and for wrong."""
        return (self.right or VERDICTS[0], self.wrong or VERDICTS[1])

    def spec(self) -> RunSpec:
        """Return what is asked for when it is called."""
        return RunSpec(
            base_url=self.base_url or None, model=self.model, mode="plain",
            temperature=self.temperature, max_tokens=self.max_tokens,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAnswer:
    """The right answer, and how answers are compared with it.

    Attributes:
        kind: The check, one of ``agent.grading.checks.OFFERED``.
        answer: The right answer.
        tolerance: For ``number``: the largest difference that is right.
        relative: For ``number``: the same as a share of the right number.
        judge: For ``judge``: the model.
    """

    kind: Check
    answer: str
    tolerance: float = 0.0
    relative: float = 0.0
    judge: Judge | None = None

    def to_grade(self, task: str) -> Expected:
        """Return what answers to the task are compared with, and how."""
        return Expected(
            check=self.kind, answer=self.answer, tolerance=self.tolerance,
            relative=self.relative, question=task, prompt=self.judge.prompt if self.judge else "",
            words=self.judge.words if self.judge else VERDICTS,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteInfo(SuiteDescription):
    """What an experiment keeps of a suite: the number of its tasks, and the hash of all of them."""

    tasks: int = 0
    sha256: str = ""

    @classmethod
    def of(cls, suite: Suite, sha256: str) -> "SuiteInfo":
        """Return what is kept of a suite."""
        return cls(**suite.description, tasks=len(suite.tasks), sha256=sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """The definition of an experiment; members and tasks may be added at its end.

    ``task`` is empty if there are suites, whose tasks are in the folder; ``concurrency`` and
    ``judge`` are for suites. ``baseline`` is a member's index (see ``baseline_of``), ``owner``
    empty for the operator. One that was made ``from_runs`` has nothing to start.
    """

    id: str = ""
    task: str = ""
    inputs: tuple[DataFile, ...] = ()
    expected: ExpectedAnswer | None = None
    suites: tuple[SuiteInfo, ...] = ()
    members: tuple[Member, ...]
    baseline: int = 0
    repetitions: int = 1
    concurrency: int = 4
    judge: Judge | None = None
    created: float = 0.0
    owner: str = ""
    from_runs: bool = False
    format: int = FORMAT

    @property
    def kind(self) -> Kind:
        """An experiment with suites of tasks is an evaluation."""
        return "evaluation" if self.suites else "comparison"

    @property
    def task_count(self) -> int:
        """The number of tasks."""
        return sum(suite.tasks for suite in self.suites) if self.suites else 1

    @property
    def run_count(self) -> int:
        """The number of runs."""
        tasks = sum(each.tasks * self.repetitions_of(each) for each in self.suites)
        return len(self.members) * (tasks if self.suites else self.repetitions)

    @property
    def suites_by_name(self) -> tuple[SuiteInfo, ...]:
        """Each suite once, with all of its tasks; a batch that was added later is a part of it."""
        found: dict[str, SuiteInfo] = {}
        for suite in self.suites:
            known = found.get(suite.name)
            found[suite.name] = replace(
                known, tasks=known.tasks + suite.tasks, sha256=f"{known.sha256} {suite.sha256}",
                files=tuple(dict.fromkeys((*known.files, *suite.files))),
            ) if known else suite  # fmt: skip
        return tuple(found.values())

    def repetitions_of(self, suite: SuiteInfo | Suite) -> int:
        """Return how often each member does each task of a suite."""
        return suite.repeat or self.repetitions

    @property
    def judging(self) -> Judge | None:
        """The model that scores answers, if one does."""
        return self.expected.judge if self.expected else self.judge

    def baseline_of(self, index: int) -> int:
        """Return the member that a member is compared with, which may be itself.

        In an evaluation: the same model without a sandbox, with the same or the nearest settings.
        Where a model has one of both only, and in comparisons, it is ``baseline``.
        """
        if not self.suites:
            return self.baseline
        member = self.members[index]
        if member.mode == "sandbox":
            plain = self._without_sandbox(member, index)
            return self.baseline if plain is None else plain
        compared = (
            self._without_sandbox(each, at)
            for at, each in enumerate(self.members)
            if each.mode == "sandbox"
        )
        return index if index in compared else self.baseline

    def _without_sandbox(self, member: Member, index: int) -> int | None:
        """Return the nearest member of the same model without a sandbox, alike if one is."""
        plain = {
            at: replace(each, label="", mode=member.mode) == replace(member, label="")
            for at, each in enumerate(self.members)
            if each.mode == "plain"
            and (each.model, each.base_url) == (member.model, member.base_url)
        }
        return min(plain, key=lambda at: (not plain[at], abs(at - index)), default=None)


def varying_fields(members: Sequence[Member]) -> tuple[str, ...]:
    """Return the fields in which members differ, without their labels."""
    names = [each.name for each in fields(Member) if each.name != "label"]
    return tuple(
        name
        for name in names
        if any(getattr(each, name) != getattr(members[0], name) for each in members)
    )


def check(experiment: Experiment, suites: Sequence[Suite] | None = None) -> None:
    """Check an experiment with its suites (None: a comparison) before it is created."""
    least, kind = (2, "A comparison") if suites is None else (1, "An evaluation")
    tasks, members, each_time = 1, len(experiment.members), [(1, experiment.repetitions)]
    if suites is None:
        if not experiment.task.strip():
            raise UsageError("A comparison needs a task.")
    else:
        _check_suites(suites)
        tasks = sum(len(suite.tasks) for suite in suites)
        each_time = [(len(each.tasks), experiment.repetitions_of(each)) for each in suites]
    for value, at_least, most, what in (
        (tasks, 1, MAX_TASKS, "tasks"),
        (members, least, MAX_MEMBERS, "members"),
        *((count, 1, MAX_REPETITIONS, "repetitions") for _, count in each_time),
        (experiment.concurrency, 1, MAX_CONCURRENCY, "runs at a time"),
        (members * sum(count * times for count, times in each_time), 1, MAX_RUNS, "runs"),
    ):
        if not at_least <= value <= most:
            raise UsageError(f"{kind} has {at_least} to {most:,} {what}, not {value:,}.")
    if not 0 <= experiment.baseline < members:
        raise UsageError(f"There is no member {experiment.baseline + 1} to compare with.")
    for member in experiment.members:
        check_member(member)
    if experiment.expected is not None:
        _check_expected(experiment.expected)
    _check_judge(experiment, suites or ())


def _check_suites(suites: Sequence[Suite]) -> None:
    names = [suite.name for suite in suites]
    if not suites or len(set(names)) < len(names):
        raise UsageError("An evaluation needs one or more suites, each once.")
    for suite in suites:
        if not suite.tasks:
            raise UsageError(f"{suite.title} has no tasks.")


def _check_judge(experiment: Experiment, suites: Sequence[Suite]) -> None:
    judged = [suite.title for suite in suites if suite.scorer == "judge"]
    if judged and experiment.judge is None:
        raise UsageError(
            f"Answers of {', '.join(judged)} are scored by a judge. Name its model and endpoint."
        )
    if experiment.judge is not None:
        check_judge(experiment.judge)


def check_member(member: Member) -> None:
    """Check a member's label, endpoint, limits and parameters. Raises ``UsageError``."""
    if not member.label.strip() or len(member.label) > MAX_LABEL:
        raise UsageError(f"A member's label has 1 to {MAX_LABEL} characters.")
    _check_url(member.base_url or "")
    try:
        member.check()
    except UsageError as error:
        raise UsageError(f"{member.label}: {error}") from None


def _check_expected(expected: ExpectedAnswer) -> None:
    if not expected.answer.strip() or len(expected.answer) > MAX_ANSWER:
        raise UsageError(f"The expected answer has 1 to {MAX_ANSWER:,} characters.")
    if expected.kind not in OFFERED:
        raise UsageError(f"The check must be one of {', '.join(OFFERED)}, not {expected.kind}.")
    if not (expected.tolerance >= 0 and expected.relative >= 0):
        raise UsageError("A tolerance is 0 or more.")
    if (expected.kind == "judge") != (expected.judge is not None):
        raise UsageError("A judge is given for the check “judge” and for no other.")
    if expected.judge is not None:
        check_judge(expected.judge)


def check_judge(judge: Judge) -> None:
    """Check a judge's endpoint, votes and prompt. Raises ``UsageError``."""
    _check_url(judge.base_url)
    if not 1 <= judge.votes <= MAX_REPETITIONS:
        raise UsageError(f"A judge is asked 1 to {MAX_REPETITIONS} times.")
    if len(judge.prompt) > MAX_ANSWER:
        raise UsageError(f"A judge's prompt has at most {MAX_ANSWER:,} characters.")
    _check_judge_words(judge)
    RunSpec(temperature=judge.temperature, max_tokens=judge.max_tokens).check()


def _check_judge_words(judge: Judge) -> None:
    """Check that a judge's prompt has what it judges, and names the words that it is read by."""
    lacking = [each for each in ("{expected}", "{answer}") if each not in judge.prompt]
    if judge.prompt and lacking:
        raise UsageError(
            f"A judge's prompt must contain {' and '.join(lacking)}: without it the judge does not "
            "see what it decides about."
        )
    same = judge.right and judge.right.casefold() == judge.wrong.casefold()
    if bool(judge.right) != bool(judge.wrong) or same:
        raise UsageError("A judge has two different words, one for right and one for wrong.")
    if judge.right and not judge.prompt:
        raise UsageError("A judge's own words need a prompt of its own that asks for them.")
    if any(len(each) > MAX_LABEL or each != each.strip() for each in (judge.right, judge.wrong)):
        raise UsageError(f"A judge's words have at most {MAX_LABEL} characters.")


def _check_url(url: str) -> None:
    """Refuse a URL with a password: it would be stored and shown."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UsageError(f"The endpoint's URL cannot be read: {error}.") from error
    if "@" in parts.netloc:
        raise UsageError("Enter the endpoint's key in its own field, not in its URL.")


def remaining_seconds(done: int, total: int, elapsed: float) -> float | None:
    """Return an estimate of the seconds until all runs have ended; None if it is not known."""
    if done < 1 or not math.isfinite(elapsed):
        return None
    return elapsed / done * (total - done)
