"""The page's header: title, state, theme and settings; the run in the page's URL."""

import pytest
from playwright.sync_api import expect

from agent.capabilities.usage import CapabilityUsage
from agent.events import FileChange
from tests.support.component.events import bash, ended, started, step
from tests.support.component.recorded import recorded
from tests.support.component.stage import ALL, Look, Stage, looks
from tests.support.tab import NARROW

pytestmark = pytest.mark.component

THEME = "document.documentElement.dataset.theme"


@pytest.mark.parametrize("look", looks(sizes=[NARROW]), ids=str)
def test_a_narrow_page_fits_without_horizontal_scrolling(stage: Stage, look: Look) -> None:
    stage.answer("files", recorded("files_run")["GET files"])
    output = bash(f"echo {'x' * 300}", "x" * 300, exit_code=1)
    changes = [FileChange("output/a.txt", "added")]
    task = started("Look " + "w" * 120)
    stage.mount(*ALL, run=[task, *step(1, output, changes=changes), ended()], look=look)
    assert stage.page.evaluate(THEME) == look.theme
    names = {
        "owner": ["Run", "Stop", "Settings", "New run"],
        "user": ["Settings", "New run"],
        "guest": [],
    }[look.role]
    for name in ("Switch theme", *names):
        box = stage.button(name).bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= NARROW[0]
    assert stage.page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    expect(stage.workspace).to_be_visible()
    stage.button("Workspace").click()
    expect(stage.file("output")).to_be_visible()


def test_the_theme_follows_the_system_until_one_is_chosen(stage: Stage) -> None:
    stage.mount("header", look=Look(theme="dark"))
    assert stage.page.evaluate(THEME) == "dark"
    stage.button("Switch theme").click()
    assert stage.page.evaluate(THEME) == "light"
    stage.reload()
    assert stage.page.evaluate(THEME) == "light"


def test_new_run_keeps_the_url_of_the_previous_run(stage: Stage) -> None:
    stage.mount(*ALL)
    stage.send("One")
    first = stage.page.url
    assert first == stage.shown_url
    stage.button("New run").click()
    expect(stage.timeline.locator(".task")).to_have_count(0)
    stage.send("Two")
    assert stage.page.url != first
    stage.mount(*ALL, run=[])
    expect(stage.timeline.locator(".task > p")).to_have_text("One")


def test_an_unknown_run_is_reported_and_the_first_screen_is_shown(stage: Stage) -> None:
    stage.expected_errors = ["/events", "/files"]
    stage.fail("events", 404, "There is no such run.")
    stage.fail("files", 404, "There is no such run.")
    stage.mount(*ALL, run=[], waits=False)
    expect(stage.page.get_by_role("alert")).to_contain_text("There is no such run.")
    expect(stage.page.locator(".welcome")).to_be_visible()


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"network": "none"}, "test-model · no network"),
        ({"network": "listed"}, "test-model · allowed hosts only"),
        ({"mode": "plain"}, "test-model · no sandbox"),
        ({}, "test-model"),
    ],
)
def test_the_header_says_how_the_run_works(
    stage: Stage, options: dict[str, str], shown: str
) -> None:
    stage.mount("header", "timeline", run=[started(**options)])
    expect(stage.page.locator(".pill.model")).to_have_text(shown)


def test_a_demonstration_says_that_its_model_is_scripted(stage: Stage) -> None:
    demonstration = started(model="Demonstration", metered=False)
    stage.mount("header", "timeline", run=[demonstration, *step(1, bash("ls")), ended()])
    expect(stage.page.get_by_text("Demonstration: scripted model, real sandbox")).to_be_visible()
    expect(stage.timeline.get_by_role("group", name="Totals")).to_contain_text("no tokens")


def test_escape_closes_the_settings_and_restores_the_focus(stage: Stage) -> None:
    stage.mount("header")
    stage.button("Settings").click()
    drawer = stage.page.get_by_role("dialog", name="Settings")
    expect(drawer.get_by_label("Endpoint")).to_be_focused()
    stage.page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(stage.button("Settings")).to_be_focused()


def test_a_screen_reader_hears_failures_and_the_end_not_each_state(stage: Stage) -> None:
    stage.mount("header", "timeline", run=[started()])
    said = stage.page.locator(".announcer")
    stage.run.add(*step(1, bash("ls")))
    expect(stage.step(1)).to_contain_text("ls")
    expect(said).to_have_text("")
    stage.run.add(*step(2, bash("no", exit_code=127)))
    expect(said).to_have_text("Step 2: command failed, exit 127.")
    stage.run.add(*step(3, bash("ls")), ended(answer="42 birds"))
    expect(said).to_contain_text("Run submitted.")
    expect(said).to_contain_text("42 birds")
    expect(stage.page.locator(".pill.state")).not_to_have_attribute("role", "status")


def test_forced_colours_keep_what_backgrounds_say(stage: Stage) -> None:
    used = CapabilityUsage(compute="parsed", programs=("python3",), file="observed")
    steps = [*step(1, bash("ls", used=used)), *step(2, bash("no", exit_code=1))]
    stage.page.emulate_media(forced_colors="active")
    try:
        stage.mount(*ALL, run=[started(), *steps, ended(answer="Done.")])
        expect(stage.page.locator(".playback-track > i")).to_have_count(2)
        canvas = stage.page.evaluate("getComputedStyle(document.body).backgroundColor")
        drawn = (
            ".playback-track > i",
            ".run-capabilities i.observed",
            ".step-capabilities i.observed",
            ".pill.state .dot",
        )
        for selector in drawn:
            colour = stage.page.locator(selector).first.evaluate(
                "e => getComputedStyle(e).backgroundColor"
            )
            assert colour != canvas, selector
        edge = stage.page.locator(".step-capabilities i.parsed").first
        assert edge.evaluate("e => parseFloat(getComputedStyle(e).borderTopWidth)") > 0
        divider = stage.page.get_by_role("separator", name="Resize conversation")
        divider.focus()
        stage.page.keyboard.press("ArrowLeft")
        assert divider.evaluate("e => getComputedStyle(e).outlineStyle") != "none"
    finally:
        stage.page.emulate_media(forced_colors="none")
