"""A run on stage: the step in play beside what it made, the keys, the end, on every projector."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Route, expect

from tests.support.component.accessibility import check_accessible
from tests.support.component.events import SUBMIT, bash, ended, started, step, step_end
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import ALL, Look, Stage, looks
from tests.support.tab import NARROW

pytestmark = pytest.mark.component

PROJECTORS = ((1280, 720), (1920, 1080), (2560, 1440))
SMALLEST = """() => Math.min(...[...document.querySelectorAll(
    '.app-header *, .thread *, .preview .header *, .difference .about *, .text .lines *')]
  .filter((each) => [...each.childNodes].some(({nodeType, data}) => nodeType === 3 && data.trim()))
  .filter((each) => each.checkVisibility({opacityProperty: true, visibilityProperty: true}))
  .filter((each) => each.offsetWidth > 1)
  .map((each) => parseFloat(getComputedStyle(each).fontSize) * each.currentCSSZoom))"""
"""The size of the smallest text on stage, in pixels of the screen."""
IN_VIEW = """(step) => {
  const box = step.getBoundingClientRect();
  const thread = document.querySelector('.timeline .thread').getBoundingClientRect();
  const inside = box.top >= thread.top - 1 && box.bottom <= thread.bottom + 1;
  const fills = box.height > thread.height;
  return inside || (fills && box.top < thread.bottom && box.bottom > thread.top);
}"""
AGAIN = """() => new Promise((done) => {
  document.addEventListener('fullscreenchange', done, {once: true});
  for (const key of ['Escape', 'p'])
    document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
})"""
"""Ends a presentation and begins it again before the window has left full screen."""


def show_recording(stage: Stage, title: str = "Map a journey", look: Look | None = None) -> None:
    """Open a recorded run from the first screen, at its end."""
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL, look=look)
    stage.page.locator(".recorded").get_by_role("button", name=title).click()
    stage.button("Pause").click()
    stage.button("Live").click()
    expect(stage.timeline.get_by_role("region", name="Answer")).to_be_visible()


@pytest.fixture(autouse=True)
def _leave(stage: Stage) -> Iterator[None]:
    """Leave full screen at the end, which the page's next test would have, too."""
    yield
    stage.page.wait_for_function(  # it may be entered only now
        "!document.fullscreenElement || document.exitFullscreen().then(() => false)"
    )


def expect_step(stage: Stage, number: int) -> None:
    shown = stage.page.locator(".step.onstage")
    expect(shown).to_have_attribute("data-step", str(number))
    expect(stage.page.locator(".stage-figures")).to_contain_text(f"step {number}")
    stage.wait_until(lambda: bool(shown.evaluate(IN_VIEW)))


def test_a_run_is_presented_step_by_step_beside_what_it_made(stage: Stage) -> None:
    show_recording(stage, look=Look(size=PROJECTORS[0]))
    root, keys = stage.page.locator("html"), stage.page.keyboard
    stage.button("Present").click()
    expect(root).to_have_attribute("data-stage", "end")
    expect(stage.task).to_be_hidden()
    expect(stage.timeline.locator(".round-end .answer")).to_be_in_viewport()
    for number in (6, 5, 4):
        keys.press("PageUp")
        expect_step(stage, number)
    keys.press("ArrowLeft")
    expect_step(stage, 3)
    preview = stage.page.get_by_role("group", name="Preview")
    expect(preview).to_contain_text("track.py")
    expect(preview).to_contain_text("changed by step 3")
    expect(stage.step(2)).to_be_visible()
    expect(stage.step(4)).to_be_hidden()
    height = stage.step(2).evaluate("step => step.getBoundingClientRect().height")
    assert height < 40, "a step that is over is one line"

    keys.press("r")
    expect(stage.timeline).to_be_hidden()
    expect(preview).to_be_visible()
    keys.press("r")
    keys.press("b")
    expect(root).to_have_attribute("data-blank", "")
    keys.press("ArrowRight")  # only brings the picture back
    expect(root).not_to_have_attribute("data-blank", "")
    expect_step(stage, 3)
    keys.press(" ")
    expect(root).to_have_attribute("data-playback", "playing")
    keys.press(" ")
    expect(root).not_to_have_attribute("data-playback", "playing")
    for _ in range(8):
        keys.press("ArrowRight")
    expect(root).to_have_attribute("data-stage", "end")
    keys.press("Escape")
    expect(stage.task).to_be_visible()
    expect(stage.page.locator(".onstage")).to_have_count(0)


