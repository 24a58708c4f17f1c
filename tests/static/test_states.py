"""The whole page in its states: accessible at both widths, in light and dark, and by keyboard."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.component import events
from tests.support.component.accessibility import violations
from tests.support.component.events import ended, started, step
from tests.support.component.recorded import recorded
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import ALL, Look, Stage, looks
from tests.support.models.endpoint import Call, Turn
from tests.support.page_states import (
    SCHEMES,
    SIZES,
    bash,
    open_scripted,
    serve_scripted,
    set_appearance,
)
from tests.support.tab import WIDE, StudioTab, open_studio

pytestmark = [pytest.mark.component, pytest.mark.thorough]

COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""The rules of axe-core that depend on the colour scheme."""

REACHABLE = """() => [...document.querySelectorAll(
  'button, a[href], input, textarea, summary, audio, [tabindex="0"]')].filter(element =>
    element.checkVisibility({visibilityProperty: true}) && !element.disabled
    && !element.closest('[inert]') && element.tabIndex >= 0 && element.type !== 'file')"""
UNREACHED = f"""() => ({REACHABLE})().filter(each => !each.dataset.reached).map(each =>
  each.outerHTML.slice(0, 120))"""
FOCUSED = """() => {
  const element = document.activeElement;
  element.dataset.reached = '1';
  return element.getAttribute('aria-label') ?? element.textContent.trim();
}"""


def examples(stage: Stage) -> None:
    stage.mount(*ALL)
    stage.button("Examples").click()
    expect(stage.page.get_by_role("dialog", name="Examples")).to_be_visible()


def draft(stage: Stage) -> None:
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL, run=[])
    report = stage.data / "competition.txt"
    report.write_text("airlines\n" * 900)
    stage.page.get_by_label("Files to attach").set_input_files(report)
    expect(stage.file("competition.txt")).to_be_visible()
    stage.task.fill("Which of the reports names the most airlines?")


def refused(stage: Stage) -> None:
    stage.answer("/page_run", [None, {"text": "Describe a task first."}, None], "POST")
    stage.mount(*ALL)
    stage.button("Run").click()
    expect(stage.page.get_by_role("alert")).to_contain_text("Describe a task first")


def running(stage: Stage) -> None:
    first = events.bash("python3 -c 'print(1 + 1)'", "2")
    second = replace(events.bash("sleep 600", "rendering chart …\nslow disk"), is_running=True)
    reasoning = "First I count, then I draw; the counting decides the scale."
    steps = [*step(1, first, reasoning=reasoning, text="I **count** first."), *step(2, second)]
    stage.mount(*ALL, run=[started("Chart the length of the day"), *steps])
    expect(stage.timeline.get_by_label("Output").last).to_contain_text("slow disk")


def submitted(stage: Stage) -> None:
    answers = recorded("files_run")
    stage.answer_recorded(answers)
    stage.run.add_recorded(answers)
    stage.mount(*ALL, run=[])
    expect(stage.timeline.get_by_role("region", name="Answer")).to_be_visible()


def failed(stage: Stage) -> None:
    stage.mount(*ALL, run=[started("Chart it"), ended("failed", reason="Wrong API key.")])
    expect(stage.timeline.get_by_role("region", name="Failed")).to_contain_text("key")


@pytest.mark.parametrize(
    "reach", [examples, draft, refused, running, submitted, failed], ids=lambda each: each.__name__
)
def test_a_state_is_accessible(stage: Stage, reach: Callable[[Stage], None]) -> None:
    reach(stage)
    for look in looks(["owner"]):
        stage.change_look(look)
        if look.theme == "light" or look.size == WIDE:
            rules = COLOUR_RULES if look.theme == "dark" else None
            assert violations(stage.page, rules) == [], look
        assert stage.page.evaluate("document.documentElement.scrollWidth") <= look.size[0], look


