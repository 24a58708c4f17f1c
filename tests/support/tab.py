"""A browser tab with the page."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

from tests.support.browser.chromium import CHROMIUM, FLAGS, LAUNCHER
from tests.support.browser.page_pool import TIMEOUT_MS, listen, release_page, take_page

CONFINEMENT_PROBE = "/frames/confinement/outside"
WIDE, NARROW = (1280, 860), (390, 844)


@contextmanager
def launch_chromium() -> Iterator[Browser]:
    """Run Chromium; skips the test if it is not installed."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=LAUNCHER, args=FLAGS)
        expect.set_options(timeout=TIMEOUT_MS)
        yield browser
        browser.close()


@contextmanager
def open_studio(
    browser: Browser, url: str, size: tuple[int, int] = WIDE, excused: str | None = None
) -> Iterator["StudioTab"]:
    """Open the page in a new tab; fails if it has reported errors at the end, but the excused."""
    studio = StudioTab(take_page(browser, viewport={"width": size[0], "height": size[1]}))
    studio.open(url)
    yield studio
    release_page(studio.page)
    errors = [each for each in studio.errors if not excused or excused not in each]
    assert errors == [], "\n".join(errors)


def row_name(name: str) -> re.Pattern[str]:
    """The accessible name of a file's row, which also says its size and its last change."""
    return re.compile(rf"^{re.escape(name)}(, |$)")


class StudioPage:
    """The parts of the page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.task = page.get_by_role("textbox", name="Task", exact=True)
        self.timeline = page.get_by_role("region", name="Timeline")
        self.workspace = page.get_by_role("region", name="Workspace")
        self.state = page.locator(".pill.state")  # in the header

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def file(self, name: str) -> Locator:
        return self.workspace.get_by_role("treeitem", name=row_name(name))


class StudioTab(StudioPage):
    """One tab, and the errors that it reported.

    The error of the request that tests whether the browser confines a framed page is expected.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.errors: list[str] = []
        listen(page, "console", self._on_console)
        listen(page, "pageerror", lambda error: self.errors.append(str(error)))
        listen(page, "dialog", lambda dialog: self.errors.append(dialog.message))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.location["url"].endswith(CONFINEMENT_PROBE):
            self.errors.append(f"{message.text} {message.location}")

    def open(self, url: str) -> None:
        self.page.goto(url)
        self.task.wait_for()

    def send(self, text: str) -> None:
        self.task.fill(text)
        self.button("Run").click()
        expect(self.timeline.locator(".task").last).to_contain_text(text)
