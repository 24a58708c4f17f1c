"""A summary of older steps in the browser: the setting, the line, its text and the steps."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from agent.settings import Settings
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, ScriptedTurns, Turn
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab, open_studio

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)> The rows 1 to 1,200 were counted; rows.txt has them."
SUMMARY = Turn(text=HOSTILE, usage=(4000, 30))
SUBMIT = Turn(text="All rows were counted.", calls=[Call("submit")], usage=(2000, 10))


def count_from(number: int, prompt_tokens: int) -> Turn:
    command = {"command": f"echo start {number}; seq {number} {number + 400}"}
    text = f"I count the rows from {number}."
    return Turn(text=text, calls=[Call("execute_bash", command)], usage=(prompt_tokens, 20))


STEPS = [count_from(1000 * n, 700 * n) for n in range(1, 5)] + [count_from(5000, 4200)]


@pytest.fixture(scope="module")
def script() -> ScriptedTurns:
    return ScriptedTurns()


@pytest.fixture(scope="module")
def studio_url(data: Path, script: ScriptedTurns) -> Iterator[str]:
    with Endpoint(script) as endpoint:
        settings = Settings(
            data=data, base_url=endpoint.url, model="test-model", conversation_tokens=5000
        )
        with run_server(create_app(settings, LocalSandboxProvider(data))) as studio_url:
            yield studio_url


Play = Callable[..., StudioTab]


@pytest.fixture
def play(browser: Browser, studio_url: str, script: ScriptedTurns) -> Iterator[Play]:
    """Send a task whose run takes the given turns, with the setting on."""
    with ExitStack() as opened:

        def play(*turns: Turn, size: tuple[int, int] = WIDE, dark: bool = False) -> StudioTab:
            script.turns = list(turns)
            studio = opened.enter_context(open_studio(browser, studio_url, size))
            studio.page.emulate_media(color_scheme="dark" if dark else "light")
            studio.button("Settings").click()
            setting = studio.page.get_by_label("Summarise older steps near the context limit")
            expect(setting).not_to_be_checked()
            setting.check()
            studio.page.keyboard.press("Escape")
            studio.send("Count all rows.")
            return studio

        yield play


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True)])
def test_the_summary_opens_and_leads_to_the_steps(
    play: Play, size: tuple[int, int], dark: bool, tmp_path: Path
) -> None:
    studio = play(*STEPS, SUMMARY, SUBMIT, size=size, dark=dark)
    expect(studio.state).to_have_text("submitted")
    summary = studio.page.locator("#step-6 .context-summary")
    line = summary.locator("summary")
    expect(line).to_contain_text("Steps 1 to 3 were summarised for the model · ≈")
    expect(summary.locator(".text")).to_be_hidden()
    line.click()
    expect(summary.locator(".text")).to_contain_text(HOSTILE)  # as text
    expect(summary.get_by_role("link")).to_have_count(3)
    expect(summary).to_contain_text("The request for it: 4,000 in")
    line.scroll_into_view_if_needed()
    studio.page.screenshot(path=tmp_path / "summary.png")
    assert Axe().run(studio.page, "#step-6").response["violations"] == []
    summary.get_by_role("link", name="Step 2").click()
    expect(studio.page).to_have_url(re.compile("#step-2$"))
    step = studio.page.locator("#step-2")
    expect(step).to_be_in_viewport()
    step.locator(".card > summary").first.click()
    expect(step.get_by_label("Output")).to_contain_text("start 2000")


def test_a_reloaded_page_shows_the_summary(play: Play) -> None:
    studio = play(*STEPS, SUMMARY, SUBMIT)
    expect(studio.state).to_have_text("submitted")
    studio.page.reload()
    summary = studio.page.locator("#step-6 .context-summary")
    summary.locator("summary").click()
    expect(summary.locator(".text")).to_contain_text("rows.txt has them")


def test_a_failed_summary_says_why_and_what_happens_instead(play: Play) -> None:
    studio = play(*STEPS, Turn(text="Half of", finish="length"), SUBMIT)
    expect(studio.state).to_have_text("submitted")
    step = studio.page.locator("#step-6")
    expect(step.locator(".remark.warn")).to_have_text(
        "Steps 1 to 3 could not be summarised for the model: it was cut off at the token limit of "
        "an answer."
    )
    expect(step).to_contain_text("older outputs removed from the conversation")


def test_stop_ends_a_summary_in_progress(play: Play) -> None:
    gate = threading.Event()
    studio = play(*STEPS, replace(SUMMARY, gate=gate), SUBMIT)
    expect(studio.timeline.locator(".status")).to_contain_text("summarising older steps")
    remark = studio.page.locator("#step-6 .remark")
    expect(remark).to_have_text(re.compile("^The model summarises steps 1 to 3"))
    studio.button("Stop").click()
    expect(studio.state).to_have_text("stopped")
    gate.set()
    expect(remark).to_contain_text("could not be summarised for the model: the run was stopped.")


def test_the_request_for_a_summary_is_recorded(play: Play) -> None:
    studio = play(*STEPS, SUMMARY, SUBMIT)
    expect(studio.state).to_have_text("submitted")
    run = studio.page.url.partition("run=")[2].partition("#")[0]
    origin = studio.page.url.partition("?")[0].rstrip("/")
    url = f"{origin}/api/runs/{run}/steps/6/request"
    first = studio.page.request.get(f"{url}?attempt=1").json()
    assert first["fidelity"] == "exact"
    assert "asks for a summary of older steps" in first["note"]
    assert "asks for a summary" not in studio.page.request.get(url).json()["note"]
