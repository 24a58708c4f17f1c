"""Concurrency limit for slow work; waiting callers occupy no thread."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

Result = TypeVar("Result")


class PerUserLimiter:
    """Concurrency limit, in total and per user, so that no user blocks others."""

    def __init__(self, limit: int, limit_per_user: int) -> None:
        self._total = CapacityLimiter(limit)
        self._limit_per_user = limit_per_user
        self._by_user: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()

    async def run(self, user_id: str, job: Callable[[], Result]) -> Result:
        """Run a job in a thread when a slot is free."""
        async with self._user_limiter(user_id):
            return await run_sync(job, limiter=self._total)

    @asynccontextmanager
    async def slot(self, user_id: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it, for work that needs no thread."""
        async with self._user_limiter(user_id), self._total:
            yield

    def _user_limiter(self, user_id: str) -> CapacityLimiter:
        return self._by_user.setdefault(user_id, CapacityLimiter(self._limit_per_user))
