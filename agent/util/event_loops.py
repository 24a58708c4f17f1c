"""Event loops: their threads, and one in the background that runs requests to endpoints.

Endpoints are read in tasks, which can be cancelled at once: closing a synchronous client from
another thread takes seconds to interrupt a blocked read.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")

_MAX_DNS_LOOKUPS = 8
"""Maximum simultaneous DNS lookups of endpoints; a slow one blocks one thread."""

_start_lock = threading.Lock()


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    set_default_thread_pool(loop, "endpoints", _MAX_DNS_LOOKUPS)
    threading.Thread(target=loop.run_forever, name="endpoints", daemon=True).start()
    return loop


def submit(coroutine: Coroutine[Any, Any, Result]) -> "Future[Result]":
    """Run ``coroutine`` in the background loop; cancelling the future cancels the task."""
    with _start_lock:
        loop = _event_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def set_default_thread_pool(loop: asyncio.AbstractEventLoop, name: str, number: int) -> None:
    """Set a loop's default thread pool; start all threads: a growing number looks like a leak."""
    pool, begun = ThreadPoolExecutor(number, name), threading.Barrier(number)
    for _ in range(number):
        pool.submit(begun.wait)
    loop.set_default_executor(pool)
