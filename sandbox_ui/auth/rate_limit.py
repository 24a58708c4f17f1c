"""Rate limit for attempts, against guessing."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_KNOWN = 10_000


class Attempts:
    """Counts attempts by key: a burst, then one after each interval.

    Args:
        at_once: Attempts in a burst.
        seconds: Interval after which another attempt is free.
        now: Monotonic clock in seconds.
    """

    def __init__(
        self, at_once: int, seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst = at_once * seconds
        self._seconds = seconds
        self._now = now
        self._free: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Count an attempt of ``key``; return the seconds to wait, 0 if allowed.

        An attempt that must wait is not counted. The least recently used keys are forgotten.
        """
        with self._lock:
            now = self._now()
            taken = max(self._free.pop(key, 0.0), now - self._burst)
            late = taken + self._seconds - now
            self._free[key] = taken if late > 0 else taken + self._seconds
            while len(self._free) > _KNOWN:
                self._free.popitem(last=False)
            return max(0.0, late)

    def give_back(self, key: str) -> None:
        """Uncount a successful attempt of ``key``."""
        with self._lock:
            if key in self._free:
                self._free[key] -= self._seconds
