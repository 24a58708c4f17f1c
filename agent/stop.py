"""The one signal that ends a run early, and those who wait for it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """Set once, from any thread; wakes whoever waits and calls whoever asked to be called.

    Attributes:
        reason: Why, where it was not a person who pressed Stop; a sentence for a person.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._soon = False
        self._at = 0.0
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether a stop was asked for."""
        return self._event.is_set()

    @property
    def is_near(self) -> bool:
        """Whether nothing more is to be begun."""
        return self._soon or self.is_set

    def after_step(self, reason: str) -> None:
        """Ask for a stop once the step that is under way has ended.

        Args:
            reason: Why; it stays where a stop at once follows.
        """
        self.reason = self.reason or reason
        self._soon = True

    def set(self) -> None:
        """Ask for a stop. Further calls do nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._at = time.monotonic()
            self._event.set()
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def seconds_ago(self) -> float:
        """How long ago a stop was asked for; 0 where none was."""
        return time.monotonic() - self._at if self.is_set else 0.0

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
