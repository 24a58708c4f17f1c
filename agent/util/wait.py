"""Wait for calls that may hang, such as to a container engine, until stopped."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar

from agent.errors import SandboxError
from agent.util.cancellation import Stop

T = TypeVar("T")
_LOOK = 0.05


class GivenUp(SandboxError):
    """The wait ended because of a stop."""


class _Work(Generic[T]):
    """A call in its own thread, whose caller may stop waiting for the result."""

    def __init__(self, call: Callable[[], T], late: Callable[[T], None]) -> None:
        self._call, self._late = call, late
        self._lock = threading.Lock()
        self._left = False
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
                    left = self._left
                if left:
                    self._late(result)
        self.done.set()

    def leave(self) -> bool:
        """Pass a future result to ``late``; return False if the result already exists."""
        with self._lock:
            self._left = not self.results
            return self._left


def beside(
    call: Callable[[], T],
    stop: Stop,
    *,
    late: Callable[[T], None] = lambda _: None,
    guard: AbstractContextManager[object] | None = None,
    grace: float = 0.0,
) -> T:
    """Run ``call`` in its own thread and return its result or raise its exception.

    Args:
        call: A call that may take long.
        stop: Ends the wait.
        late: Handles, in that thread, a result that arrives after the wait has ended.
        guard: A context manager entered around ``call`` and ``late``.
        grace: Seconds to continue waiting after the stop.

    Raises:
        GivenUp: The stop came first.
    """
    work = _Work(call, late)
    thread = threading.Thread(
        target=work.run, args=(guard or nullcontext(),), name="waited for", daemon=True
    )
    thread.start()
    while not work.done.wait(_LOOK):
        if stop.is_set and stop.seconds_ago() >= grace and work.leave():
            raise GivenUp("It was not waited for, since the run was stopped.")
    if work.error is not None:
        raise work.error
    return work.results[0]
