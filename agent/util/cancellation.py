"""The signal that ends a run early."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """A stop signal, set once from any thread; wakes waiters and calls callbacks.

    Attributes:
        reason: A sentence for the user on why; empty if the user pressed Stop.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._after_step = False
        self._set_at = 0.0
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether a stop was requested."""
        return self._event.is_set()

    @property
    def stops_after_step(self) -> bool:
        """Whether no new step may begin."""
        return self._after_step or self.is_set

    def set_after_step(self, reason: str) -> None:
        """Request a stop after the current step.

        Args:
            reason: Why; it is kept if an immediate stop follows.
        """
        self.reason = self.reason or reason
        self._after_step = True

    def set(self) -> None:
        """Request a stop. Further calls do nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._set_at = time.monotonic()
            self._event.set()
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def seconds_since_set(self) -> float:
        """Return the seconds since the stop was requested; 0 if none was."""
        return time.monotonic() - self._set_at if self.is_set else 0.0

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds``; return whether a stop was requested."""
        return self._event.wait(seconds)

    @contextmanager
    def with_timeout(self, seconds: float | None) -> Iterator["Stop"]:
        """Yield a stop that is also set once ``seconds`` have passed inside the block.

        Args:
            seconds: The time limit; None for no limit.
        """
        either = Stop()
        timer = threading.Timer(max(0.0, seconds or 0.0), either.set)
        timer.daemon = True
        if seconds is not None:
            timer.start()
        try:
            with self.on_set(either.set):
                yield either
        finally:
            timer.cancel()

    @contextmanager
    def on_set(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call ``callback`` (once, from the stopping thread) if stopped inside the block.

        If already stopped, call it immediately.
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
