"""A recorded run: played, and shown as of its steps and their events."""

import re
import zipfile
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.support.component.accessibility import check_accessible
from tests.support.component.events import bash, ended, started, step, step_end
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import ALL, Look, Stage, looks
from tests.support.tab import StudioTab, open_studio, row_name


def play_recording(page: Page, title: str) -> None:
    page.locator(".recorded").get_by_role("button", name=title).click()
    expect(page.locator("html[data-playback=playing]")).to_be_attached()


def show_paused(stage: Stage) -> None:
    """Open a recorded run from the first screen, and pause its playback."""
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL)
    play_recording(stage.page, "Let three stars dance")
    stage.button("Pause").click()


def row(tab: StudioTab | Stage, name: str) -> Locator:
    return tab.page.get_by_role("tree").get_by_role("treeitem", name=row_name(name))


@pytest.mark.browser
@pytest.mark.e2e("plays a recorded run from the first screen to its answer and its files")
def test_a_recorded_run_plays_from_the_first_screen_to_its_answer(
    browser: Browser, studio_url: str
) -> None:
    with open_studio(browser, studio_url) as tab:
        play_recording(tab.page, "Map a journey")
        tab.page.get_by_label("Speed").select_option("16")
        expect(tab.page.locator(".pill.past")).to_contain_text("of 6")
        expect(tab.page.get_by_role("button", name="Pause")).to_be_visible()
        expect(tab.page.locator("#step-5")).to_be_visible(timeout=60_000)
        expect(tab.page.locator("html[data-playback]")).to_have_count(0, timeout=60_000)
        expect(tab.page.locator(".pill.past")).to_be_hidden()
        expect(tab.timeline.locator(".round-end .answer")).to_be_visible()
        expect(row(tab, "journey.html")).to_be_visible()
        expect(tab.page.locator(".step.later")).to_have_count(0)


@pytest.mark.component
def test_a_result_opens_in_the_preview_when_its_step_has_been_played(stage: Stage) -> None:
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL)
    play_recording(stage.page, "Illustrate a poster")
    stage.page.get_by_label("Speed").select_option("16")
    preview = stage.page.locator(".preview")
    expect(preview).to_contain_text("version after step 2", timeout=60_000)
    expect(preview.get_by_role("img").first).to_be_visible()
    expect(stage.page.locator("html[data-playback]")).to_have_count(0, timeout=60_000)
    expect(preview).to_contain_text("poster")
    expect(preview).not_to_contain_text("version after")


@pytest.mark.component
def test_while_a_run_works_its_player_says_live_and_plays_only_the_past(stage: Stage) -> None:
    going = replace(bash("sleep 600", "drawing"), is_running=True)
    stage.mount(*ALL, run=[started(), *step(1, bash("ls")), *step(2, bash("ls")), *step(3, going)])
    bar = stage.page.get_by_role("region", name="Time", exact=True)
    expect(bar).to_contain_text("LIVE")
    expect(bar).to_contain_text("real time")
    expect(bar.get_by_role("button", name="Play")).to_be_hidden()
    expect(bar.get_by_label("Speed")).to_be_hidden()
    bar.get_by_role("button", name="Previous step").click()
    expect(bar.locator(".live-badge")).to_be_hidden()
    expect(bar.get_by_role("button", name="Play")).to_be_visible()
    expect(bar).to_contain_text("pauses shortened")
    bar.get_by_label("Speed").select_option("16")
    expect(bar).to_contain_text("16 × faster")
    stage.button("Live").click()
    expect(bar.locator(".live-badge")).to_be_visible()
    stage.run.add(*step_end(3), ended())
    expect(bar.locator(".live-badge")).to_be_hidden()
    expect(bar.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.component
def test_playing_shows_steps_and_a_file_that_is_there_whatever_is_open(stage: Stage) -> None:
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL, look=Look(size=(1280, 720)))
    play_recording(stage.page, "Map a journey")
    stage.button("Pause").click()
    stage.button("Live").click()
    row(stage, "journey.html").click()
    preview = stage.page.locator(".preview")
    expect(preview.locator(".header b")).to_have_text("journey.html")
    stage.button("More").click()
    stage.timeline.get_by_role("button", name="Capabilities").click()
    stage.page.get_by_label("Speed").select_option("16")
    stage.button("Play").click()
    expect(stage.page.locator("#step-1")).to_be_in_viewport()
    name = "document.querySelector('.preview:not([hidden]) .header b')?.textContent"
    stage.page.wait_for_function(f"{name} === 'track.py'")
    expect(stage.page.locator("#step-3")).to_be_in_viewport(timeout=60_000)
    stage.button("Pause").click()


