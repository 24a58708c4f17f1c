"""Random numbers that are reproducible across machines and Python versions."""

import hashlib
import random
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypeVar

T = TypeVar("T")

_FIRST_DAY = date(2021, 1, 1)
_DAYS = 2_000


class Dice:
    """Random generator determined by ``seeds`` alone.

    It uses only ``random()`` of Python's generator, whose sequence for a seed never changes.
    """

    def __init__(self, *seeds: object) -> None:
        digest = hashlib.sha256("\0".join(map(str, seeds)).encode()).digest()
        self._random = random.Random(int.from_bytes(digest))

    def below(self, limit: int) -> int:
        """Return an integer from 0 to ``limit`` - 1."""
        return int(self._random.random() * limit)

    def between(self, least: int, most: int) -> int:
        """Return an integer from ``least`` to ``most``, both included."""
        return least + self.below(most - least + 1)

    def pick(self, things: Sequence[T]) -> T:
        """Return one of ``things``."""
        return things[self.below(len(things))]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """Return ``things`` in random order."""
        return self.some(things, len(things))

    def some(self, things: Sequence[T], count: int) -> list[T]:
        """Return ``count`` different items in random order, or all if there are fewer."""
        left = list(things)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]

    def day(self) -> date:
        """Return a day in the years 2021 to 2026."""
        return _FIRST_DAY + timedelta(self.below(_DAYS))
