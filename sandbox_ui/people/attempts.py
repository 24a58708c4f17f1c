"""How often somebody may try, so that nothing can be guessed."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_KNOWN = 10_000


class Attempts:
    """Counts tries by key: some at once, then one after each pause.

    Args:
        at_once: Tries before one must wait.
        seconds: After which another one is free.
        now: Seconds of a clock that never goes back.
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
        """Count a try of ``key``; the seconds until it may be made, 0 for at once.

        A try that must wait is not counted. The keys longest unheard of are forgotten.
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
        """Do not count a try of ``key`` that was right."""
        with self._lock:
            if key in self._free:
                self._free[key] -= self._seconds
