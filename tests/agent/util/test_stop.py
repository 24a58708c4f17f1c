"""A stop and its time limit."""

import threading

import pytest

from agent.util.stop import Stop


@pytest.mark.parametrize("seconds", [0.01, -1], ids=["soon", "passed"])
def test_a_time_limit_sets_the_stop_in_the_block_only_and_a_stop_both(seconds: float) -> None:
    outer = Stop()
    with outer.with_timeout(seconds) as inner:
        assert inner.wait(10)
    assert not outer.is_set
    with outer.with_timeout(60) as inner:
        outer.set()
        assert inner.is_set


def test_a_short_time_limit_ends_before_a_long_one_that_began_earlier() -> None:
    with Stop().with_timeout(60) as long, Stop().with_timeout(0.01) as short:
        assert short.wait(10)
        assert not long.is_set


def test_a_callback_that_blocks_delays_no_other_time_limit() -> None:
    release = threading.Event()

    def block() -> None:
        release.wait(10)

    with Stop().with_timeout(0.01) as blocked, blocked.on_set(block):
        assert blocked.wait(10)
        with Stop().with_timeout(0.01) as other:
            assert other.wait(5)
        release.set()


def test_time_limits_share_one_thread() -> None:
    with Stop().with_timeout(60), Stop().with_timeout(59), Stop().with_timeout(61):
        assert sum(thread.name == "alarms" for thread in threading.enumerate()) == 1
