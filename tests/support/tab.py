"""A browser tab with the page."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    CDPSession,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    expect,
    sync_playwright,
)

from tests.support.browser import CHROMIUM, FLAGS, LAUNCHER

CONFINEMENT_PROBE = "/frames/confinement/outside"
WIDE, NARROW = (1280, 860), (390, 844)
TIMEOUT_MS = 60_000
"""How long an action or an expected state may take, on a busy machine."""
STORED = "local_storage,indexeddb,service_workers,cache_storage,file_systems"

_released_contexts: WeakKeyDictionary[Browser, dict[str, list[BrowserContext]]] = (
    WeakKeyDictionary()
)
_return_to: WeakKeyDictionary[BrowserContext, list[BrowserContext]] = WeakKeyDictionary()
_cleaners: WeakKeyDictionary[BrowserContext, CDPSession] = WeakKeyDictionary()
"""Each context's session on its first, empty page, which stays open."""


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


def take_context(browser: Browser, **options: Any) -> BrowserContext:
    """Return a context in which nothing is stored, new or released by an earlier test.

    With the scripts in its cache, the page loads in half the time.

    Args:
        browser: The browser.
        **options: The arguments of ``Browser.new_context``.
    """
    by_options = _released_contexts.setdefault(browser, {})
    released = by_options.setdefault(str(sorted(options.items())), [])
    context = released.pop() if released else browser.new_context(**options)
    _return_to[context] = released
    if context not in _cleaners:
        _cleaners[context] = context.new_cdp_session(context.new_page())
    context.set_default_timeout(TIMEOUT_MS)
    return context


def release_context(context: BrowserContext) -> None:
    """Close a context's pages but the first; delete what they stored, except the HTTP cache."""
    try:
        _empty_page, *pages = context.pages
        reusable = not any(page.evaluate("'__pwClock' in window") for page in pages)
        urls = [urlsplit(frame.url) for page in pages for frame in page.frames]
        for page in pages:
            page.close()
        context.clear_cookies()
        context.clear_permissions()
        context.unroute_all()
        for origin in {f"{url.scheme}://{url.netloc}" for url in urls if url.netloc}:
            stored = {"origin": origin, "storageTypes": STORED}
            _cleaners[context].send("Storage.clearDataForOrigin", stored)
    except Error:  # such as a closed page
        reusable = False
    if reusable:
        _return_to[context].append(context)
    else:
        context.close()


@contextmanager
def open_studio(browser: Browser, url: str, size: tuple[int, int] = WIDE) -> Iterator["StudioTab"]:
    """Open the page in a new tab; fails if it has reported errors at the end."""
    context = take_context(browser, viewport={"width": size[0], "height": size[1]})
    studio = StudioTab(context.new_page())
    studio.open(url)
    yield studio
    release_context(context)
    assert studio.errors == []


class StudioTab:
    """One tab, and the errors that it reported.

    The error of the request that tests whether the browser confines a framed page is expected.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.location["url"].endswith(CONFINEMENT_PROBE):
            self.errors.append(f"{message.text} {message.location}")

    def open(self, url: str) -> None:
        self.page.goto(url)
        self.task.wait_for()

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
