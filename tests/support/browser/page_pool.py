"""A pool of browser pages: a page that an earlier test has loaded loads faster."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, Dialog, Error, Page

TIMEOUT_MS = 60_000
"""How long an action or an expected state may take, on a busy machine."""
STORED = "local_storage,indexeddb,service_workers,cache_storage,file_systems"


@dataclass
class _Use:
    """The options of a page's context, its listeners, and whether it runs a test's scripts."""

    options: dict[str, Any]
    listeners: list[tuple[Any, Any]] = field(default_factory=list)
    has_scripts: bool = False


_released: WeakKeyDictionary[Browser, dict[str, list[Page]]] = WeakKeyDictionary()
_uses: WeakKeyDictionary[Page, _Use] = WeakKeyDictionary()


def take_page(browser: Browser, **options: Any) -> Page:
    """Return a page in which nothing is stored, in a context with these options.

    It may be one that an earlier test released, in which the application loads with less CPU: its
    scripts are in the browser's cache and have been compiled by the page's process.
    """
    released = _released_with(browser, options)
    page = released.pop() if released else browser.new_context(**options).new_page()
    _uses[page] = _Use(options)
    page.context.set_default_timeout(TIMEOUT_MS)
    return page


def listen(page: Page, event: str, listener: Callable[[Any], object]) -> None:
    """Listen to an event of a page, such as ``request``, until it is released."""
    emitter: Any = page  # whose `on` has an overload for each event's name
    emitter.on(event, listener)
    if use := _uses.get(page):
        use.listeners.append((event, listener))


def add_init_script(page: Page, script: str) -> None:
    """Run a script before those of each document; no other test gets this page."""
    page.add_init_script(script)
    _uses[page].has_scripts = True


def release_page(page: Page) -> None:
    """Return a page to the pool; what it stored is deleted, except in the HTTP cache."""
    browser, use = page.context.browser, _uses[page]
    assert browser
    try:
        reusable = not use.has_scripts and not page.evaluate("'__pwClock' in window")
        if reusable:
            _reset(page, use)
    except Error:  # such as a closed page, or one whose server has ended
        reusable = False
    if reusable:
        _released_with(browser, use.options).append(page)
    else:
        page.context.close()


def _released_with(browser: Browser, options: dict[str, Any]) -> list[Page]:
    by_options = _released.setdefault(browser, {})
    return by_options.setdefault(str(sorted(options.items())), [])


def _reset(page: Page, use: _Use) -> None:
    context, options = page.context, use.options
    urls = [urlsplit(frame.url) for each in context.pages for frame in each.frames]
    origins = {f"{url.scheme}://{url.netloc}" for url in urls if url.netloc}
    for each in context.pages:
        if each != page:
            each.close()
    for event, listener in use.listeners:
        page.remove_listener(event, listener)
    page.unroute_all()
    context.unroute_all()
    page.evaluate("sessionStorage.clear()")
    page.on("dialog", Dialog.accept)  # asks whether to leave a text that is not saved
    page.goto(f"{page.evaluate('origin')}/healthz")  # of the same origin: its process goes on
    page.remove_listener("dialog", Dialog.accept)
    context.clear_cookies()
    context.clear_permissions()
    session = context.new_cdp_session(page)
    for origin in origins:
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": STORED})
    session.detach()
    viewport = options.get("viewport")
    if viewport and viewport != page.viewport_size:
        page.set_viewport_size(viewport)
    page.emulate_media(
        media="null",
        color_scheme=options.get("color_scheme", "light"),
        reduced_motion=options.get("reduced_motion", "no-preference"),
    )
