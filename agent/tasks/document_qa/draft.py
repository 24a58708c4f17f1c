"""Output of a family: documents, a question about them, and its answer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from agent.tasks.document_qa.names import Names
from agent.tasks.document_qa.rng import Dice

Split = Literal["train", "wording", "names", "family"]
LEVELS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Shape:
    """Difficulty of a task.

    Attributes:
        files: Approximate number of documents.
        rows: Approximate length of each document in lines.
        hops: Number of chained lookups, from 1 to 3.
    """

    files: int
    rows: int
    hops: int


SHAPES = {
    1: Shape(2, 4, 1),
    2: Shape(4, 8, 1),
    3: Shape(6, 16, 2),
    4: Shape(10, 40, 2),
    5: Shape(16, 120, 3),
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
class Name:
    """A name; ``others`` are plausible wrong names."""

    name: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A text to copy from a document."""

    text: str


@dataclass(frozen=True, slots=True)
class NameSet:
    """A set of names; ``others`` are names not in the set."""

    names: frozenset[str]
    others: tuple[str, ...]


Answer = int | Money | date | Time | Name | Word | NameSet


@dataclass(frozen=True, slots=True)
class Draft:
    """A task before its question is worded.

    Attributes:
        question: Name of the question within the family.
        slots: Values for the wording's placeholders.
        files: Name and text of each document.
        answer: The correct answer.
    """

    question: str
    slots: dict[str, str]
    files: dict[str, str]
    answer: Answer


Family = Callable[[Dice, Shape, Names], Draft]


class Again(Exception):
    """The random values allow no unambiguous question; draw again."""


def only_most(values: dict[str, int]) -> str:
    """Return the key with the highest value. Raises ``Again`` if it is not unique."""
    best = max(values.values(), default=0)
    found = [key for key, value in values.items() if value == best]
    if len(found) != 1:
        raise Again
    return found[0]


def long_date(day: date) -> str:
    """Format a day like ``5 March 2026``, independent of the locale."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def slug(name: str) -> str:
    """Convert a name to a part of a file name."""
    return "-".join("".join(char if char.isalnum() else " " for char in name.lower()).split())


def table(head: str, rows: list[str]) -> str:
    """Return the text of a CSV file."""
    return "\n".join([head, *rows]) + "\n"


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
