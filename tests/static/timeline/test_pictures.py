"""The pictures that the model got: on cards, at messages, large, and no longer sent."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, expect

from agent.events import (
    Event,
    MessageDelivered,
    ObservationsCleared,
    PicturesDropped,
    StepStarted,
    ToolEnded,
)
from agent.models.base import Picture
from agent.runs.outputs.pictures import PictureStore
from tests.agent.runs.outputs.sample_pictures import keep_picture
from tests.support.component.accessibility import check_accessible
from tests.support.component.events import CallResult, bash, continued, ended, started, step
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import Look, Stage
from tests.support.tab import NARROW

pytestmark = pytest.mark.component

LOOK = CallResult(
    "str_replace_editor", {"command": "view", "path": "output/chart.png"},
    "view output/chart.png", None, "The picture follows.", exit_code=None,
)  # fmt: skip


def look(number: int, *pictures: Picture) -> Sequence[Event]:
    """A step in which the model looks at pictures."""
    return [
        replace(each, pictures=pictures) if isinstance(each, ToolEnded) else each
        for each in step(number, LOOK)
    ]


def figures(stage: Stage) -> Locator:
    return stage.timeline.locator(".sent-pictures figure")


@pytest.fixture
def charts(stage: Stage) -> tuple[Picture, Picture]:
    stage.use_routes(LocalRoutes(stage.data))
    outputs = stage.run.folder.outputs
    return keep_picture(outputs, "output/chart.png"), keep_picture(
        outputs, "output/chart.png", "#2c7a4b"
    )


@pytest.mark.parametrize("viewed", [Look(), Look("guest", NARROW, "dark")], ids=str)
def test_a_card_shows_the_picture_that_the_model_got(
    stage: Stage, charts: tuple[Picture, Picture], viewed: Look
) -> None:
    wrong, right = charts
    scan = keep_picture(stage.run.folder.outputs, "input/scan.pdf, page 37", "#fff", (600, 800))
    run = [started(pictures=(scan,)), *look(1, wrong), *step(2, bash("draw")), *look(3, right)]
    stage.mount("header", "timeline", run=[*run, ended()], look=viewed)
    expect(figures(stage).locator("b")).to_have_text(
        ["input/scan.pdf, page 37", "output/chart.png", "output/chart.png"]
    )
    expect(figures(stage).nth(1).locator("small.num")).to_have_text(
        re.compile(r"^640 × 400 · [\d.]+ KB · about 341 tokens$")
    )
    for at in range(3):
        image = figures(stage).nth(at).get_by_role("img")
        image.scroll_into_view_if_needed()
        expect(image).not_to_have_js_property("naturalWidth", 0)
    check_accessible(stage, ".timeline")


@pytest.mark.parametrize("viewed", [Look(), Look("owner", NARROW, "dark")], ids=str)
def test_pictures_open_large_with_all_others_of_the_run_beside(
    stage: Stage, charts: tuple[Picture, Picture], viewed: Look
) -> None:
    wrong, right = charts
    run = [started(), *look(1, wrong), *look(2, right), ended()]
    stage.mount("timeline", run=run, look=viewed)
    second = figures(stage).nth(1).get_by_role("button")
    second.click()
    large = stage.page.get_by_role("dialog", name="Images")
    expect(large.get_by_role("status")).to_contain_text("2 of 2 · step 2 · 640 × 400")
    image = large.get_by_role("img")
    expect(image).to_have_attribute("src", f"{stage.run_url}outputs/{right.file}")
    stage.page.keyboard.press("ArrowLeft")
    expect(image).to_have_attribute("src", f"{stage.run_url}outputs/{wrong.file}")
    name = large.get_by_text("output/chart.png", exact=True).bounding_box()
    assert name is not None
    assert name["width"] > 60
    expect(large.get_by_role("button", name="Close")).to_be_in_viewport(ratio=1)
    large.get_by_role("button", name="Close").click()
    expect(second).to_be_focused()


def test_pictures_that_are_dropped_say_so_from_that_step_on(
    stage: Stage, charts: tuple[Picture, Picture]
) -> None:
    wrong, right = charts
    stage.mount("timeline", run=[started(), *look(1, wrong), *look(2, right), *look(3, right)])
    expect(figures(stage)).to_have_count(3)
    dropped = stage.timeline.get_by_text("no longer sent since step 4")
    expect(dropped).to_have_count(0)
    stage.run.add(
        StepStarted(step=4, note=""), PicturesDropped(step=4, pictures=(wrong, right), note="old")
    )
    expect(dropped).to_have_count(2)
    expect(figures(stage).nth(2)).not_to_contain_text("no longer sent")
    stage.run.add(ObservationsCleared(step=4, call_ids=("call-3-1",), note="cleared"))
    for _ in range(2):
        expect(dropped).to_have_count(3)
        stage.reload()  # from the server's state


def test_a_message_shows_its_pictures(stage: Stage, charts: tuple[Picture, Picture]) -> None:
    wrong, right = charts
    stage.mount("timeline", run=[started(), *step(1, bash("draw")), ended()])
    stage.run.add(continued("Why is it blue?", pictures=(wrong,)), StepStarted(step=2, note=""))
    stage.run.add(MessageDelivered(step=2, text="And this?", pictures=(right,)))
    for _ in range(2):
        expect(stage.timeline.locator(".task", has_text="Why is it blue?")).to_contain_text(
            "output/chart.png"
        )
        expect(stage.timeline.locator(".task.delivered figure")).to_have_count(1)
        stage.reload()


def test_a_picture_that_is_lost_says_so(stage: Stage, charts: tuple[Picture, Picture]) -> None:
    wrong, _ = charts
    (PictureStore(stage.run.folder.outputs)._folder / wrong.file).unlink()
    stage.expected_errors.append(wrong.file)
    stage.mount("timeline", run=[started(), *look(1, wrong), ended()])
    expect(figures(stage)).to_contain_text("This picture is not in the run’s record any more.")