@pytest.mark.component
def test_the_page_is_shown_as_of_a_step(stage: Stage) -> None:
    show_paused(stage)
    slider = stage.page.get_by_role("slider", name="Step of the run")
    slider.press("Home")
    expect(stage.page).to_have_url(re.compile(r"#step-1$"))
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "2")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^step 2 of 5, .* s, "))
    expect(stage.page.locator(".pill.past")).to_contain_text("as of step 2 of 5")
    expect(stage.page.locator(".workspace .as-of")).to_have_text(
        "as it was after step 2 · read only"
    )
    expect(row(stage, "stars.py").locator(".new")).to_have_text("changed here")
    expect(row(stage, "check.py").locator(".new")).to_have_text("step 1")
    expect(row(stage, "draw.py")).to_have_class(re.compile(r"\blater\b"))
    expect(stage.page.locator("#step-3")).to_have_class(re.compile(r"\blater\b"))
    expect(stage.page.get_by_label("Totals")).to_contain_text("2 steps")
    expect(stage.button("Upload")).to_be_hidden()

    row(stage, "draw.py").click()
    expect(stage.page.locator(".preview")).to_contain_text("This file was not there after step 2.")
    row(stage, "stars.py").click()
    expect(stage.page.locator(".preview small").first).to_contain_text("version after step 2")

    slider.press("}")  # the first event of step 3: its files are still those of step 2
    expect(stage.page.locator(".pill.past")).to_contain_text("within step 3")
    expect(stage.page.locator(".workspace .as-of")).to_contain_text("after step 2")
    slider.press("]")
    expect(stage.page.locator(".workspace .as-of")).to_contain_text("after step 3")
    expect(row(stage, "draw.py").locator(".new")).to_have_text("changed here")

    expect(stage.page).to_have_url(re.compile(r"#step-3$"))
    stage.reload()  # the address opens the same moment
    expect(stage.page.locator(".pill.past")).to_contain_text("as of step 3 of 5")
    stage.button("Live").click()
    expect(stage.page.locator(".pill.past")).to_be_hidden()
    expect(stage.page.locator(".step.later")).to_have_count(0)
    expect(stage.page).not_to_have_url(re.compile("#step"))
    expect(stage.button("Upload")).to_be_visible()


@pytest.mark.component
def test_the_folder_is_downloaded_as_of_a_step_and_versions_are_compared(stage: Stage) -> None:
    show_paused(stage)
    stage.page.get_by_role("slider", name="Step of the run").press("Home")
    expect(stage.page.locator(".workspace .as-of")).to_contain_text("after step 1")
    stage.page.get_by_role("button", name="More actions").click()
    item = stage.page.get_by_role("menuitem", name="Download folder as of step 1 as zip")
    expect(item).to_be_visible()
    with stage.page.expect_download() as download:
        item.click()
    assert download.value.suggested_filename.endswith(", step 1.zip")
    names = zipfile.ZipFile(download.value.path()).namelist()
    assert "stars.py" in names
    assert "draw.py" not in names
    stage.button("Live").click()
    row(stage, "stars.py").click(button="right")
    stage.page.get_by_role("menuitem", name="Versions…").click()
    dialog = stage.page.get_by_role("dialog", name="Versions of stars.py")
    expect(dialog.get_by_role("row")).to_have_count(3)
    expect(dialog.get_by_role("button", name="Compare the two")).to_be_disabled()
    for box in dialog.get_by_role("checkbox").all():
        box.check()
    dialog.get_by_role("button", name="Compare the two").click()
    expect(stage.page.locator(".preview .difference")).to_contain_text("from step 1 to step 2")


@pytest.mark.component
def test_a_file_chosen_while_the_files_of_a_step_are_loaded_is_that_of_the_step(
    stage: Stage,
) -> None:
    show_paused(stage)
    slider = stage.page.get_by_role("slider", name="Step of the run")
    slider.press("Home")
    expect(row(stage, "draw.py")).to_have_accessible_name(re.compile("from step 3"))
    waiting = list[Route]()
    listings = re.compile("[?&]folder=")
    stage.page.route(listings, lambda route: waiting.append(route))
    slider.press("End")
    row(stage, "draw.py").click()
    expect(stage.page.locator(".preview small").first).to_contain_text("version after step 3")
    expect(row(stage, "draw.py")).to_have_accessible_name(re.compile("from step 3"))
    for each in waiting:
        each.continue_()
    stage.page.unroute(listings)
    expect(row(stage, "draw.py")).not_to_have_accessible_name(re.compile("from step 3"))
    expect(stage.page.locator(".preview small").first).to_contain_text("version after step 3")


@pytest.mark.component
def test_a_run_as_of_a_step_is_accessible(stage: Stage) -> None:
    show_paused(stage)
    stage.page.get_by_role("slider", name="Step of the run").press("Home")
    row(stage, "stars.py").click()
    expect(stage.page.locator(".preview small").first).to_contain_text("version after step 1")
    for part in (".app-header", ".time-bar", ".workspace"):  # later steps are faded
        check_accessible(stage, part, looks(["owner"]))
