"""First-in, first-out queue for the built-in model."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from agent.util.stop import Stop

_POLL_SECONDS = 0.05


class FairLock:
    """A fair lock: waiting threads acquire it in order of arrival."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()

    def __len__(self) -> int:
        """Return the number of threads that wait for the lock or hold it."""
        return len(self._queue)

    @contextmanager
    def acquire(self, stop: Stop) -> Iterator[bool]:
        """Acquire the lock for the block; yield False if stopped without acquiring it."""
        turn_granted = threading.Event()
        with self._lock:
            self._queue.append(turn_granted)
            self._wake_first()
        try:
            while not turn_granted.wait(_POLL_SECONDS) and not stop.is_set:
                pass
            yield turn_granted.is_set()
        finally:
            with self._lock:
                self._queue.remove(turn_granted)
                self._wake_first()

    def _wake_first(self) -> None:
        if self._queue:
            self._queue[0].set()
