"""Handling of Ctrl-C and SIGTERM at a terminal."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from agent.util.cancellation import Stop

_STOPPING_MESSAGE = "Stopping. Press Ctrl-C again to abort the active runs."
_CLEANUP_MESSAGE = (
    "Cleaning up. Press Ctrl-C again to exit now, which may leave a container behind."
)


class SignalHandler:
    """Signal handler: the first signal stops, the second interrupts, the third kills.

    Args:
        stop: Set by the first signal.
    """

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._count = 0
        self._interrupt_allowed = False

    @contextmanager
    def allow_interrupt(self) -> Iterator[None]:
        """Let a second signal raise ``KeyboardInterrupt`` inside the block.

        Outside it, results are copied and sandboxes removed; only a third signal ends that.
        """
        self._interrupt_allowed = True
        try:
            yield
        finally:
            self._interrupt_allowed = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle one signal."""
        del frame
        self._count += 1
        _write_stderr(_STOPPING_MESSAGE if self._count == 1 else _CLEANUP_MESSAGE)
        if self._count == 1:
            # In another thread, because the interrupted one may hold the stop's lock.
            threading.Thread(target=self._stop.set, name="interrupt").start()
            return
        signal.signal(number, signal.SIG_DFL)
        if self._interrupt_allowed:
            self._interrupt_allowed = False
            raise KeyboardInterrupt


def _write_stderr(text: str) -> None:
    """Write a line unbuffered; a signal may arrive while a buffer is in use."""
    with suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), f"{text}\n".encode())


@contextmanager
def stop_on_signals(stop: Stop) -> Iterator[SignalHandler]:
    """Let Ctrl-C and SIGTERM stop the work in the block, so that it ends in order."""
    interrupts = SignalHandler(stop)
    before = {
        number: signal.signal(number, interrupts.handle)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
