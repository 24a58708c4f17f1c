"""Output of a family: documents, a question about them, and its answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from agent.tasks.document_qa.names import NamePool
from agent.tasks.document_qa.rng import Rng

Split = Literal["train", "wording", "names", "family"]
LEVELS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Difficulty of a task: approximate documents, their lines, and 1 to 3 chained lookups."""

    files: int
    rows: int
    hops: int


DIFFICULTIES = {
    1: Difficulty(2, 4, 1),
    2: Difficulty(4, 8, 1),
    3: Difficulty(6, 16, 2),
    4: Difficulty(10, 40, 2),
    5: Difficulty(16, 120, 3),
}


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in cents."""

    cents: int


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day, in minutes since midnight."""

    minutes: int

    def __str__(self) -> str:
        return f"{self.minutes // 60:02}:{self.minutes % 60:02}"


@dataclass(frozen=True, slots=True)
class NameAnswer:
    """A name; ``distractors`` are plausible wrong names."""

    name: str
    distractors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """A text to copy from a document."""

    text: str


@dataclass(frozen=True, slots=True)
class NameSetAnswer:
    """A set of names; ``distractors`` are names not in the set."""

    names: frozenset[str]
    distractors: tuple[str, ...]


Answer = int | Money | date | Time | NameAnswer | TextAnswer | NameSetAnswer


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """A task before its question is worded with ``slots``; ``files`` are texts by name."""

    question: str
    slots: dict[str, str]
    files: dict[str, str]
    answer: Answer


Family = Callable[[Rng, Difficulty, NamePool], TaskDraft]


class AmbiguousDraft(Exception):
    """The random values allow no unambiguous question; draw again."""


def unique_maximum(values: dict[str, int]) -> str:
    """Return the key with the highest value. Raises ``AmbiguousDraft`` if it is not unique."""
    highest = max(values.values(), default=0)
    best_keys = [key for key, value in values.items() if value == highest]
    if len(best_keys) != 1:
        raise AmbiguousDraft
    return best_keys[0]


def name_set(right: frozenset[str], others: Sequence[str]) -> NameSetAnswer:
    """Return an answer of some names. Raises ``AmbiguousDraft`` if they are all or none."""
    if not right or not others:
        raise AmbiguousDraft
    return NameSetAnswer(right, tuple(others))


def long_date(day: date) -> str:
    """Format a day like ``5 March 2026``, independent of the locale."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def slugify(name: str) -> str:
    """Convert a name to a part of a file name."""
    return "-".join("".join(char if char.isalnum() else " " for char in name.lower()).split())


def csv_text(header: str, rows: list[str]) -> str:
    """Return the text of a CSV file."""
    return "\n".join([header, *rows]) + "\n"


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
