"""The page in Firefox and in WebKit: its main paths, and where they differ from Chromium."""

import wave
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
from PIL import Image
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.settings import Settings
from tests.support.browser.firefox import control_firefox, open_in_firefox
from tests.support.browser.webkit import open_webkit
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.turns import SUBMIT, bash
from tests.support.server import create_app, run_server, serve_studio, wait_until

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]


PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 90 90]/Contents 4 0 R>>endobj
4 0 obj<</Length 18>>stream
9 9 50 50 re f
endstream
endobj
trailer<</Root 1 0 R>>
"""
NOTEBOOK = (
    '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "markdown",'
    ' "id": "a", "metadata": {}, "source": "**Terns** in a notebook"}]}'
)


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


class ControlledPage(Protocol):
    """A page in a browser that WebDriver controls."""

    def goto(self, url: str) -> None: ...
    def evaluate(self, expression: str) -> Any: ...
    def wait_for(self, expression: str) -> None: ...
    def type(self, selector: str, text: str) -> None: ...
    def press(self, *keys: str) -> None: ...
    def click(self, selector: str) -> None: ...
    def choose_file(self, selector: str, path: Path) -> None: ...


Open = Callable[[Path], AbstractContextManager[ControlledPage]]


@contextmanager
def _webkit(_profile: Path) -> Iterator[ControlledPage]:
    with open_webkit() as page:
        yield page


BROWSERS = pytest.mark.parametrize(
    "open_browser", [control_firefox, _webkit], ids=["firefox", "webkit"]
)
MOUNTED = "'mounted' in document.documentElement.dataset"
SHOWN = "[...document.querySelectorAll({selector!r})].some((each) => each.checkVisibility())"


def shown(selector: str) -> str:
    """Return the expression for: an element of a selector is visible."""
    return SHOWN.format(selector=selector)


@BROWSERS
def test_a_run_streams_is_played_and_presented(tmp_path: Path, open_browser: Open) -> None:
    given = tmp_path / "given.txt"
    given.write_text("Terns winter here.")
    turns = [
        bash("cat input/given.txt; echo 42 > output/answer.txt", text="I **read** it."),
        bash("echo '<h1>Terns</h1>' > output/page.html", text="I write a page."),
        SUBMIT,
    ]
    with (
        Endpoint(turns) as endpoint,
        serve_studio(tmp_path / "data", base_url=endpoint.url, model="m", builtin=False) as url,
        open_browser(tmp_path / "profile") as page,
    ):
        page.goto(url)
        page.wait_for(MOUNTED)
        page.wait_for("document.querySelectorAll('.welcome .tile').length === 6")
        assert page.evaluate("performance.getEntriesByType('navigation').length") == 1
        page.choose_file(".attachments input[type=file]", given)
        page.wait_for("document.querySelector('.tree').textContent.includes('given')")
        page.type("#task textarea", "Count the terns")
        page.click("#run")
        page.wait_for(shown(".round-end .answer"))
        assert page.evaluate("document.querySelector('.round-end .answer').textContent") == "42"
        page.wait_for(shown("#step-1 .step-text strong"))
        page.wait_for(shown(".outputs .pages"))

        # Played, at a speed at which each step is seen.
        page.click(".time-bar .main")
        page.wait_for("document.documentElement.dataset.playback === 'playing'")
        page.wait_for("!('playback' in document.documentElement.dataset)")
        page.wait_for(shown(".round-end .answer"))

        page.evaluate("document.activeElement.blur()")
        page.press("p")
        page.wait_for("document.documentElement.dataset.stage === 'end'")
        page.press("b")
        page.wait_for("'blank' in document.documentElement.dataset")
        page.press("b")
        page.evaluate("document.querySelector('.end-presentation').click()")
        page.wait_for(shown("#composer"))


@BROWSERS
def test_the_first_demonstration_ends_in_its_page(tmp_path: Path, open_browser: Open) -> None:
    with (
        serve_studio(tmp_path / "data", builtin=False) as url,
        open_browser(tmp_path / "profile") as page,
    ):
        page.goto(url)
        page.wait_for(MOUNTED)
        page.wait_for(shown(".recorded button"))
        page.click(".recorded button")
        page.wait_for("document.documentElement.dataset.playback === 'playing'")
        page.evaluate("document.querySelector('.time-bar .main').click()")
        page.evaluate("document.querySelector('.moment button').click()")
        page.wait_for(shown(".outputs .pages iframe"))
        warning = "document.querySelector('.outputs').textContent.includes('cannot keep')"
        assert not page.evaluate(warning)
        assert page.evaluate("document.querySelector('.outputs iframe').sandbox.value") in (
            "", "allow-scripts",
        )  # fmt: skip


@BROWSERS
def test_chosen_files_are_previewed(tmp_path: Path, open_browser: Open) -> None:
    Image.new("RGB", (40, 30), "teal").save(tmp_path / "a.png")
    (tmp_path / "b.pdf").write_bytes(PDF)
    with wave.open(str(tmp_path / "c.wav"), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(b"\0\x20" * 8000)
    (tmp_path / "d.ipynb").write_text(NOTEBOOK)
    (tmp_path / "e.html").write_text("<h1>Terns</h1>")
    shown_when = {
        "a.png": "document.querySelector('.preview .canvas img')?.naturalWidth === 40",
        "b.pdf": "document.querySelector('.preview .pdf .page img')?.naturalWidth > 0",
        "c.wav": "document.querySelector('.preview audio')?.duration === 1",
        "d.ipynb": shown(".preview .notebook strong"),
        "e.html": shown(".preview .frames .message button"),  # asks whether scripts may run
    }
    with (
        serve_studio(tmp_path / "data", builtin=False) as url,
        open_browser(tmp_path / "profile") as page,
    ):
        page.goto(url)
        page.wait_for(MOUNTED)
        rows = "[...document.querySelectorAll('.tree [role=treeitem]')]"
        for name, condition in shown_when.items():
            row = f"{rows}.find((each) => each.textContent.includes({name!r}))"
            page.choose_file(".attachments input[type=file]", tmp_path / name)
            page.wait_for(f"Boolean({row})")
            page.evaluate(f"{row}.click()")
            page.wait_for(condition)
        page.evaluate("document.querySelector('.preview .frames .message button').click()")
        page.wait_for(shown(".preview .frames iframe"))
