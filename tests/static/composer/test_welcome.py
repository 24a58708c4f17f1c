"""The first screen: what it says, how it begins, and what the right half shows."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Route, expect

from agent.models import demonstration
from agent.models.builtin.install import (
    BUILTIN_DESCRIPTION,
    BUILTIN_MISSING_MESSAGE,
    BUILTIN_NAME,
    find_files,
)
from tests.support.component.accessibility import violations
from tests.support.component.events import bash, ended, step
from tests.support.component.recorded import recorded
from tests.support.component.stage import ALL, Look, Stage, looks
from tests.support.tab import NARROW, WIDE, open_studio

pytestmark = pytest.mark.component

COMPARISON_TIMEOUT_MS = 400_000  # the built-in model on a loaded machine
ADD_UP = "Compare: Add up a column"


@pytest.fixture
def moving(stage: Stage) -> Iterator[Stage]:
    """A stage whose user does not prefer less motion."""
    stage.page.emulate_media(reduced_motion="no-preference")
    yield stage
    stage.page.emulate_media(reduced_motion="reduce")


def describe_builtin(stage: Stage, text: str, *, installed: bool) -> None:
    """Describe the built-in model in the page's head, as ``sandbox_ui.page.build`` does."""
    meta = {"name": "studio-builtin", "content": text}
    stage.script += f"""
        const builtin = Object.assign(document.createElement("meta"), {json.dumps(meta)});
        builtin.toggleAttribute("data-installed", {json.dumps(installed)});
        document.head.prepend(builtin);"""


def showcase(stage: Stage) -> Locator:
    return stage.page.locator("#workspace .showcase")


def picture(element: Locator, name: str) -> None:
    expect(element.locator("img")).to_have_attribute("src", re.compile(name))


def tile(stage: Stage, name: str) -> Locator:
    return stage.button(f"Watch: {demonstration.load(name).title}")


def builtin_tasks(stage: Stage) -> Locator:
    return stage.page.get_by_role("region", name=BUILTIN_NAME, exact=True)


def test_it_says_what_this_is_and_offers_three_ways_to_begin(stage: Stage) -> None:
    stage.mount(*ALL)
    welcome = stage.page.locator(".welcome")
    expect(welcome).to_contain_text("LLM-in-Sandbox: the same model, with a shell and a folder")
    with stage.page.expect_file_chooser():
        stage.button("Open files").click()
    stage.button("Connect a model").click()
    expect(stage.page.get_by_role("dialog", name="Settings")).to_be_visible()
    stage.page.keyboard.press("Escape")
    stage.button("Play a demonstration").click()
    expect(stage.timeline.locator(".task")).to_be_visible()
    assert stage.sent[0]["message"]["play"]


def test_late_lists_of_runs_are_shown_once(stage: Stage) -> None:
    listed = recorded("page")["GET /runs?limit=6"]
    draft = {"run": stage.run.id, "files": 1, "at": 1.0, "names": ["a.txt"], "size": 1}
    stage.answer("/runs?limit=6", {**listed, "drafts": [draft]})
    held: list[Route] = []
    stage.page.route("**/api/runs?limit=*", lambda route: held.append(route))
    stage.mount(*ALL, run=[])  # the first screen is made anew for the draft
    stage.wait_until(lambda: len(held) == 2)
    for route in reversed(held):
        route.continue_()
    expect(stage.page.get_by_role("heading", name="Your drafts and runs")).to_have_count(1)
    expect(stage.page.get_by_role("region", name="Your runs")).to_have_count(1)


def test_a_new_run_shows_the_first_screen_from_its_top(stage: Stage) -> None:
    stage.mount(*ALL, look=Look(size=NARROW))
    tiles = stage.page.locator(".welcome .tile")
    expect(tiles).to_have_count(6)  # they are at hand from now on
    stage.thread.evaluate("thread => thread.scrollTop = 900")
    stage.send("Count.")
    stage.run.add(*step(1, bash("seq 3", "1\n2\n3\n")), ended())
    expect(stage.timeline.locator(".round-end")).to_be_in_viewport()  # the run is followed
    stage.button("New run").click()
    expect(tiles).to_have_count(6)
    for _ in range(2):
        stage.page.evaluate("new Promise(requestAnimationFrame)")
    assert stage.thread.evaluate("thread => thread.scrollTop") == 0


def test_the_right_half_shows_what_the_example_under_the_pointer_makes(moving: Stage) -> None:
    moving.mount(*ALL)
    picture(showcase(moving), "journey")
    tile(moving, "poster").hover()
    expect(showcase(moving)).to_contain_text("Illustrate a poster")
    picture(showcase(moving), r"poster\.webp")
    expect(moving.workspace.locator(".empty-message")).to_be_hidden()
    moving.task.fill("A task of my own")
    expect(showcase(moving)).to_be_hidden()
    expect(moving.workspace.locator(".empty-message")).to_be_visible()
    moving.task.fill("")
    expect(showcase(moving)).to_be_visible()
    # Pictures load late, keep their space, and move under the pointer.
    chart = tile(moving, "chart").locator("img")
    expect(chart).to_have_attribute("loading", "lazy")
    picture(tile(moving, "chart"), "chart-still")
    width, height = chart.evaluate("image => [image.clientWidth, image.clientHeight]")
    assert height == pytest.approx(width * 5 / 8, abs=1)
    tile(moving, "chart").hover()
    picture(tile(moving, "chart"), r"chart\.webp")
    expect(chart).to_have_js_property("complete", True)
    moving.page.mouse.move(0, 0)
    picture(tile(moving, "chart"), "chart-still")


