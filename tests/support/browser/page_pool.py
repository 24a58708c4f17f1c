"""Browser pages that tests use one after the other: a page that has been loaded loads fast."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary, WeakSet

from playwright.sync_api import Browser, CDPSession, Dialog, Error, Page

TIMEOUT_MS = 60_000
"""How long an action or an expected state may take, on a busy machine."""
STORED = "local_storage,indexeddb,service_workers,cache_storage,file_systems"

_released: WeakKeyDictionary[Browser, dict[str, list[Page]]] = WeakKeyDictionary()
_options: WeakKeyDictionary[Page, dict[str, Any]] = WeakKeyDictionary()
_sessions: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()
_listeners: WeakKeyDictionary[Page, list[tuple[Any, Any]]] = WeakKeyDictionary()
_with_scripts: WeakSet[Page] = WeakSet()


def take_page(browser: Browser, **options: Any) -> Page:
    """Return a page in which nothing is stored, in a context of its own.

    It is a new one, or one that an earlier test released: with the application's scripts in the
    browser's cache and compiled in the page's process, it loads in half the CPU time.

    Args:
        browser: The browser.
        **options: The arguments of ``Browser.new_context``.
    """
    released = _released_with(browser, options)
    page = released.pop() if released else browser.new_context(**options).new_page()
    _options[page] = options
    page.context.set_default_timeout(TIMEOUT_MS)
    return page


def listen(page: Page, event: str, listener: Callable[[Any], object]) -> None:
    """Listen to an event of a page, such as ``request``, until it is released."""
    emitter: Any = page  # whose `on` has an overload for each event's name
    emitter.on(event, listener)
    _listeners.setdefault(page, []).append((event, listener))


def add_init_script(page: Page, script: str) -> None:
    """Run a script before those of each document; no other test gets this page."""
    page.add_init_script(script)
    _with_scripts.add(page)


def release_page(page: Page) -> None:
    """Leave a page for other tests: nothing that it stored is left, except in the HTTP cache."""
    browser = page.context.browser
    assert browser
    try:
        reusable = page not in _with_scripts and not page.evaluate("'__pwClock' in window")
        if reusable:
            _reset(page)
    except Error:  # such as a closed page, or one whose server has ended
        reusable = False
    if reusable:
        _released_with(browser, _options[page]).append(page)
    else:
        page.context.close()


def _released_with(browser: Browser, options: dict[str, Any]) -> list[Page]:
    by_options = _released.setdefault(browser, {})
    return by_options.setdefault(str(sorted(options.items())), [])


def _reset(page: Page) -> None:
    context, options = page.context, _options[page]
    urls = [urlsplit(frame.url) for each in context.pages for frame in each.frames]
    origins = {f"{url.scheme}://{url.netloc}" for url in urls if url.netloc}
    for each in context.pages:
        if each != page:
            each.close()
    for event, listener in _listeners.pop(page, []):
        page.remove_listener(event, listener)
    page.unroute_all()
    context.unroute_all()
    page.evaluate("sessionStorage.clear()")
    page.on("dialog", Dialog.accept)  # asks whether to leave a text that is not saved
    page.goto(f"{page.evaluate('origin')}/healthz")  # of the same origin: its process goes on
    page.remove_listener("dialog", Dialog.accept)
    context.clear_cookies()
    context.clear_permissions()
    if page not in _sessions:
        _sessions[page] = context.new_cdp_session(page)
    for origin in origins:
        stored = {"origin": origin, "storageTypes": STORED}
        _sessions[page].send("Storage.clearDataForOrigin", stored)
    viewport = options.get("viewport")
    if viewport and viewport != page.viewport_size:
        page.set_viewport_size(viewport)
    page.emulate_media(
        media="null",
        color_scheme=options.get("color_scheme", "light"),
        reduced_motion=options.get("reduced_motion", "no-preference"),
    )
