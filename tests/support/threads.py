"""Functions that threads run while a test goes on."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def repeated(action: Callable[[], object]) -> Iterator[None]:
    """Call a function again and again during the block."""
    stopping = threading.Event()

    def repeat() -> None:
        while not stopping.is_set():
            action()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def call_at_once(*calls: Callable[[], object]) -> None:
    """Make calls in a thread each; the first error of one is raised."""
    with ThreadPoolExecutor(len(calls)) as pool:
        for done in [pool.submit(call) for call in calls]:
            done.result()