@pytest.mark.parametrize(("pressed", "count"), [("p", 1), ("pj", 0)], ids=["p", "another key"])
def test_a_run_that_is_still_being_opened_is_presented_when_it_is_there(
    stage: Stage, pressed: str, count: int
) -> None:
    stage.mount(*ALL, run=[])
    stage.page.evaluate("document.activeElement.blur()")
    for key in pressed:  # another key takes p back
        stage.page.keyboard.press(key)
    presented = stage.page.locator("html[data-presenting]")
    expect(presented).to_have_count(0)
    stage.run.add(started(), *step(1, bash("ls"), text="I look."))
    expect(stage.step(1)).to_contain_text("I look.")
    expect(presented).to_have_count(count)
    if count:
        stage.page.wait_for_function("document.fullscreenElement")


def test_a_recording_begins_on_stage_with_what_it_was_given(stage: Stage) -> None:
    show_recording(stage, look=Look(size=PROJECTORS[0]))
    keys = stage.page.keyboard
    keys.press("p")
    expect(stage.page.locator("html")).to_have_attribute("data-stage", "end")
    for number in (6, 5, 4, 3, 2, 1):
        keys.press("ArrowLeft")
        expect_step(stage, number)
    preview = stage.page.get_by_role("group", name="Preview")
    expect(preview.locator(".header b")).to_have_text("diary.txt")
    expect(preview).to_contain_text("as it was given")
    expect(preview).to_contain_text("Rain until ten")
    expect(preview.get_by_role("button", name="Edit")).to_have_count(0)
    keys.press("ArrowRight")
    expect(preview.locator(".header b")).to_have_text("track.py")


def test_the_last_file_stays_on_stage_until_the_next_one_is_loaded(stage: Stage) -> None:
    show_recording(stage, look=Look(size=PROJECTORS[0]))
    keys, canvas = stage.page.keyboard, stage.page.locator(".preview .canvas")
    keys.press("p")
    expect(stage.page.locator("html")).to_have_attribute("data-stage", "end")
    keys.press("ArrowLeft")
    expect_step(stage, 6)
    expect(canvas).to_contain_text("Measures the finished page")
    box = canvas.bounding_box()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    stage.page.route(re.compile(r"/view/"), hold)
    keys.press("ArrowLeft")
    keys.press("ArrowLeft")
    expect_step(stage, 4)
    expect(stage.page.locator(".preview .header b")).to_have_text("journey.html")
    expect(stage.page.locator(".preview .header .busy")).to_contain_text("Loading")
    expect(canvas).to_contain_text("Measures the finished page")
    assert canvas.bounding_box() == box
    held[-1].continue_()
    stage.page.unroute(re.compile(r"/view/"), hold)
    expect(canvas).not_to_contain_text("Measures the finished page")
    expect(canvas.locator("iframe")).to_be_visible()


def test_without_files_the_conversation_fills_the_stage(stage: Stage) -> None:
    stage.mount(*ALL, run=[started(), *step(1, bash("ls"), text="I look."), *step(2, bash("ls"))])
    stage.page.evaluate("document.activeElement.blur()")
    stage.page.keyboard.press("p")
    expect_step(stage, 2)
    expect(stage.page.locator(".preview")).to_be_hidden()
    box = stage.timeline.bounding_box()
    assert box is not None
    assert box["width"] > 0.9 * stage.look.size[0]


def test_after_the_presentation_the_page_shows_what_was_in_play(stage: Stage) -> None:
    show_recording(stage, look=Look(size=PROJECTORS[0]))
    keys = stage.page.keyboard
    keys.press("p")
    expect(stage.page.locator("html")).to_have_attribute("data-stage", "end")
    keys.press("Escape")
    expect(stage.timeline.locator(".round-end .answer")).to_be_in_viewport()
    preview = stage.page.get_by_role("group", name="Preview")
    keys.press("p")
    for number in (6, 5):
        keys.press("ArrowLeft")
        expect_step(stage, number)
    expect(preview).to_contain_text("check.py")
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    expect(stage.page.locator("html")).to_have_attribute("data-stage", "end")
    keys.press("Escape")
    expect(preview.locator(".header b")).to_have_text("journey.html")
    expect(preview).not_to_contain_text("version after")
    keys.press("p")
    for number in (6, 5, 4):
        keys.press("ArrowLeft")
        expect_step(stage, number)
    keys.press("Escape")
    expect(stage.task).to_be_visible()
    expect(stage.step(4).locator(".step-number")).to_be_in_viewport()
    expect(stage.step(2)).not_to_be_in_viewport()
    slider = stage.page.get_by_role("slider", name="Step of the run")
    slider.press("Home")  # nobody chose the file of the stage: one that was there takes its place
    expect(stage.page.locator(".workspace .as-of")).to_contain_text("after step 1")
    expect(stage.page.locator(".preview")).to_be_hidden()


