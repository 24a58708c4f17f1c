"""Turns: how many threads are in at once, in which order, and what a stop does."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest

from agent.provisioning.factory import Turns
from agent.util.stop import Stop
from agent.util.wait import WaitCancelled
from tests.support.server import wait_until

pytestmark = pytest.mark.contract


class Callers:
    """Threads that ask for a turn one after the other, and leave when they are told to."""

    def __init__(self, count: int) -> None:
        self.turns = Turns(count)
        self.entered: list[int] = []
        self.ends: list[Future[None]] = []
        self._leave: list[threading.Event] = []
        self._threads = ThreadPoolExecutor(20)

    def call(self, stop: Stop) -> None:
        """Ask for a turn in a further thread; return once it is in, or waits."""
        before = len(self.entered) + self.turns.waiting
        self._leave.append(threading.Event())
        self.ends.append(self._threads.submit(self._take, len(self._leave) - 1, stop))
        wait_until(lambda: len(self.entered) + self.turns.waiting > before)

    def has_let_in(self, numbers: list[int]) -> bool:
        return self.entered == numbers

    def leave(self, number: int) -> None:
        """End a thread's turn."""
        self._leave[number].set()
        self.ends[number].result(20)

    def close(self) -> None:
        for each in self._leave:
            each.set()
        self._threads.shutdown()

    def _take(self, number: int, stop: Stop) -> None:
        with self.turns.take(stop):
            self.entered.append(number)
            assert self._leave[number].wait(60)


@pytest.fixture
def callers() -> Iterator[Callers]:
    callers = Callers(2)
    yield callers
    callers.close()


def test_never_more_than_the_count_are_in_and_the_first_come_is_the_next(callers: Callers) -> None:
    for _ in range(6):
        callers.call(Stop())
    assert callers.entered == [0, 1]
    for left, expected in ((1, 2), (0, 3), (3, 4), (2, 5)):
        callers.leave(left)
        wait_until(partial(callers.has_let_in, list(range(expected + 1))))
    assert callers.turns.waiting == 0


def test_a_stopped_thread_leaves_the_queue_and_no_turn_is_lost(callers: Callers) -> None:
    stop = Stop()
    for each in (Stop(), Stop(), stop, Stop()):
        callers.call(each)
    stop.set()
    with pytest.raises(WaitCancelled):
        callers.ends[2].result(20)
    callers.leave(0)
    wait_until(partial(callers.has_let_in, [0, 1, 3]))
    callers.leave(1)
    callers.leave(3)
    callers.call(Stop())
    callers.call(Stop())
    assert callers.entered == [0, 1, 3, 4, 5]
