"""The idle page does no work, Gradio's part of it included."""

import pytest
from playwright.sync_api import Browser

from tests.support.server import wait_until
from tests.support.tab import StudioTab

COUNT = """window.frame_count = 0;
const native = requestAnimationFrame;
window.requestAnimationFrame = (callback) => { window.frame_count++; return native(callback); };"""


@pytest.mark.browser
@pytest.mark.nightly
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