def test_a_presentation_that_begins_while_full_screen_is_left_goes_on(stage: Stage) -> None:
    stage.mount(*ALL, run=[started(), *step(1, bash("ls"), text="I look.")])
    stage.page.evaluate("document.activeElement.blur()")
    root, filled = stage.page.locator("html[data-presenting]"), "document.fullscreenElement"
    stage.page.keyboard.press("p")
    stage.page.wait_for_function(filled)
    stage.page.evaluate("document.exitFullscreen()")
    expect(root).to_have_count(0)
    stage.page.keyboard.press("p")
    stage.page.wait_for_function(filled)
    stage.page.evaluate(AGAIN)
    expect(root).to_have_count(1)
    stage.page.wait_for_function(filled)


def test_on_a_narrow_stage_the_end_has_the_whole_height(stage: Stage) -> None:
    show_recording(stage, look=Look(size=NARROW))
    stage.page.keyboard.press("p")
    expect(stage.page.locator("html")).to_have_attribute("data-stage", "end")
    box = stage.timeline.bounding_box()
    assert box is not None
    assert box["height"] > 0.8 * NARROW[1]


@pytest.mark.parametrize("size", PROJECTORS, ids=str)
def test_nothing_on_stage_is_small(stage: Stage, size: tuple[int, int]) -> None:
    show_recording(stage, look=Look(size=size))
    keys = stage.page.keyboard
    keys.press("p")
    expect(stage.page.locator("html")).to_have_attribute("data-stage", "end")
    least = 18 if size[1] == 720 else 20
    assert stage.page.evaluate(SMALLEST) >= least
    for number in (6, 5, 4, 3):
        keys.press("ArrowLeft")
        expect_step(stage, number)
    preview = stage.page.get_by_role("group", name="Preview")
    expect(preview).to_contain_text("changed by step 3")
    assert stage.page.evaluate(SMALLEST) >= least
    keys.press("ArrowLeft")
    expect(preview.locator(".lines")).to_contain_text("Reads the walk")
    assert stage.page.evaluate(SMALLEST) >= least


def test_a_run_that_works_is_presented_live_to_its_answer(stage: Stage) -> None:
    going = replace(bash("sleep 600", "rendering"), is_running=True)
    stage.mount(
        *ALL, run=[started("Chart it"), *step(1, bash("ls"), text="I look."), *step(2, going)]
    )
    stage.page.evaluate("document.activeElement.blur()")
    stage.page.keyboard.press("p")
    expect(stage.page.locator(".app-header .live-badge")).to_contain_text("LIVE")
    expect_step(stage, 2)
    stage.run.add(*step_end(2), *step(3, bash("seq 60", "line\n" * 60), text="Now I count."))
    expect_step(stage, 3)
    text = "There are **42** birds."
    stage.run.add(*step(4, SUBMIT, text=text), ended(answer="42"))
    expect(stage.page.locator("html")).to_have_attribute("data-stage", "end")
    answer = stage.timeline.locator(".round-end .answer")
    expect(answer).to_have_text("42")
    assert answer.evaluate("e => parseFloat(getComputedStyle(e).fontSize) * e.currentCSSZoom") > 40
    expect(stage.timeline.get_by_role("region", name="Final message")).to_contain_text("42 birds")
    expect(stage.page.locator(".app-header .live-badge")).to_be_hidden()


def test_the_pointer_can_be_seen_and_ends_the_presentation(stage: Stage) -> None:
    stage.mount(*ALL, run=[started(), *step(1, bash("ls")), ended(answer="Done.")])
    stage.button("Present").click()
    expect(stage.thread).to_have_css("cursor", re.compile(r"pointer\.svg.* 24 24"))
    assert stage.page.evaluate(
        "fetch(new URL('/ui/present/pointer.svg', location.href)).then(({ok}) => ok)"
    )
    stage.button("End the presentation (Escape)").click()
    expect(stage.task).to_be_visible()


@pytest.mark.parametrize("look", looks(["owner"], [PROJECTORS[0], NARROW]), ids=str)
def test_the_stage_is_accessible_and_fits(stage: Stage, look: Look) -> None:
    stage.mount(
        *ALL,
        run=[started(), *step(1, bash("ls"), text="I look."), *step(2, bash("no", exit_code=1))],
        look=look,
    )
    stage.page.evaluate("document.activeElement.blur()")
    stage.page.keyboard.press("p")
    expect_step(stage, 2)
    check_accessible(stage, ".gradio-container")
    stage.run.add(ended(answer="Done."))
    expect(stage.page.locator("html")).to_have_attribute("data-stage", "end")
    check_accessible(stage, ".gradio-container")
