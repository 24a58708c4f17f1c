"""The default thread pool of an event loop, whose threads start at once."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from agent.util import event_loops

NAME, NUMBER, CALLS = "lent", 3, 40


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop with such a pool, whose threads end with it."""
    loop = asyncio.new_event_loop()
    event_loops.set_default_thread_pool(loop, NAME, NUMBER)
    yield loop
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    assert pool_threads() == []


def pool_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith(NAME)]


def test_all_threads_start_before_the_first_call_and_concurrent_calls_start_no_more(
    loop: asyncio.AbstractEventLoop,
) -> None:
    before = pool_threads()
    assert len(before) == NUMBER

    async def call_concurrently() -> None:
        await asyncio.gather(*(asyncio.to_thread(time.sleep, 0.01) for _ in range(CALLS)))

    loop.run_until_complete(call_concurrently())
    assert pool_threads() == before
