"""The page in Firefox and in WebKit: its main paths, and where they differ from Chromium."""

import io
import wave
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.report.budget import Budget
from agent.report.report import save_report
from agent.runs.folder import RunFolder
from agent.settings import Settings
from tests.agent.report.recorded import Recorder
from tests.sandbox_ui.preview.samples import FILES
from tests.support.browser.controlled import BROWSERS, MOUNTED, ControlledPage, Open, shown
from tests.support.browser.firefox import open_in_firefox
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


@contextmanager
def opened_studio(
    folder: Path, open_browser: Open, turns: Sequence[Turn] = ()
) -> Iterator[ControlledPage]:
    """Serve a studio whose model gives these answers, and open it in a browser."""
    with Endpoint(turns) as endpoint:
        connected: dict[str, Any] = {"base_url": endpoint.url, "model": "m"} if turns else {}
        with (
            serve_studio(folder / "data", builtin=False, **connected) as url,
            open_browser(folder / "profile") as page,
        ):
            page.goto(url)
            page.wait_for(MOUNTED)
            yield page


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
        page.wait_for(MOUNTED)
        page.type("#task textarea", "Think")
        page.click("#run")
        text = "document.querySelector('.reasoning-text')"
        page.wait_for(f"{text}?.checkVisibility({{ contentVisibilityAuto: true }})")
        assert page.evaluate(f"{text}.closest('.batch').offsetHeight >= {text}.offsetHeight")


each_browser = pytest.mark.parametrize("open_browser", BROWSERS.values(), ids=BROWSERS)


@each_browser
def test_a_run_streams_is_played_and_presented(tmp_path: Path, open_browser: Open) -> None:
    given = tmp_path / "given.txt"
    given.write_text("Terns winter here.")
    turns = [
        bash("cat input/given.txt; echo 42 > output/answer.txt", text="I **read** it."),
        bash("echo '<h1>Terns</h1>' > output/page.html", text="I write a page."),
        SUBMIT,
    ]
    with opened_studio(tmp_path, open_browser, turns) as page:
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


@each_browser
def test_the_first_demonstration_ends_in_its_page(tmp_path: Path, open_browser: Open) -> None:
    with opened_studio(tmp_path, open_browser) as page:
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
        page.resize(1280, 720)
        one_line = (
            "(each) => each.offsetHeight < 1.8 * parseFloat(getComputedStyle(each).lineHeight)"
        )
        page.wait_for(f"({one_line})(document.querySelector('#task textarea'))")
        page.evaluate("document.querySelector('[aria-keyshortcuts=p]').click()")
        page.wait_for("document.documentElement.dataset.stage === 'end'")
        low = "document.elementFromPoint(innerWidth / 2, 0.88 * innerHeight)"
        page.wait_for(f"{low}?.closest('.pages .frame') !== null")  # it fills the stage