def test_nothing_moves_for_those_who_prefer_less_motion(stage: Stage) -> None:
    stage.mount(*ALL)
    picture(showcase(stage), "journey-still")
    tile(stage, "chart").hover()
    picture(showcase(stage), "chart-still")
    picture(tile(stage, "chart"), "chart-still")


def test_it_fits_every_screen_and_is_accessible(stage: Stage) -> None:
    sizes = ((360, 740), NARROW, WIDE, (2560, 1300))
    widths = "thread => [thread.scrollWidth - thread.clientWidth, thread.clientWidth > 300]"
    stage.mount(*ALL)
    expect(stage.page.locator(".welcome .tile")).to_have_count(6)
    for look in looks(["owner"], sizes):
        stage.change_look(look)
        assert stage.thread.evaluate(widths) == [0, True], look
        if look.size in (WIDE, NARROW):
            rules = ["color-contrast"] if look.theme == "dark" else None
            assert violations(stage.page, rules) == [], look


@pytest.mark.parametrize("look", looks(["owner"], themes=["light"]), ids=str)
def test_the_builtin_model_offers_tasks_until_an_endpoint_replaces_it(
    stage: Stage, look: Look
) -> None:
    describe_builtin(stage, BUILTIN_DESCRIPTION, installed=True)
    stage.mount(*ALL, look=look)
    expect(builtin_tasks(stage)).to_contain_text(BUILTIN_DESCRIPTION)
    expect(builtin_tasks(stage).get_by_role("button")).to_have_count(6)
    expect(stage.page.locator(".welcome")).to_contain_text("Demonstrations: scripted model")
    stage.button("Settings").click()
    settings = stage.page.get_by_role("dialog", name="Settings")
    settings.get_by_label("Endpoint").fill("http://127.0.0.1:9/v1")
    expect(builtin_tasks(stage)).to_be_hidden()
    settings.get_by_label("Model", exact=True).fill("builtin")
    expect(builtin_tasks(stage)).to_be_visible()
    stage.button("Close settings").click()
    stage.button("Try: Average a column").click()
    expect(stage.timeline.locator(".task")).to_be_visible()
    assert stage.sent[0]["message"]["play"] is False


def test_without_the_builtin_model_the_page_explains_its_installation(stage: Stage) -> None:
    describe_builtin(stage, BUILTIN_MISSING_MESSAGE, installed=False)
    stage.mount(*ALL)
    expect(stage.page.locator(".welcome")).to_contain_text(BUILTIN_MISSING_MESSAGE)
    expect(builtin_tasks(stage)).to_be_hidden()


def test_one_click_starts_a_comparison_of_the_builtin_model(stage: Stage) -> None:
    stage.expected_errors = ["/comparisons"]
    describe_builtin(stage, BUILTIN_DESCRIPTION, installed=True)
    stage.fail("/comparisons", 400, "There are too many comparisons.", "POST")
    stage.mount(*ALL)
    card = stage.page.get_by_role("button", name=ADD_UP)
    card.hover()
    expect(card.locator(".versus-answer").last).to_contain_text("71978")
    card.click()
    expect(stage.page.get_by_role("alert")).to_contain_text("There are too many comparisons.")
    asked = stage.asked("/comparisons", "POST")[0].json
    assert [(each["mode"], each["model"]) for each in asked["members"]] == [
        ("plain", "builtin"), ("sandbox", "builtin"),
    ]  # fmt: skip
    assert asked["expected"]
    assert "sum of visitors in tickets.csv" in asked["task"]


def test_one_click_compares_the_connected_model_and_says_which_answers(stage: Stage) -> None:
    stage.expected_errors = ["/comparisons"]
    describe_builtin(stage, BUILTIN_DESCRIPTION, installed=True)
    stage.fail("/comparisons", 400, "There are too many comparisons.", "POST")
    stage.settings = {"base_url": "http://models.test/v1", "model": "big-model"}
    stage.mount(*ALL)
    expect(stage.button("Connect a model")).to_have_count(0)
    expect(stage.button("Model: big-model")).to_be_visible()
    card = stage.page.get_by_role("button", name="Compare with big-model: Add up a column")
    expect(card.locator(".go")).to_have_text("Compare now with big-model")
    card.click()
    expect(stage.page.get_by_role("alert")).to_contain_text("There are too many comparisons.")
    stage.button("Compare with the built-in model").click()
    stage.wait_until(lambda: len(stage.asked("/comparisons", "POST")) == 2)
    first, second = (each.json["members"] for each in stage.asked("/comparisons", "POST"))
    assert [(each["mode"], each["model"], each["baseUrl"]) for each in first] == [
        (mode, "big-model", "http://models.test/v1") for mode in ("plain", "sandbox")
    ]
    assert [each["model"] for each in second] == ["builtin", "builtin"]


@pytest.mark.browser
@pytest.mark.nightly
@pytest.mark.builtin
@pytest.mark.timeout(600)
def test_one_click_plays_a_comparison_to_its_end(browser: Browser, studio_url: str) -> None:
    if find_files() is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    with open_studio(browser, studio_url) as studio:
        studio.page.get_by_role("button", name=ADD_UP).click()
        comparison = studio.page.get_by_role("region", name="Comparison", exact=True)
        expect(comparison).to_contain_text("What is the sum of visitors in tickets.csv?")
        expect(comparison).to_contain_text(
            re.compile("Without: wrong"), timeout=COMPARISON_TIMEOUT_MS
        )
