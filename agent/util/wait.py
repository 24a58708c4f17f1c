"""Wait for calls that may hang, such as to a container engine, until stopped."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar

from agent.errors import SandboxError
from agent.util.cancellation import Stop

T = TypeVar("T")
_POLL_SECONDS = 0.05


class WaitCancelled(SandboxError):
    """The wait ended because of a stop."""


class _BackgroundCall(Generic[T]):
    """A call in its own thread, whose caller may stop waiting for the result."""

    def __init__(self, call: Callable[[], T], on_late_result: Callable[[T], None]) -> None:
        self._call, self._on_late_result = call, on_late_result
        self._lock = threading.Lock()
        self._abandoned = False
        self.done = threading.Event()
        self.results: list[T] = []
        self.error: BaseException | None = None

    def run(self, guard: AbstractContextManager[object]) -> None:
        with guard:
            try:
                result = self._call()
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                self.error = error
            else:
                with self._lock:
                    self.results.append(result)
                    abandoned = self._abandoned
                if abandoned:
                    self._on_late_result(result)
        self.done.set()

    def abandon(self) -> bool:
        """Pass a later result to ``on_late_result``; return False if the result exists already."""
        with self._lock:
            self._abandoned = not self.results
            return self._abandoned


def run_cancellable(
    call: Callable[[], T],
    stop: Stop,
    *,
    on_late_result: Callable[[T], None] = lambda _: None,
    guard: AbstractContextManager[object] | None = None,
    grace_seconds: float = 0.0,
) -> T:
    """Run ``call`` in its own thread and return its result or raise its exception.

    Args:
        call: A call that may take long.
        stop: Ends the wait.
        on_late_result: Handles, in that thread, a result that arrives after the wait has ended.
        guard: A context manager entered around ``call`` and ``on_late_result``.
        grace_seconds: Seconds to continue waiting after the stop.

    Raises:
        WaitCancelled: The stop came first.
    """
    work = _BackgroundCall(call, on_late_result)
    thread = threading.Thread(
        target=work.run, args=(guard or nullcontext(),), name="waited for", daemon=True
    )
    thread.start()
    while not work.done.wait(_POLL_SECONDS):
        if stop.is_set and stop.seconds_since_set() >= grace_seconds and work.abandon():
            raise WaitCancelled("The wait was cancelled because the run was stopped.")
    if work.error is not None:
        raise work.error
    return work.results[0]
