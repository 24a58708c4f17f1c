"""The threads of an event loop: as many from the beginning as ever."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier


def lend(loop: asyncio.AbstractEventLoop, name: str, number: int) -> None:
    """Give a loop its own threads for what would hold it up, and begin all of them.

    Left to itself a pool makes another one whenever more calls coincide than ever before, so
    that nobody could tell a long-served application from one that leaks.

    Args:
        loop: Whose default executor they become; what ends it ends them.
        name: What they are called.
        number: How many there are.
    """
    pool, begun = ThreadPoolExecutor(number, name), Barrier(number)
    for _ in range(number):
        pool.submit(begun.wait)
    loop.set_default_executor(pool)
