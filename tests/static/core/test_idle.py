"""What the application and its page do while nobody asks anything: nothing."""

import asyncio
import gc
import selectors
import warnings
from collections.abc import Iterator

import gradio as gr
import pytest
from playwright.sync_api import Browser

from sandbox_ui.page.gradio_queue import OwnedQueue
from tests.support.server import wait_until
from tests.support.tab import StudioTab


class Counting(selectors.DefaultSelector):
    """Counts how often the event loop turns."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.turns += 1
        return super().select(timeout)


@pytest.fixture
def queue() -> Iterator[OwnedQueue]:
    with warnings.catch_warnings():  # Gradio makes event loops that it never closes
        warnings.simplefilter("ignore", ResourceWarning)
        queue = OwnedQueue.install(gr.Blocks(analytics_enabled=False))
        gc.collect()
    yield queue
    queue.close()


def test_the_queue_sleeps_while_there_is_nothing_to_do(queue: OwnedQueue) -> None:
    counting = Counting()

    async def idle() -> int:
        queue.start()
        await asyncio.sleep(0.2)
        before = counting.turns
        await asyncio.sleep(0.5)
        turns = counting.turns - before
        queue.close()
        return turns

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(counting)) as runner:
        assert runner.run(idle()) < 5


COUNT = """window.frames_asked = 0;
const native = requestAnimationFrame;
window.requestAnimationFrame = (callback) => { window.frames_asked++; return native(callback); };"""


@pytest.mark.browser
def test_a_page_that_nobody_touches_asks_for_no_frames(browser: Browser, studio_url: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(COUNT)
    StudioTab(page).open(studio_url)

    def rests() -> bool:
        asked: int = page.evaluate("frames_asked")
        page.wait_for_timeout(500)
        return bool(asked > 0 and page.evaluate("frames_asked") == asked)

    wait_until(rests)
    context.close()
