"""Chance that falls the same for a seed on every machine and with every Python."""

import hashlib
import random
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypeVar

T = TypeVar("T")

_FIRST_DAY = date(2021, 1, 1)
_DAYS = 2_000


class Dice:
    """Throws that follow from ``seeds`` alone.

    Of Python's generator only ``random()`` is used, whose numbers for a seed never change.
    """

    def __init__(self, *seeds: object) -> None:
        digest = hashlib.sha256("\0".join(map(str, seeds)).encode()).digest()
        self._random = random.Random(int.from_bytes(digest))

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1."""
        return int(self._random.random() * limit)

    def between(self, least: int, most: int) -> int:
        """A number from ``least`` to ``most``, both included."""
        return least + self.below(most - least + 1)

    def pick(self, things: Sequence[T]) -> T:
        """One of them."""
        return things[self.below(len(things))]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """All of them in another order."""
        return self.some(things, len(things))

    def some(self, things: Sequence[T], count: int) -> list[T]:
        """``count`` different ones, or all where there are not as many."""
        left = list(things)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]

    def day(self) -> date:
        """A day of the years 2021 to 2026."""
        return _FIRST_DAY + timedelta(self.below(_DAYS))
