"""What a family makes: documents, a question about them, and its answer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from agent.tasks.generator.dice import Dice
from agent.tasks.generator.names import Names

Split = Literal["train", "wording", "names", "family"]
LEVELS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Shape:
    """How difficult it is.

    Attributes:
        files: About how many documents there are.
        rows: About how long each is, in lines.
        hops: How many things are to be found one from the other, from 1 to 3.
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
    """A time of the day in minutes."""

    minutes: int

    def __str__(self) -> str:
        return f"{self.minutes // 60:02}:{self.minutes % 60:02}"


@dataclass(frozen=True, slots=True)
class Name:
    """A name; ``others`` are those that it might have been."""

    name: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """What stands in a document, to be copied."""

    text: str


@dataclass(frozen=True, slots=True)
class NameSet:
    """Several names in no order; ``others`` are those that do not belong to them."""

    names: frozenset[str]
    others: tuple[str, ...]


Answer = int | Money | date | Time | Name | Word | NameSet


@dataclass(frozen=True, slots=True)
class Draft:
    """A task before it is put into words.

    Attributes:
        question: Which of its family's questions is asked.
        slots: What the wording is filled in with.
        files: Name and text of each document.
        answer: What is right.
    """

    question: str
    slots: dict[str, str]
    files: dict[str, str]
    answer: Answer


Family = Callable[[Dice, Shape, Names], Draft]


class Again(Exception):
    """Chance fell so that no question has one answer; it is thrown once more."""


def only_most(values: dict[str, int]) -> str:
    """The key with the highest value. Raises ``Again`` where several have it."""
    best = max(values.values(), default=0)
    found = [key for key, value in values.items() if value == best]
    if len(found) != 1:
        raise Again
    return found[0]


def long_date(day: date) -> str:
    """A day as in ``5 March 2026``, whatever the machine's language."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def slug(name: str) -> str:
    """A name as a part of a file's name."""
    return "-".join("".join(char if char.isalnum() else " " for char in name.lower()).split())


def table(head: str, rows: list[str]) -> str:
    """A file of comma-separated values."""
    return "\n".join([head, *rows]) + "\n"


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
