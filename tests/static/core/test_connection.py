"""The page when its server is unreachable: it reports it, keeps typed text and reconnects."""

import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, Request, expect

from agent.sandbox.engine.client import Client
from tests.faults.app_process import start_app
from tests.support.browser.chromium import CHROMIUM, FLAGS
from tests.support.browser.chromium_launcher import HEADLESS_SHELL
from tests.support.browser.page_pool import TIMEOUT_MS, release_page, take_page
from tests.support.component.stage import Look, Stage
from tests.support.tab import NARROW, WIDE, StudioTab
from tests.support.threads import repeated

pytestmark = pytest.mark.component


def test_a_lost_server_is_reported_at_once_and_typed_text_is_kept(stage: Stage) -> None:
    stage.expected_errors = [stage.url]  # each request that is dropped
    stage.mount("header", "timeline", "attachments", "notice")
    stage.task.fill("Keep this")
    with stage.lose_server():
        expect(stage.state).to_have_text("Connection lost, reconnecting")
        expect(stage.page.locator("#hint")).to_contain_text("Connection lost")
        stage.change_look(Look(size=NARROW))
        expect(stage.state).to_be_visible()
        expect(stage.page.locator("#hint")).to_be_visible()
        stage.task.press("Control+Enter")
        expect(stage.page.get_by_role("alert")).to_contain_text("Not sent")
        expect(stage.task).to_have_value("Keep this")
    expect(stage.state).to_be_hidden()
    expect(stage.task).to_have_value("Keep this")
    assert stage.sent == []
    stage.task.press("Control+Enter")
    expect(stage.timeline.locator(".task")).to_contain_text("Keep this")
    expect(stage.task).to_have_value("")


@pytest.mark.browser
@pytest.mark.nightly
def test_typed_text_is_kept_when_the_lost_server_is_first_noticed_on_send(
    browser: Browser, tmp_path: Path
) -> None:
    with start_app(tmp_path / "data", {"STUDIO_BUILTIN": "off"}) as app:
        studio = StudioTab(take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]}))
        studio.open(app.studio_url)
        studio.task.fill("Keep this")
        app.kill()
        # Gradio reloads the page when the server is lost during a call.
        studio.page.evaluate("document.querySelector('#run').click()")
        app.start()
        expect(studio.state).to_be_hidden()
        expect(studio.task).to_have_value("Keep this")
        release_page(studio.page)


@pytest.mark.browser
@pytest.mark.nightly
@pytest.mark.engine
def test_the_browser_of_the_tests_loads_the_page_while_networks_change(
    browser: Browser, engine: Client, studio_url: str
) -> None:
    page = browser.new_page()
    failures: list[str] = []
    page.on("requestfailed", lambda request: failures.append(str(request.failure)))
    with repeated(lambda: engine.networks.create(f"test-{uuid.uuid4().hex}").remove()):
        for _ in range(5):
            page.goto(studio_url)
            StudioTab(page).task.wait_for()
    page.close()
    # Leaving a page aborts its requests.
    assert set(failures) <= {"net::ERR_ABORTED"}


@pytest.mark.browser
@pytest.mark.nightly
@pytest.mark.engine
def test_the_page_loads_by_itself_in_a_browser_that_drops_its_requests(
    browser: Browser, engine: Client, studio_url: str
) -> None:
    """Chromium sees the networks change here: each change ends all of its requests."""
    program = HEADLESS_SHELL if Path(HEADLESS_SHELL).exists() else CHROMIUM
    seeing = browser.browser_type.launch(executable_path=program, args=FLAGS)
    dropped: list[Request] = []
    with repeated(lambda: engine.networks.create(f"test-{uuid.uuid4().hex}").remove()):
        for _ in range(20):
            page = seeing.new_context().new_page()  # with an empty cache
            page.on("requestfailed", lambda request: dropped.append(request))
            assert load_counting_documents(page, studio_url) <= 6
            page.context.close()
    seeing.close()
    assert {each.resource_type for each in dropped} & {"script", "stylesheet"}


def load_counting_documents(page: Page, url: str) -> int:
    """Open a page until it is shown; returns how often the document was asked for.

    Chromium repeats a dropped request for the document, but its shell shows an error instead.
    """
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    shown = page.locator("html[data-mounted]")
    end = time.monotonic() + TIMEOUT_MS / 1000
    while not shown.count():
        assert time.monotonic() < end, page.content()
        if page.url.startswith(("about:", "chrome-error:")):
            with suppress(Error):
                page.goto(url, wait_until="commit")
        page.wait_for_timeout(50)
    expect(StudioTab(page).task).to_be_visible()
    return asked.count(f"{url}/")


def test_a_page_of_an_earlier_test_contains_nothing_stored(browser: Browser, stage: Stage) -> None:
    stored = "[localStorage.length, sessionStorage.length, document.cookie]"
    page = take_page(browser, viewport=None)
    page.goto(f"{stage.url}ui/icon.svg")
    page.evaluate("localStorage.a = sessionStorage.a = document.cookie = 'a=1'")
    assert page.evaluate(stored) == [1, 1, "a=1"]
    release_page(page)
    assert take_page(browser, viewport=None) is page
    page.goto(f"{stage.url}ui/icon.svg")
    assert page.evaluate(stored) == [0, 0, ""]
    release_page(page)