def tab_stops(stage: Stage, limit: int = 80) -> list[str]:
    """The accessible names of the elements that Tab reaches, starting at the page header."""
    stage.page.evaluate(
        "const head = document.querySelector('.app-header'); head.tabIndex = -1; head.focus()"
    )
    names: list[str] = []
    for _ in range(limit):
        stage.page.keyboard.press("Tab")
        if stage.page.evaluate("document.activeElement === document.body"):
            break
        names.append(stage.page.evaluate(FOCUSED))
    return names


def appear_in_order(names: list[str], *expected: str) -> bool:
    found = [next((n for n in names if n.startswith(each)), None) for each in expected]
    positions = [names.index(name) for name in found if name]
    return None not in found and positions == sorted(positions)


@pytest.mark.parametrize("look", looks(["owner"], themes=["light"]), ids=str)
def test_tab_reaches_every_control_in_reading_order(stage: Stage, look: Look) -> None:
    stage.settings = {"base_url": "http://models.test/v1"}
    stage.mount(*ALL, look=look)
    example_buttons = ("Play demonstration:", "Try with my model:")
    expect(stage.page.locator(".welcome .tile")).to_have_count(6)
    names = tab_stops(stage)
    assert appear_in_order(
        names, "Settings", *example_buttons, "Attach files", "Examples", "Run"
    ), names
    assert stage.page.evaluate(UNREACHED) == []
    command = events.bash("echo > output/a.txt; exit 1", "a", exit_code=1)
    stage.mount(*ALL, run=[started("Write"), *step(1, command), ended(answer="Done.")])
    expect(stage.timeline.get_by_label("Output")).to_be_visible()  # the whole step is loaded
    names = tab_stops(stage)
    assert appear_in_order(names, "New run", "Settings", "Link to step 1", "Attach files", "Run"), (
        names
    )
    assert stage.page.evaluate(UNREACHED) == []


# With Gradio and a model


@pytest.mark.browser
@pytest.mark.nightly
def test_the_settings_are_accessible(browser: Browser, studio_url: str) -> None:
    with open_studio(browser, studio_url) as studio:
        studio.button("Settings").click()
        for size in SIZES:
            for scheme in SCHEMES:
                set_appearance(studio, size, scheme)
                assert violations(studio.page) == [], (size, scheme)
                width = studio.page.evaluate("document.documentElement.scrollWidth")
                assert width <= size[0], scheme


def tab_to(studio: StudioTab, expected: Locator) -> None:
    for _ in range(20):
        if expected.evaluate("each => each === document.activeElement"):
            break
        studio.page.keyboard.press("Tab")
    expect(expected).to_be_focused()


@pytest.mark.browser
@pytest.mark.e2e("starts, stops and continues a run and reads a file, by keyboard alone")
def test_a_whole_run_works_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    with (
        serve_scripted(tmp_path) as scripted_studio,
        open_scripted(browser, scripted_studio) as studio,
    ):
        scripted_studio.set_turns(
            bash("echo one; exit 1", text="I look."),
            bash("echo 41 > output/answer.txt; sleep 600"),
            Turn(calls=[Call("execute_bash", {"command": "echo 42 > output/answer.txt"})]),
            Turn(text="42", calls=[Call("submit")]),
        )
        keys = studio.page.keyboard
        expect(studio.task).to_be_focused()
        keys.type("Compute it")
        keys.press("Control+Enter")
        expect(studio.file("answer.txt")).to_be_visible()
        keys.press("Escape")  # leaves the message box
        keys.press("Escape")
        expect(studio.state).to_have_text("stopped")
        keys.press("c")
        expect(studio.task).to_be_focused()
        keys.type("Go on")
        keys.press("Control+Enter")
        expect(studio.state).to_have_text("submitted")

        studio.timeline.get_by_role("link", name="Link to step 1").focus()
        keys.press("Tab")
        studio.file("input").focus()
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            keys.press(key)
        preview = studio.page.get_by_role("group", name="Preview")
        expect(preview).to_contain_text("42")
        tab_to(studio, preview.get_by_role("link", name="Download"))
        tab_to(studio, preview.get_by_role("button", name="Close preview"))
        keys.press("Enter")
        expect(preview).to_be_hidden()
    assert studio.errors == []
