"""Ctrl-C at a terminal."""

import signal
import sys
import threading
import traceback
from types import CodeType

from agent.util.cancellation import Stop
from agent.util.signals import stop_on_signals
from tests.support.server import wait_until


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


def called_by(thread: threading.Thread) -> list[CodeType]:
    """The functions that a thread is in, the innermost first."""
    assert thread.ident is not None
    return [frame.f_code for frame, _ in traceback.walk_stack(sys._current_frames()[thread.ident])]
