"""Handling of Ctrl-C and SIGTERM at a terminal."""

import ctypes
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from agent.util.stop import Stop

_libc = ctypes.CDLL(None, use_errno=True)
_SIGACTION_BYTES = 512  # more than any C library's ``struct sigaction``
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STOPPING_MESSAGE = "Stopping. Press Ctrl-C again to abort the active runs."
_CLEANUP_MESSAGE = (
    "Cleaning up. Press Ctrl-C again to exit now, which may leave a container behind."
)


class SignalHandler:
    """Signal handler: the first signal stops, the second interrupts, the third kills."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._count = 0
        self._interrupt_allowed = False

    @contextmanager
    def allow_interrupt(self) -> Iterator[None]:
        """Let a second signal raise ``KeyboardInterrupt`` in the block, not in the cleanup."""
        self._interrupt_allowed = True
        try:
            yield
        finally:
            self._interrupt_allowed = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle one signal in the main thread; the first one is handled by ``watch``."""
        del frame
        self._count += 1
        if self._count == 1:
            return
        _write_stderr(_CLEANUP_MESSAGE)
        signal.signal(number, signal.SIG_DFL)
        if self._interrupt_allowed:
            self._interrupt_allowed = False
            raise KeyboardInterrupt

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Stop at the first signal inside the block, from a thread of its own.

        The main thread may hold the stop's lock. And it misses a signal that comes just before it
        begins to wait for a lock: Python calls its handlers only when the wait ends.
        """
        reader, writer = socket.socketpair()
        thread = threading.Thread(target=self._stop_at_signal, args=(reader,), name="interrupt")
        with reader, writer:
            writer.setblocking(False)
            before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
            thread.start()
            try:
                yield
            finally:
                signal.set_wakeup_fd(before)
                writer.shutdown(socket.SHUT_WR)
                thread.join()

    def _stop_at_signal(self, reader: socket.socket) -> None:
        while received := reader.recv(1):
            if received[0] in _SIGNALS:
                _write_stderr(_STOPPING_MESSAGE)
                self._stop.set()
                return


def _write_stderr(text: str) -> None:
    """Write a line unbuffered; a signal may arrive while a buffer is in use."""
    with suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), f"{text}\n".encode())


@contextmanager
def stop_on_signals(stop: Stop) -> Iterator[SignalHandler]:
    """Let Ctrl-C and SIGTERM stop the work in the block, so that it ends in order."""
    interrupts = SignalHandler(stop)
    with interrupts.watch():
        before = {number: signal.signal(number, interrupts.handle) for number in _SIGNALS}
        try:
            yield interrupts
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def interrupt_once() -> None:
    """Let the first Ctrl-C or SIGTERM raise ``KeyboardInterrupt``, the third end the process."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        _handle_with(clean_up)
        raise KeyboardInterrupt

    def clean_up(_number: int, _frame: FrameType | None) -> None:  # the second interrupts nothing
        _handle_with(signal.SIG_DFL)
        _write_stderr(_CLEANUP_MESSAGE)

    _handle_with(interrupt)


def _handle_with(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in _SIGNALS:
        signal.signal(number, handler)


@contextmanager
def restored_handler(number: signal.Signals) -> Iterator[None]:
    """Restore a signal's handler after the block; works in any thread."""
    handler = ctypes.create_string_buffer(_SIGACTION_BYTES)
    _sigaction(number, None, handler)
    try:
        yield
    finally:
        _sigaction(number, handler, None)


def _sigaction(number: int, new: object, old: object) -> None:
    if _libc.sigaction(number, new, old) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
