"""Windows of little height: a projector of 1280 × 720, at 100 % and zoomed up to 400 %."""

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.support.component.accessibility import check_accessible
from tests.support.component.events import bash, ended, started, step
from tests.support.component.recorded import recorded
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import ALL, Look, Stage

pytestmark = pytest.mark.component

ZOOMED = {
    100: (1280, 720),
    150: (853, 480),
    175: (731, 411),
    200: (640, 360),
    250: (512, 288),
    400: (320, 180),
}
OUTPUT = (
    "day 3  Ternvik to Skarhytta   12.6 km\nday 4  Skarhytta to Fyrneset  14.5 km\nin all 68.3 km"
)
TEXT = (
    "Two days look right, but on day 3 two points jump 25 km. "
    "I keep only points that one can reach on foot."
)


def mount(stage: Stage, zoom: int, *, has_ended: bool = True) -> None:
    stage.answer("files", recorded("files_run")["GET files"])
    steps = [
        event
        for number in range(1, 5)
        for event in step(
            number,
            bash("python3 track.py", OUTPUT),
            text=TEXT,
            reasoning="Two points lie 25 km away.",
        )
    ]
    end = [ended(answer="68.3 km")] if has_ended else []
    stage.mount(*ALL, run=[started("Map a journey"), *steps, *end], look=Look(size=ZOOMED[zoom]))


def height(shown: Locator) -> float:
    box = shown.bounding_box()
    assert box
    return box["height"]


@pytest.mark.parametrize("zoom", ZOOMED)
def test_a_whole_step_can_be_read_and_everything_is_reachable(stage: Stage, zoom: int) -> None:
    mount(stage, zoom, has_ended=False)
    expect(stage.step(4)).to_contain_text("68.3 km")
    if zoom <= 200:
        steps = 2 if zoom == 100 else 1
        assert height(stage.thread) >= steps * height(stage.step(4))
    files = stage.page.get_by_role("tab", name="Files")
    if files.is_visible():
        expect(stage.workspace).to_be_hidden()
        files.click()
    else:
        stage.file("output").scroll_into_view_if_needed()
    expect(stage.file("output")).to_be_in_viewport()
    if files.is_visible():
        assert stage.workspace.evaluate("each => each.offsetWidth") == ZOOMED[zoom][0]
        stage.page.keyboard.press("ArrowLeft")
        expect(stage.page.get_by_role("tab", name="Conversation")).to_be_focused()
    for name in ("Send", "Stop", "Attach files", "Examples", "Settings", "More", "Previous step"):
        button = (
            stage.button(name)
            if name != "Previous step"
            else stage.page.get_by_role("button", name=name)
        )
        button.scroll_into_view_if_needed()
        expect(button).to_be_in_viewport(ratio=1)
    stage.task.scroll_into_view_if_needed()
    expect(stage.task).to_be_in_viewport(ratio=1)
    assert stage.page.evaluate("document.documentElement.scrollWidth") <= ZOOMED[zoom][0]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("zoom", [100, 200, 400])
def test_a_low_window_is_accessible(stage: Stage, zoom: int, theme: str) -> None:
    stage.look = Look(theme="dark" if theme == "dark" else "light")
    mount(stage, zoom)
    stage.change_look(Look(size=ZOOMED[zoom], theme=stage.look.theme))
    check_accessible(stage, ".gradio-container")


def test_the_figures_are_one_line_with_the_rest_behind_it(stage: Stage) -> None:
    mount(stage, 100)
    figures = stage.timeline.get_by_role("group", name="Totals")
    strip = stage.timeline.get_by_role("group", name="Capability usage")
    assert height(figures) < 32
    expect(strip).to_be_hidden()
    stage.button("More").click()
    expect(stage.button("Less")).to_have_attribute("aria-expanded", "true")
    expect(stage.thread).to_be_visible()
    assert height(stage.thread) > 120


def test_the_message_box_of_a_run_is_one_line_that_grows(stage: Stage) -> None:
    mount(stage, 100)
    composer = stage.page.locator("#composer")
    assert height(composer) < 64
    before = height(composer)
    stage.task.fill("one\ntwo\nthree")
    assert height(composer) > before + 30


@pytest.mark.parametrize("zoom", [100, 200])
def test_attached_files_are_one_line_beside_the_tools(stage: Stage, zoom: int) -> None:
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL, run=[started("Map a journey"), ended()], look=Look(size=ZOOMED[zoom]))
    names = [f"report of airline {number}.txt" for number in range(1, 5)]
    files: list[Any] = [{"name": name, "mimeType": "", "buffer": b"words"} for name in names]
    stage.page.get_by_label("Files to attach").set_input_files(files)
    chips = stage.page.get_by_role("group", name="Attached files").locator(".chip")
    expect(chips).to_have_count(len(names))
    expect(chips.first).to_contain_text("5 B")
    assert height(stage.page.locator("#composer")) < 105
    chips.last.scroll_into_view_if_needed()
    expect(chips.last).to_be_in_viewport()
    expect(stage.button("Run")).to_be_in_viewport(ratio=1)
    check_accessible(stage, "#composer")


def test_a_file_can_be_read_below_the_tree_at_200_percent(stage: Stage) -> None:
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL, run=[started("Map a journey"), ended()], look=Look(size=ZOOMED[200]))
    table: list[Any] = [{"name": "days.csv", "mimeType": "", "buffer": b"day,km\n3,12.6\n"}]
    stage.page.get_by_label("Files to attach").set_input_files(table)
    stage.page.get_by_role("tab", name="Files").click()
    stage.file("days.csv").click()
    expect(stage.workspace.locator(".preview")).to_contain_text("12.6")
    assert height(stage.workspace.locator(".preview .canvas")) >= 120
    expect(stage.file("days.csv")).to_be_in_viewport(ratio=1)
