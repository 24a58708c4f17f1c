"""Waiting for what may hang, such as a container engine, and no longer once a stop has come."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar

from agent.errors import SandboxError
from agent.stop import Stop

T = TypeVar("T")
_LOOK = 0.05


class GivenUp(SandboxError):
    """It was not waited for any longer, since a stop had come."""


class _Work(Generic[T]):
    """A call in a thread of its own, until its result is taken or nobody wants it."""

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
            except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
                self.error = error
            else:
                with self._lock:
                    self.results.append(result)
                    left = self._left
                if left:
                    self._late(result)
        self.done.set()

    def leave(self) -> bool:
        """Let ``late`` have the result; False where it is there already."""
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
    """What ``call`` returns or raises; it is made in a thread of its own.

    Args:
        call: What may take long.
        stop: Who is stopped does not wait any longer.
        late: What is done, in that thread, with a result that nobody waits for any more.
        guard: Entered around the call and what is done with a late result.
        grace: Seconds after the stop in which it is still waited for.

    Raises:
        GivenUp: the stop came first.
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
