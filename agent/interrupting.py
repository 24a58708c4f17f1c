"""Ctrl-C and TERM at a terminal."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from agent.stop import Stop


@contextmanager
def interruptible(stop: Stop) -> Iterator[None]:
    """Ctrl-C and TERM stop what is at work, so that it ends in order; a second one the program."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.SIG_DFL)
        # Not from here: the thread that is interrupted may hold the stop's lock.
        threading.Thread(target=stop.set, name="interrupt").start()

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
