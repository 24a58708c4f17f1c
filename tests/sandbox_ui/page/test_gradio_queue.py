"""The queue of Gradio's events."""

import asyncio
import gc
import selectors
import warnings
from collections.abc import Iterator

import gradio as gr
import pytest

from sandbox_ui.page.gradio_queue import OwnedQueue


class CountingSelector(selectors.DefaultSelector):
    """Counts the iterations of the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self.iterations = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.iterations += 1
        return super().select(timeout)


@pytest.fixture
def queue() -> Iterator[OwnedQueue]:
    with warnings.catch_warnings():  # Gradio makes event loops that it never closes
        warnings.simplefilter("ignore", ResourceWarning)
        queue = OwnedQueue.install(gr.Blocks(analytics_enabled=False))
        gc.collect()
    yield queue
    queue.close()


def test_an_idle_queue_does_not_wake_the_event_loop(queue: OwnedQueue) -> None:
    selector = CountingSelector()

    async def idle() -> int:
        queue.start()
        await asyncio.sleep(0.2)
        before = selector.iterations
        await asyncio.sleep(0.5)
        iterations = selector.iterations - before
        queue.close()
        return iterations

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        assert runner.run(idle()) < 5
