"""The page in Firefox and in WebKit, where they differ from Chromium."""

from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.settings import Settings
from tests.support.browser.firefox import open_in_firefox
from tests.support.browser.webkit import open_webkit
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import create_app, run_server, serve_studio, wait_until

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]


class RequestList:
    """Lists the paths that are asked for."""

    def __init__(self, app: ASGIApp, paths: list[str]) -> None:
        self._app, self._paths = app, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._paths.append(scope["path"])
        await self._app(scope, receive, send)


def test_firefox_loads_the_page_once(tmp_path: Path) -> None:
    data, asked = tmp_path / "data", list[str]()
    app = create_app(Settings(data=data), LocalSandboxProvider(data))
    app.add_middleware(RequestList, paths=asked)
    with run_server(app) as url, open_in_firefox(url, tmp_path):
        wait_until(lambda: "/api/presence" in asked)  # which a page asks for once it is shown
    assert asked.count("/") == 1


def test_webkit_shows_a_step_while_the_model_writes_it(tmp_path: Path) -> None:
    writing = Turn(reasoning="One thing after the other. " * 20, fault="silent")
    with (
        Endpoint([writing]) as endpoint,
        serve_studio(tmp_path, base_url=endpoint.url, model="test-model", builtin=False) as url,
        open_webkit() as page,
    ):
        page.goto(url)
        page.wait_for("'mounted' in document.documentElement.dataset")
        page.type("#task textarea", "Think")
        page.click("#run")
        text = "document.querySelector('.reasoning-text')"
        page.wait_for(f"{text}?.checkVisibility({{ contentVisibilityAuto: true }})")
        assert page.evaluate(f"{text}.closest('.batch').offsetHeight >= {text}.offsetHeight")
