"""Every state of the page is accessible, at both widths, in light and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.component.accessibility import violations
from tests.support.models.endpoint import Call, Turn
from tests.support.page_states import (
    SCHEMES,
    SIZES,
    STATES,
    SUBMIT,
    PageState,
    ScriptedStudio,
    bash,
    open_scripted,
    serve_scripted,
    set_appearance,
)
from tests.support.tab import StudioTab

pytestmark = pytest.mark.browser

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


@pytest.fixture(scope="module")
def scripted_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedStudio]:
    with serve_scripted(tmp_path_factory.mktemp("data")) as scripted_studio:
        yield scripted_studio


COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""The rules of axe-core that depend on the colour scheme."""


@pytest.mark.nightly
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_a_state_is_accessible(
    browser: Browser, scripted_studio: ScriptedStudio, state: PageState
) -> None:
    with open_scripted(browser, scripted_studio) as studio:
        state.reach(studio, scripted_studio)
        for size in SIZES:
            for scheme in SCHEMES:
                set_appearance(studio, size, scheme)
                rules = COLOUR_RULES if scheme == "dark" else None
                assert violations(studio.page, rules) == [], (size, scheme)
                width = studio.page.evaluate("document.documentElement.scrollWidth")
                assert width <= size[0], scheme
    assert studio.errors == []


def tab_stops(studio: StudioTab, limit: int = 80) -> list[str]:
    """The accessible names of the elements that Tab reaches, starting at the page header."""
    studio.page.evaluate(
        "const head = document.querySelector('.app-header'); head.tabIndex = -1; head.focus()"
    )
    names: list[str] = []
    for _ in range(limit):
        studio.page.keyboard.press("Tab")
        if studio.page.evaluate("document.activeElement === document.body"):
            break
        names.append(studio.page.evaluate(FOCUSED))
    return names


def appear_in_order(names: list[str], *expected: str) -> bool:
    found = [next((n for n in names if n.startswith(each)), None) for each in expected]
    positions = [names.index(name) for name in found if name]
    return None not in found and positions == sorted(positions)


@pytest.mark.parametrize("size", SIZES)
def test_tab_reaches_every_control_in_reading_order(
    browser: Browser, scripted_studio: ScriptedStudio, size: tuple[int, int]
) -> None:
    with open_scripted(browser, scripted_studio) as studio:
        set_appearance(studio, size, "light")
        names = tab_stops(studio)
        example_buttons = ("Play demonstration:", "Try with my model:")
        assert appear_in_order(
            names, "Settings", *example_buttons, "Attach files", "Examples", "Run"
        ), names
        assert studio.page.evaluate(UNREACHED) == []
        scripted_studio.set_turns(bash("echo > output/a.txt; exit 1"), SUBMIT)
        studio.send("Write")
        expect(studio.state).to_have_text("submitted")
        expect(studio.timeline.get_by_role("link", name="Download a.txt")).to_be_visible()
        expect(studio.timeline.get_by_label("Output")).to_be_visible()  # the whole step is loaded
        command = studio.timeline.get_by_label("Command", exact=True)
        expect(command.get_by_role("link", name="output/a.txt")).to_be_visible()
        names = tab_stops(studio)
        assert appear_in_order(
            names, "New run", "Settings", "Link to step 1", "Attach files", "Run"
        ), names
        assert studio.page.evaluate(UNREACHED) == []


def tab_to(studio: StudioTab, expected: Locator) -> None:
    for _ in range(20):
        if expected.evaluate("each => each === document.activeElement"):
            break
        studio.page.keyboard.press("Tab")
    expect(expected).to_be_focused()


def test_a_whole_run_works_by_keyboard(
    browser: Browser, scripted_studio: ScriptedStudio, tmp_path: Path
) -> None:
    with open_scripted(browser, scripted_studio) as studio:
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
        keys.press("Escape")
        expect(studio.state).to_have_text("stopped")
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
