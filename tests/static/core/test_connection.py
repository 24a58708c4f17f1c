"""The page when its server is unreachable: it reports it, keeps typed text and reconnects."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.faults.app_process import AppProcess, start_app
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


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def studio(
    browser: Browser, app: AppProcess, request: pytest.FixtureRequest
) -> Iterator[StudioTab]:
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    studio = StudioTab(context.new_page())
    studio.open(app.studio_url)
    yield studio
    context.close()


def test_a_lost_server_is_reported_at_once_and_typed_text_is_kept(
    studio: StudioTab, app: AppProcess, endpoint: Endpoint
) -> None:
    studio.task.fill("Keep this")
    app.kill()
    expect(studio.state).to_have_text("Connection lost, reconnecting")
    expect(studio.page.locator("#hint")).to_contain_text("Connection lost")

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