@each_browser
def test_chosen_files_are_previewed(tmp_path: Path, open_browser: Open) -> None:
    Image.new("RGB", (40, 30), "teal").save(tmp_path / "a.png")
    (tmp_path / "b.pdf").write_bytes(PDF)
    with wave.open(str(tmp_path / "c.wav"), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(b"\0\x20" * 8000)
    (tmp_path / "d.ipynb").write_text(NOTEBOOK)
    (tmp_path / "e.html").write_text("<h1>Terns</h1>")
    (tmp_path / "f.opus").write_bytes((FILES / "tone.opus").read_bytes())
    (tmp_path / "g.webm").write_bytes((FILES / "film.webm").read_bytes())
    shown_when = {
        "a.png": "document.querySelector('.preview .canvas img')?.naturalWidth === 40",
        "b.pdf": "document.querySelector('.preview .pdf .page img')?.naturalWidth > 0",
        "c.wav": "document.querySelector('.preview audio')?.duration === 1",
        "d.ipynb": shown(".preview .notebook strong"),
        "e.html": shown(".preview .frames .message button"),  # asks whether scripts may run
        "f.opus": "document.querySelector('.preview .time')?.textContent === '0:00 / 0:02'",
        "g.webm": "document.querySelector('.preview video')?.readyState >= 2",
    }
    with opened_studio(tmp_path, open_browser) as page:
        for name, condition in shown_when.items():
            page.choose_file(".attachments input[type=file]", tmp_path / name)
            open_file(page, name)
            page.wait_for(condition)
        open_file(page, "e.html")
        page.wait_for(shown(".preview .frames .message button"))
        page.evaluate("document.querySelector('.preview .frames .message button').click()")
        page.wait_for(shown(".preview .frames iframe"))


def open_file(page: ControlledPage, name: str) -> None:
    """Open a file of the tree once it is there."""
    rows = "[...document.querySelectorAll('.tree [role=treeitem]')]"
    row = f"{rows}.find((each) => each.textContent.includes({name!r}))"
    page.wait_for(f"Boolean({row})")
    page.evaluate(f"{row}.click()")


DROP = """(() => {
  const data = new DataTransfer();
  data.items.add(new File(["Terns winter here."], "notes.txt"));
  const event = { dataTransfer: data, bubbles: true, cancelable: true };
  for (const kind of ["dragover", "drop"])
    document.querySelector(".app-header").dispatchEvent(new DragEvent(kind, event));
})()"""


@each_browser
def test_a_dropped_file_is_edited_and_saved(tmp_path: Path, open_browser: Open) -> None:
    with opened_studio(tmp_path, open_browser) as page:
        page.evaluate(DROP)
        open_file(page, "notes.txt")
        page.wait_for(shown(".preview .tools .edit"))
        page.evaluate("document.querySelector('.preview .tools .edit').click()")
        page.wait_for(shown(".editor .cm-content"))
        page.type(".editor .cm-content", "Some ")
        page.wait_for("document.querySelector('.unsaved').textContent === 'Unsaved changes'")
        page.click(".preview .tools .save")
        page.wait_for("document.querySelector('.unsaved').textContent === 'Saved'")
        run = page.evaluate("new URLSearchParams(location.search).get('run')")
        saved = (
            RunFolder.open(tmp_path / "data", run).workspace / "input" / "notes.txt"
        ).read_text()
        assert "Some " in saved
        assert saved.replace("Some ", "") == "Terns winter here."


@each_browser
def test_a_video_is_a_result_and_its_run_is_forked(tmp_path: Path, open_browser: Open) -> None:
    turns = [
        bash(f"cp {FILES}/film.webm output/; echo one > output/a.txt", text="I film."),
        SUBMIT,
        bash("echo two > output/a.txt", text="I write it anew."),
        SUBMIT,
    ]
    with opened_studio(tmp_path, open_browser, turns) as page:
        page.type("#task textarea", "Film the terns")
        page.click("#run")
        page.wait_for(shown(".outputs video"))
        page.wait_for("document.querySelector('.outputs video').readyState >= 2")
        assert is_coloured(page, ".outputs video")

        parent = page.evaluate("location.search")
        page.evaluate("document.querySelector('[aria-label=\"Fork from here, step 1\"]').click()")
        page.wait_for(shown("dialog.fork textarea"))
        page.type("dialog.fork textarea", "Now write")
        page.wait_for("!document.querySelector('dialog.fork .start').disabled")
        page.click("dialog.fork .start")
        page.wait_for("document.querySelector('.thread').textContent.includes('Step 1 is a copy.')")
        page.wait_for("document.querySelector('.thread').textContent.includes('I write it anew.')")
        page.wait_for(shown(".round-end"))
        run = page.evaluate("new URLSearchParams(location.search).get('run')")
        assert run not in parent


@each_browser
def test_a_report_opens_from_the_disk(tmp_path: Path, open_browser: Open) -> None:
    recorder, report = Recorder(tmp_path), tmp_path / "report.html"
    film = (FILES / "film.webm").read_bytes()
    recorder.step("echo one", "one\n", files={"output/a.txt": b"one", "output/b.webm": film})
    recorder.step("echo two", "two\n", files={"output/a.txt": b"two"})
    save_report(recorder.end(), report, Budget())
    with open_browser(tmp_path / "profile") as page:
        page.goto(report.as_uri())
        page.wait_for(shown("#step-2"))
        open_file(page, "a.txt")
        text = "document.querySelector('.preview .lines')?.textContent"
        page.wait_for(f"{text} === 'two'")
        page.evaluate("document.querySelector('.thread').focus()")
        page.press("[", "[")
        page.wait_for("document.querySelector('#step-2').matches('.later')")
        page.wait_for(f"{text} === 'one'")
        open_file(page, "b.webm")
        page.wait_for("document.querySelector('.preview video')?.videoWidth > 0")


def is_coloured(page: ControlledPage, selector: str) -> bool:
    """Return whether an element shows something other than black, white and grey."""
    page.evaluate(f"document.querySelector({selector!r}).scrollIntoView()")
    box = f"document.querySelector({selector!r}).getBoundingClientRect()"
    left, top, right, bottom = page.evaluate(
        f"(({{ left, top, right, bottom }}) => [left, top, right, bottom])({box})"
    )
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        shown_part = picture.convert("HSV").crop((left, top, right, bottom))
    return max(shown_part.getchannel("S").tobytes()) > 100
