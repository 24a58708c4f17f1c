"""The one event loop in which requests to endpoints run, in a daemon thread.

Closing a synchronous client from another thread takes seconds to reach a reader that
waits; cancelling a task is immediate. So endpoints are read by tasks, wherever the
caller's thread is.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

from agent import threads

Result = TypeVar("Result")

_LOOKUPS = 8
"""Names of endpoints that are looked up at once: a slow one holds up one thread."""

_starting = threading.Lock()


@cache
def _made() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threads.lend(loop, "endpoints", _LOOKUPS)
    threading.Thread(target=loop.run_forever, name="endpoints", daemon=True).start()
    return loop


def start(task: Coroutine[Any, Any, Result]) -> "concurrent.futures.Future[Result]":
    """Run ``task`` in the background loop; cancelling the future cancels the task."""
    with _starting:
        loop = _made()
    return asyncio.run_coroutine_threadsafe(task, loop)
