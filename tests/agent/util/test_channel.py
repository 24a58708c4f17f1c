"""The channel: a queue that merges items put shortly after each other."""

import threading

import pytest

from agent.util.channel import Channel
from tests.support.threads import call_at_once


def letter_channel(window: float = 0.025) -> Channel[str]:
    """Create a channel that merges lower-case letters."""
    return Channel(lambda a, b: a.islower() and b.islower(), "".join, window)


def test_pending_items_are_merged_by_kind_in_order() -> None:
    channel = letter_channel()
    for letter in "abCDef":
        channel.put(letter)
    channel.close()
    assert list(channel) == ["ab", "C", "D", "ef"]


def test_the_reader_waits_a_limited_time_for_items_of_the_same_kind() -> None:
    channel = letter_channel(window=0.01)
    channel.put("a")
    items = iter(channel)
    assert next(items) == "a"
    channel.put("b")
    channel.close()
    assert list(items) == ["b"]


def test_another_kind_or_the_end_flushes_immediately() -> None:
    channel = letter_channel(window=3600)
    items = iter(channel)
    channel.put("a")
    channel.put("B")
    assert next(items) == "a"
    assert next(items) == "B"
    channel.put("c")
    channel.close()
    assert list(items) == ["c"]


def test_an_error_comes_after_all_items() -> None:
    channel = letter_channel()
    channel.put("a")
    channel.close(ValueError("broken"))
    items = iter(channel)
    assert next(items) == "a"
    with pytest.raises(ValueError, match="broken"):
        next(items)


def test_abandoning_wakes_the_reader_and_drops_the_rest() -> None:
    channel = letter_channel(window=3600)
    channel.put("a")
    timer = threading.Timer(0.05, channel.abandon)
    timer.start()
    assert list(channel) in ([], ["a"])
    channel.put("b")
    assert list(channel) == []
    timer.join()


def test_nothing_is_lost_between_threads() -> None:
    channel = letter_channel(window=0.001)
    count, read = 20_000, list[int]()

    def write() -> None:
        for _ in range(count):
            channel.put("a")
        channel.close()

    call_at_once(write, lambda: read.append(sum(map(len, channel))))
    assert read == [count]
