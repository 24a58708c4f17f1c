"""The one signal that ends a run early, and those who wait for it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """Set once, from any thread; wakes whoever waits and calls whoever asked to be called."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether a stop was asked for."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask for a stop. Further calls do nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds``; return whether a stop was asked for."""
        return self._event.wait(seconds)

    @contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call ``callback`` (once, from the stopping thread) if a stop comes inside the block.

        A stop that came before the block calls it at once.
        """
        with self._lock:
            already = self._event.is_set()
            if not already:
                self._callbacks.append(callback)
        if already:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)
