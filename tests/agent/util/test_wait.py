"""Calls that may hang are waited for until they end or a stop comes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import pytest

from agent.util.stop import Stop
from agent.util.wait import WaitCancelled, run_cancellable


def test_the_result_or_the_error_of_the_call_is_passed_on() -> None:
    assert run_cancellable(lambda: 7, Stop()) == 7
    with pytest.raises(ZeroDivisionError):
        run_cancellable(lambda: 1 // 0, Stop())


@pytest.mark.parametrize("grace", [0.0, 0.05])
def test_a_stop_ends_the_wait_and_a_late_result_is_handled(grace: float) -> None:
    stop, release, late = Stop(), threading.Event(), SimpleQueue[str]()

    def call() -> str:
        stop.set()
        release.wait()
        return "late"

    with pytest.raises(WaitCancelled):
        run_cancellable(call, stop, on_late_result=late.put, grace_seconds=grace)
    assert late.empty()
    release.set()
    assert late.get(timeout=60) == "late"


def test_after_a_stop_a_call_has_its_grace_to_end() -> None:
    stop = Stop()

    def call() -> str:
        stop.set()
        return "in time"

    assert run_cancellable(call, stop, grace_seconds=60) == "in time"


def test_a_wait_that_begins_stopped_ends_at_once() -> None:
    stop, release = Stop(), threading.Event()
    stop.set()
    with pytest.raises(WaitCancelled):
        run_cancellable(release.wait, stop)
    release.set()


def test_a_waiting_thread_is_woken_by_the_result_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.util.wait._SIGNAL_SECONDS", 3600.0)
    release = threading.Event()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(run_cancellable, lambda: "done" * release.wait(), Stop())
        release.set()
        assert waiting.result(60) == "done"
