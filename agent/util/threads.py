"""A fixed number of executor threads for an event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier


def set_default_thread_pool(loop: asyncio.AbstractEventLoop, name: str, number: int) -> None:
    """Set a thread pool as a loop's default executor and start all of its threads.

    By default a pool starts a thread whenever more calls coincide than before, so that the
    thread count of a long-running application looks like a leak.

    Args:
        loop: The event loop; shutting down its default executor ends the threads.
        name: The prefix of the threads' names.
        number: The number of threads.
    """
    pool, begun = ThreadPoolExecutor(number, name), Barrier(number)
    for _ in range(number):
        pool.submit(begun.wait)
    loop.set_default_executor(pool)
