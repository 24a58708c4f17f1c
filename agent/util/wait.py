"""Wait for calls that may hang, such as to a container engine, until stopped."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TypeVar

from agent.errors import SandboxError
from agent.util.stop import Stop

T = TypeVar("T")
_SIGNAL_SECONDS = 1.0
"""After how long a signal is noticed that came just before the main thread began to wait."""


class WaitCancelled(SandboxError):
    """The wait ended because of a stop."""


def run_cancellable(
    call: Callable[[], T],
    stop: Stop,
    *,
    on_late_result: Callable[[T], None] = lambda _: None,
    guard: AbstractContextManager[object] | None = None,
    grace_seconds: float = 0.0,
) -> T:
    """Run ``call`` in its own thread and return its result or raise its exception.

    ``stop`` ends the wait with ``WaitCancelled``, ``grace_seconds`` later; ``on_late_result`` gets,
    in that thread, a result that arrives after that. ``guard`` is entered around both.
    """
    future: Future[T] = Future()

    def work() -> None:
        with guard or nullcontext():
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                with suppress(InvalidStateError):
                    future.set_exception(error)
                return
            try:
                future.set_result(result)
            except InvalidStateError:  # the wait has ended
                on_late_result(result)

    threading.Thread(target=work, name="waited for", daemon=True).start()
    woken = threading.Event()
    future.add_done_callback(lambda _: woken.set())
    with stop.on_set(woken.set):
        while not woken.wait(_SIGNAL_SECONDS):
            continue
    if not future.done():
        wait([future], grace_seconds - stop.seconds_since_set())
        if future.cancel():
            raise WaitCancelled("The wait was cancelled because the run was stopped.")
    return future.result()
