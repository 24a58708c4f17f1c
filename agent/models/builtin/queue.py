"""First-in, first-out queue for the built-in model."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from agent.util.cancellation import Stop

_LOOK = 0.05


class Places:
    """A fair lock: waiting threads acquire it in order of arrival."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: deque[threading.Event] = deque()

    def __len__(self) -> int:
        """Return the number of threads that wait for the lock or hold it."""
        return len(self._line)

    @contextmanager
    def place(self, stop: Stop) -> Iterator[bool]:
        """Acquire the lock for the block; yield False if stopped without acquiring it."""
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
