"""Ctrl-C at a terminal."""

import ctypes
import signal
import subprocess
import sys
import threading
import traceback
from types import CodeType

import pytest

from agent.util.signals import restored_handler, stop_on_signals
from agent.util.stop import Stop
from tests.support.server import wait_until
from tests.support.threads import call_at_once

IGNORE = ctypes.c_void_p(1)
"""``SIG_IGN`` in C."""


@pytest.mark.contract
def test_a_signal_that_does_not_wake_the_main_thread_stops_too() -> None:
    stop = Stop()

    def send_signal() -> None:
        wait_until(lambda: Stop.wait.__code__ in called_by(threading.main_thread()))
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    sender = threading.Thread(target=send_signal)
    with stop_on_signals(stop):
        sender.start()
        assert stop.wait(30)
    sender.join()


INTERRUPTED = """
import atexit, signal
from agent.util.signals import interrupt_once
atexit.register(signal.raise_signal, signal.SIGINT)
interrupt_once()
try:
    signal.raise_signal(signal.SIGTERM)
except KeyboardInterrupt:
    print("Stopped.")
"""


@pytest.mark.contract
def test_only_the_first_signal_interrupts() -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "Stopped.\n")
    assert ended.stderr.startswith("Cleaning up. ")
    assert "Exception ignored" not in ended.stderr


def test_a_handler_that_a_library_replaces_in_another_thread_is_restored() -> None:
    received = list[int]()
    before = signal.signal(signal.SIGUSR1, lambda number, _: received.append(number))

    def replace() -> None:
        with restored_handler(signal.SIGUSR1):
            ctypes.CDLL(None).signal(signal.SIGUSR1, IGNORE)

    try:
        call_at_once(replace)
        signal.raise_signal(signal.SIGUSR1)
        assert received == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def called_by(thread: threading.Thread) -> list[CodeType]:
    """The functions that a thread is in, the innermost first."""
    assert thread.ident is not None
    return [frame.f_code for frame, _ in traceback.walk_stack(sys._current_frames()[thread.ident])]
