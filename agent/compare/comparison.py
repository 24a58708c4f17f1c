"""What a comparison is: a task, its inputs, and the members that carry it out."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from urllib.parse import urlsplit

from agent.errors import UsageError
from agent.grading.checks import OFFERED, Check, Expected
from agent.run_fields import BY_NAME
from agent.runs.spec import RunSpec

FORMAT = 1
"""The version of a comparison's record; a newer version may add fields."""

MAX_MEMBERS = 6
MAX_REPETITIONS = 20
MAX_LABEL = 80
MAX_ANSWER = 20_000
"""Maximum characters of an expected answer and of a judge's prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(RunSpec):
    """One column of a comparison: what is asked for, without the task.

    Attributes:
        label: Its name in the comparison.
        base_url: The endpoint's URL; empty for the studio's.
    """

    label: str
    base_url: str | None = ""

    def spec(self, task: str = "") -> RunSpec:
        """Return what is asked for with a task."""
        values = {name: getattr(self, name) for name in BY_NAME}
        return RunSpec(**values | {"task": task, "base_url": self.base_url or None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input file: its path below ``input/``, its bytes, and the hash of its content."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A model that decides whether an answer is right.

    Attributes:
        model: The model's name at the endpoint.
        base_url: The endpoint's URL; empty for the studio's. Its key is never stored.
        prompt: What it is asked, with the placeholders ``{task}``, ``{expected}`` and
            ``{answer}``; empty for the usual one.
        votes: How often it is asked about one answer.
    """

    model: str
    base_url: str = ""
    prompt: str = ""
    votes: int = 1


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
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The definition of a comparison; it never changes.

    Attributes:
        id: Its id, which cannot be guessed.
        task: The task's text.
        inputs: The input files, the same for all members.
        members: The members, in the order of their columns.
        baseline: The index of the member that the others are compared with.
        varying: The fields of ``Member`` in which the members differ.
        repetitions: How often each member does the task.
        expected: The right answer, if it is known.
        created: When it was created, in seconds since the epoch.
        owner: Its owner; empty for the operator.
        from_runs: Whether it was made from runs that existed; there is nothing to start then.
        format: The version of the record.
    """

    id: str
    task: str
    members: tuple[Member, ...]
    inputs: tuple[Input, ...] = ()
    baseline: int = 0
    varying: tuple[str, ...] = ()
    repetitions: int = 1
    expected: ExpectedAnswer | None = None
    created: float = 0.0
    owner: str = ""
    from_runs: bool = False
    format: int = FORMAT


def varying_fields(members: Sequence[Member]) -> tuple[str, ...]:
    """Return the fields in which members differ, without their labels."""
    names = [each.name for each in fields(Member) if each.name != "label"]
    return tuple(
        name
        for name in names
        if any(getattr(each, name) != getattr(members[0], name) for each in members)
    )


def check(comparison: Comparison) -> None:
    """Check a comparison before it is started.

    Raises:
        UsageError: A value is missing or out of range; the text names it.
    """
    count = len(comparison.members)
    if not comparison.task.strip():
        raise UsageError("A comparison needs a task.")
    if not 2 <= count <= MAX_MEMBERS:
        raise UsageError(f"A comparison has 2 to {MAX_MEMBERS} members, not {count}.")
    if not 1 <= comparison.repetitions <= MAX_REPETITIONS:
        raise UsageError(
            f"A member does the task 1 to {MAX_REPETITIONS} times, not {comparison.repetitions}."
        )
    if not 0 <= comparison.baseline < count:
        raise UsageError(f"There is no member {comparison.baseline + 1} to compare with.")
    for member in comparison.members:
        check_member(member)
    if comparison.expected is not None:
        _check_expected(comparison.expected)


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


def _check_url(url: str) -> None:
    """Refuse a URL with a password: it would be stored and shown."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UsageError(f"The endpoint's URL cannot be read: {error}.") from error
    if "@" in parts.netloc:
        raise UsageError("Enter the endpoint's key in its own field, not in its URL.")
