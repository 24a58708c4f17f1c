"""Clocks that a jump of the wall clock does not disturb: for background jobs and for events."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_BOOT_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
"""Linux's monotonic clock that also counts the time in which the machine is suspended."""

_STARTED_AT = time.time() - time.monotonic()
_TICK_NS = 20_000_000  # of the times of files


def steady_time() -> float:
    """Return seconds since the epoch: the start time plus the monotonic time since."""
    return _STARTED_AT + time.monotonic()


def now() -> float:
    """Return the lesser of wall and steady clock, so that nothing looks older than it is."""
    return min(time.time(), steady_time())


def is_settled(file_time: int) -> bool:
    """Return whether a file's time, in ns, is so old that any later change gets another one."""
    return time.time_ns() - file_time > _TICK_NS


class EventClock:
    """Thread-safe clock of events, in epoch seconds, monotonic while any round is in progress."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rounds = 0
        self._offset = 0.0

    def time(self) -> float:
        """Return the seconds since the epoch."""
        with self._lock:
            return self._offset + _monotonic() if self._rounds else time.time()

    @contextmanager
    def round(self) -> Iterator[None]:
        """Keep the clock monotonic during the block."""
        with self._lock:
            if not self._rounds:
                self._offset = time.time() - _monotonic()
            self._rounds += 1
        try:
            yield
        finally:
            with self._lock:
                self._rounds -= 1


EVENTS = EventClock()
"""The clock of this process's events."""


def _monotonic() -> float:
    return time.monotonic() if _BOOT_CLOCK is None else time.clock_gettime(_BOOT_CLOCK)
