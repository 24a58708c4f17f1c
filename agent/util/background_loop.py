"""An event loop in a daemon thread, which runs all requests to endpoints.

Closing a synchronous client from another thread takes seconds to interrupt a blocked read;
cancelling a task is immediate. Therefore tasks read from endpoints, whatever the caller's
thread.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

from agent.util import threads

Result = TypeVar("Result")

_MAX_DNS_LOOKUPS = 8
"""Maximum simultaneous DNS lookups of endpoints; a slow one blocks one thread."""

_start_lock = threading.Lock()


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threads.set_default_thread_pool(loop, "endpoints", _MAX_DNS_LOOKUPS)
    threading.Thread(target=loop.run_forever, name="endpoints", daemon=True).start()
    return loop


def submit(coroutine: Coroutine[Any, Any, Result]) -> "concurrent.futures.Future[Result]":
    """Run ``coroutine`` in the background loop; cancelling the future cancels the task."""
    with _start_lock:
        loop = _event_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, loop)
