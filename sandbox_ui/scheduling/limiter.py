"""Concurrency limit for slow work; waiting callers occupy no thread."""

from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

Done = TypeVar("Done")


class Turns:
    """Concurrency limit, in total and per user, so that no user blocks others.

    Args:
        at_once: Concurrent jobs in total.
        each: Concurrent jobs of one user.
    """

    def __init__(self, at_once: int, each: int) -> None:
        self._all = CapacityLimiter(at_once)
        self._each = each
        self._people: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()

    async def take(self, who: str, work: Callable[[], Done]) -> Done:
        """Run a job in a thread when a slot is free.

        Args:
            who: The user's id.
            work: The job.
        """
        own = self._people.setdefault(who, CapacityLimiter(self._each))
        async with own:
            return await run_sync(work, limiter=self._all)
