"""A browser tab with the page."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    TimeoutError,
    expect,
    sync_playwright,
)

from tests.support.browser import CHROMIUM, FLAGS

CONFINEMENT_PROBE = "/frames/confinement/outside"
WIDE, NARROW = (1280, 860), (390, 844)


@contextmanager
def launch_chromium() -> Iterator[Browser]:
    """Run Chromium; skips the test if it is not installed."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def open_studio(browser: Browser, url: str, size: tuple[int, int] = WIDE) -> Iterator["StudioTab"]:
    """Open the page in a new tab; fails if it has reported errors at the end."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    studio = StudioTab(context.new_page())
    studio.open(url)
    yield studio
    context.close()
    assert studio.errors == []


class StudioTab:
    """One tab, and the errors that it reported.

    A browser drops its connections when the machine's networks change, as they do when other tests
    start and stop containers; such errors are ignored. So is the error of the request that tests
    whether the browser confines a framed page, which is expected to fail.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self._network_changed = False
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))

    def _on_console(self, message: ConsoleMessage) -> None:
        if "ERR_NETWORK_CHANGED" in message.text:
            self._network_changed = True
        elif message.type == "error" and not message.location["url"].endswith(CONFINEMENT_PROBE):
            self.errors.append(f"{message.text} {message.location}")

    def open(self, url: str) -> None:
        for last_attempt in (False, False, True):
            self._network_changed = False
            try:
                self.page.goto(url)
                self.task.wait_for()
                break
            except TimeoutError:  # the page was loaded only partly
                if last_attempt or not self._network_changed:
                    raise
        if self._network_changed:
            self.errors.clear()

    def reload(self) -> None:
        """Reload the page, again if the machine's networks changed meanwhile."""
        while True:
            try:
                self.page.reload()
            except Error as error:
                if "ERR_NETWORK_CHANGED" not in error.message:
                    raise
            else:
                return

    @property
    def task(self) -> Locator:
        return self.page.get_by_role("textbox", name="Task", exact=True)

    @property
    def timeline(self) -> Locator:
        return self.page.get_by_role("region", name="Timeline")

    @property
    def workspace(self) -> Locator:
        return self.page.get_by_role("region", name="Workspace")

    @property
    def state(self) -> Locator:
        return self.page.locator(".pill.state")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def file(self, name: str) -> Locator:
        return self.workspace.get_by_role("treeitem", name=name, exact=True)

    def send(self, text: str) -> None:
        self.task.fill(text)
        self.button("Run").click()
        expect(self.timeline.locator(".task").last).to_contain_text(text)
