"""Every state of the page: told apart, accessible, at both widths, light and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

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
NAMES = f"""() => ({REACHABLE})().filter(each => !each.dataset.reached).map(each =>
  each.outerHTML.slice(0, 120))"""
FOCUSED = """() => {
  const element = document.activeElement;
  element.dataset.reached = '1';
  return element.getAttribute('aria-label') ?? element.textContent.trim();
}"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedStudio]:
    with serve_scripted(tmp_path_factory.mktemp("data")) as stage:
        yield stage


def findings(page: Page) -> list[str]:
    """What axe-core holds to be serious or critical."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.long
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_a_state_is_reached_and_anyone_can_use_it(
    browser: Browser, stage: ScriptedStudio, state: PageState
) -> None:
    with open_scripted(browser, stage) as studio:
        state.reach(studio, stage)
        for size in SIZES:
            for scheme in SCHEMES:
                set_appearance(studio, size, scheme)
                assert findings(studio.page) == [], (size, scheme)
                wide = studio.page.evaluate("document.documentElement.scrollWidth")
                assert wide <= size[0], scheme
    assert studio.errors == []


def tabbed(studio: StudioTab, most: int = 80) -> list[str]:
    """The names of what Tab reaches, from the head of the page on."""
    studio.page.evaluate(
        "const head = document.querySelector('.app-header'); head.tabIndex = -1; head.focus()"
    )
    names: list[str] = []
    for _ in range(most):
        studio.page.keyboard.press("Tab")
        if studio.page.evaluate("document.activeElement === document.body"):
            break
        names.append(studio.page.evaluate(FOCUSED))
    return names


def in_order(names: list[str], *wanted: str) -> bool:
    found = [next((n for n in names if n.startswith(each)), None) for each in wanted]
    places = [names.index(name) for name in found if name]
    return None not in found and places == sorted(places)


@pytest.mark.parametrize("size", SIZES)
def test_tab_reaches_everything_in_the_order_in_which_it_is_read(
    browser: Browser, stage: ScriptedStudio, size: tuple[int, int]
) -> None:
    with open_scripted(browser, stage) as studio:
        set_appearance(studio, size, "light")
        names = tabbed(studio)
        ways = ("Play demonstration:", "Try with my model:")
        assert in_order(names, "Settings", *ways, "Attach files", "Examples", "Run"), names
        assert studio.page.evaluate(NAMES) == []
        stage.set_turns(bash("echo > output/a.txt; exit 1"), SUBMIT)
        studio.send("Write")
        expect(studio.state).to_have_text("submitted")
        expect(studio.timeline.get_by_role("link", name="Download a.txt")).to_be_visible()
        expect(studio.timeline.get_by_label("Output")).to_be_visible()  # the step came whole
        command = studio.timeline.get_by_label("Command", exact=True)
        expect(command.get_by_role("link", name="output/a.txt")).to_be_visible()
        names = tabbed(studio)
        assert in_order(names, "New run", "Settings", "Link to step 1", "Attach files", "Run"), (
            names
        )
        assert studio.page.evaluate(NAMES) == []


def tab_to(studio: StudioTab, wanted: Locator) -> None:
    for _ in range(20):
        if wanted.evaluate("each => each === document.activeElement"):
            break
        studio.page.keyboard.press("Tab")
    expect(wanted).to_be_focused()


def test_a_whole_run_is_done_without_a_mouse(
    browser: Browser, stage: ScriptedStudio, tmp_path: Path
) -> None:
    with open_scripted(browser, stage) as studio:
        stage.set_turns(
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
