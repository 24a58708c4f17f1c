"""The idle application and the idle page do no work."""

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


COUNT = """window.frame_count = 0;
const native = requestAnimationFrame;
window.requestAnimationFrame = (callback) => { window.frame_count++; return native(callback); };"""


@pytest.mark.browser
def test_an_idle_page_requests_no_animation_frames(browser: Browser, studio_url: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(COUNT)
    StudioTab(page).open(studio_url)

    def requests_no_frames() -> bool:
        requested: int = page.evaluate("frame_count")
        page.wait_for_timeout(500)
        return bool(requested > 0 and page.evaluate("frame_count") == requested)

    wait_until(requests_no_frames)
    context.close()
