"""A limit on the sandboxes that start at once, first come first served."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from agent.util.stop import Stop
from agent.util.wait import WaitCancelled


class Turns:
    """Lets a number of threads in at once; the others wait in the order in which they came.

    Unlike ``threading.Semaphore``, which a thread that comes later may take first.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def take(self, stop: Stop) -> Iterator[None]:
        """Wait for a turn and hold it for the block. Raises ``WaitCancelled`` after a stop."""
        self._wait(stop)
        try:
            yield
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._free += 1

    @property
    def waiting(self) -> int:
        """Number of threads that wait."""
        return len(self._waiting)

    def _wait(self, stop: Stop) -> None:
        woken = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            self._waiting.append(woken)
        with stop.on_set(woken.set):
            woken.wait()
        with self._lock:
            if woken in self._waiting:
                self._waiting.remove(woken)
                raise WaitCancelled("The wait was cancelled because the run was stopped.")
