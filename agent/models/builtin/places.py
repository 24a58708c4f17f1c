"""Who waits for the one model: first come, first served, and nobody once stopped."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from agent.stop import Stop

_LOOK = 0.05


class Places:
    """A lock that is given to those who wait in the order in which they came."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: deque[threading.Event] = deque()

    def __len__(self) -> int:
        """How many are there, whoever has the lock included."""
        return len(self._line)

    @contextmanager
    def place(self, stop: Stop) -> Iterator[bool]:
        """The lock for the block; yields False, without it, where the stop came first."""
        called = threading.Event()
        with self._lock:
            self._line.append(called)
            self._call_first()
        try:
            while not called.wait(_LOOK) and not stop.is_set:
                pass
            yield called.is_set()
        finally:
            with self._lock:
                self._line.remove(called)
                self._call_first()

    def _call_first(self) -> None:
        if self._line:
            self._line[0].set()
