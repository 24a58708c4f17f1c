"""Handling of Ctrl-C and SIGTERM at a terminal."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from agent.util.cancellation import Stop

_STOPPING = "Stopping. Once more breaks off what is at work."
_CLEANING = "Cleaning up. Once more ends the program at once, and may leave a container behind."


class Interrupts:
    """Signal handler: the first signal stops, the second interrupts, the third kills.

    Args:
        stop: Set by the first signal.
    """

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._count = 0
        self._breakable = False

    @contextmanager
    def breakable(self) -> Iterator[None]:
        """Let a second signal raise ``KeyboardInterrupt`` inside the block.

        Outside it, results are copied and sandboxes removed; only a third signal ends that.
        """
        self._breakable = True
        try:
            yield
        finally:
            self._breakable = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle one signal."""
        del frame
        self._count += 1
        _say(_STOPPING if self._count == 1 else _CLEANING)
        if self._count == 1:
            # In another thread, because the interrupted one may hold the stop's lock.
            threading.Thread(target=self._stop.set, name="interrupt").start()
            return
        signal.signal(number, signal.SIG_DFL)
        if self._breakable:
            self._breakable = False
            raise KeyboardInterrupt


def _say(text: str) -> None:
    """Write a line unbuffered; a signal may arrive while a buffer is in use."""
    with suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), f"{text}\n".encode())


@contextmanager
def interruptible(stop: Stop) -> Iterator[Interrupts]:
    """Let Ctrl-C and SIGTERM stop the work in the block, so that it ends in order."""
    interrupts = Interrupts(stop)
    before = {
        number: signal.signal(number, interrupts.handle)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
