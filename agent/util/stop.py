"""The signal that ends a run early."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext


class _Alarms:
    """Calls functions at given times, from one thread: a thread for each would be slow."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pending: dict[object, tuple[float, Callable[[], None]]] = {}
        self._next = float("inf")
        self._thread: threading.Thread | None = None

    @contextmanager
    def call_after(self, seconds: float, callback: Callable[[], None]) -> Iterator[None]:
        """Call ``callback`` once, from a thread of its own, after ``seconds`` in the block."""
        key, due = object(), time.monotonic() + seconds
        with self._changed:
            self._pending[key] = due, callback
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="alarms", daemon=True)
                self._thread.start()
            if due < self._next:
                self._next = due
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._pending.pop(key, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                left = self._next - time.monotonic()
                if left > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                    continue
                for callback in self._take_due():
                    threading.Thread(target=callback, name="alarm", daemon=True).start()

    def _take_due(self) -> list[Callable[[], None]]:
        now = time.monotonic()
        over = [key for key, (due, _) in self._pending.items() if due <= now]
        callbacks = [self._pending.pop(key)[1] for key in over]
        self._next = min((due for due, _ in self._pending.values()), default=float("inf"))
        return callbacks


_alarms = _Alarms()


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
        self._after_step_callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether a stop was requested."""
        return self._event.is_set()

    @property
    def stops_after_step(self) -> bool:
        """Whether no new step may begin."""
        return self._after_step or self.is_set

    def set_after_step(self, reason: str) -> None:
        """Request a stop after the current step; ``reason`` is kept by an immediate stop."""
        self.reason = self.reason or reason
        with self._lock:
            self._after_step = True
            callbacks = list(self._after_step_callbacks)
        for callback in callbacks:
            callback()

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
        """Yield a stop that is also set once ``seconds`` have passed; None for no limit."""
        either = Stop()
        limit = nullcontext() if seconds is None else _alarms.call_after(seconds, either.set)
        with limit, self.on_set(either.set):
            yield either

    @contextmanager
    def on_set(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call ``callback`` once, from the stopping thread, if stopped inside the block.

        If already stopped, call it immediately.
        """
        with self._registered(self._callbacks, callback, lambda: self.is_set):
            yield

    @contextmanager
    def on_stop_requested(self, callback: Callable[[], None]) -> Iterator[None]:
        """Like ``on_set``, but also call it, then once more, for a stop after the step."""
        after_step = self._registered(
            self._after_step_callbacks, callback, lambda: self.stops_after_step
        )
        with after_step, self.on_set(callback):
            yield

    @contextmanager
    def _registered(
        self,
        callbacks: list[Callable[[], None]],
        callback: Callable[[], None],
        is_due: Callable[[], bool],
    ) -> Iterator[None]:
        with self._lock:
            already = is_due()
            if not already:
                callbacks.append(callback)
        if already:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in callbacks:
                    callbacks.remove(callback)
