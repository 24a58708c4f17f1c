"""Random numbers that are reproducible across machines and Python versions."""

import hashlib
import random
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypeVar

T = TypeVar("T")

_FIRST_DAY = date(2021, 1, 1)
_DAYS = 2_000


class Rng:
    """Random generator determined by ``seeds``: ``random()``'s sequence never changes in Python."""

    def __init__(self, *seeds: object) -> None:
        digest = hashlib.sha256("\0".join(map(str, seeds)).encode()).digest()
        self._random = random.Random(int.from_bytes(digest))

    def randbelow(self, limit: int) -> int:
        """Return an integer from 0 to ``limit`` - 1."""
        return int(self._random.random() * limit)

    def randint(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + self.randbelow(high - low + 1)

    def choice(self, items: Sequence[T]) -> T:
        """Return one of ``items``."""
        return items[self.randbelow(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return ``items`` in random order."""
        return self.sample(items, len(items))

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Return ``count`` different items in random order, or all if there are fewer."""
        remaining = list(items)
        return [
            remaining.pop(self.randbelow(len(remaining))) for _ in range(min(count, len(remaining)))
        ]

    def random_date(self) -> date:
        """Return a day in the years 2021 to 2026."""
        return _FIRST_DAY + timedelta(self.randbelow(_DAYS))
