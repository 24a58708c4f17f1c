"""Rate limit for attempts, against guessing."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_MAX_KEYS = 10_000


class AttemptLimiter:
    """Counts attempts by key: ``burst`` of them, then one every ``seconds``."""

    def __init__(
        self, burst: int, seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst_seconds = burst * seconds
        self._seconds = seconds
        self._now = now
        self._next_free: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def register_attempt(self, key: str) -> float:
        """Count an attempt of ``key`` unless it must wait; return the seconds to wait, or 0."""
        with self._lock:
            now = self._now()
            next_free = max(self._next_free.pop(key, 0.0), now - self._burst_seconds)
            wait = next_free + self._seconds - now
            self._next_free[key] = next_free if wait > 0 else next_free + self._seconds
            while len(self._next_free) > _MAX_KEYS:
                self._next_free.popitem(last=False)
            return max(0.0, wait)

    def refund(self, key: str) -> None:
        """Uncount a successful attempt of ``key``."""
        with self._lock:
            if key in self._next_free:
                self._next_free[key] -= self._seconds
