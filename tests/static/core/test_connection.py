"""The page when its server is unreachable: it reports it, keeps typed text and reconnects."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest
from playwright.sync_api import Browser, expect

from tests.faults.app_process import AppProcess, start_app
from tests.support.browser.page_pool import release_page, take_page
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = pytest.mark.browser

SUBMIT = Turn(text="Done.", calls=[Call("submit")])


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(lambda _: SUBMIT) as endpoint:
        yield endpoint


@pytest.fixture
def app(tmp_path: Path, endpoint: Endpoint) -> Iterator[AppProcess]:
    model = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_MODEL": "m", "STUDIO_BUILTIN": "off"}
    with start_app(tmp_path / "data", model) as app:
        yield app


@pytest.fixture
def studio(browser: Browser, app: AppProcess) -> Iterator[StudioTab]:
    studio = StudioTab(take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]}))
    studio.open(app.studio_url)
    yield studio
    release_page(studio.page)


def test_a_lost_server_is_reported_at_once_and_typed_text_is_kept(
    studio: StudioTab, app: AppProcess, endpoint: Endpoint
) -> None:
    studio.task.fill("Keep this")
    app.kill()
    expect(studio.state).to_have_text("Connection lost, reconnecting")
    expect(studio.page.locator("#hint")).to_contain_text("Connection lost")
    studio.page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    expect(studio.state).to_be_visible()
    expect(studio.page.locator("#hint")).to_be_visible()

    studio.task.press("Control+Enter")
    expect(studio.page.get_by_role("alert")).to_contain_text("Not sent")
    expect(studio.page.get_by_text("Connection to the server was lost.")).to_have_count(0)
    expect(studio.task).to_have_value("Keep this")

    app.start()
    expect(studio.state).to_be_hidden()
    expect(studio.task).to_have_value("Keep this")
    assert endpoint.requests == []
    studio.task.press("Control+Enter")
    expect(studio.state).to_have_text("submitted")
    expect(studio.task).to_have_value("")


def test_typed_text_is_kept_when_the_lost_server_is_first_noticed_on_send(
    studio: StudioTab, app: AppProcess
) -> None:
    studio.task.fill("Keep this")
    studio.page.evaluate("window.still = true")
    app.kill()
    # Gradio reloads the page when the server is lost during a call.
    studio.page.evaluate("document.querySelector('#run').click()")
    app.start()
    expect(studio.state).to_be_hidden()
    expect(studio.task).to_have_value("Keep this")


@contextmanager
def changing_networks(engine: docker.DockerClient) -> Iterator[None]:
    """Create and remove container networks during the block."""
    ended = threading.Event()

    def change() -> None:
        while not ended.is_set():
            engine.networks.create(f"test-{uuid.uuid4().hex}").remove()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.engine
def test_the_browser_of_the_tests_loads_the_page_while_networks_change(
    browser: Browser, engine: docker.DockerClient, studio_url: str
) -> None:
    page = browser.new_page()
    failures: list[str] = []
    page.on("requestfailed", lambda request: failures.append(str(request.failure)))
    with changing_networks(engine):
        for _ in range(5):
            page.goto(studio_url)
            StudioTab(page).task.wait_for()
    page.close()
    # Leaving a page aborts its requests.
    assert set(failures) <= {"net::ERR_ABORTED"}


def test_a_page_of_an_earlier_test_contains_nothing_stored(
    browser: Browser, studio_url: str
) -> None:
    stored = "[localStorage.length, sessionStorage.length, document.cookie]"
    page = take_page(browser, viewport=None)
    page.goto(f"{studio_url}/healthz")
    page.evaluate("localStorage.a = sessionStorage.a = document.cookie = 'a=1'")
    assert page.evaluate(stored) == [1, 1, "a=1"]
    release_page(page)
    assert take_page(browser, viewport=None) is page
    page.goto(f"{studio_url}/healthz")
    assert page.evaluate(stored) == [0, 0, ""]
    release_page(page)
