"""A recorded run in the browser: played, and shown as of its steps and their events."""

import os
import re
import zipfile
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.tab import StudioTab, open_studio

pytestmark = pytest.mark.browser


@pytest.fixture
def tab(browser: Browser, studio_url: str) -> Iterator[StudioTab]:
    """The first screen; a recorded run is opened from it."""
    with open_studio(browser, studio_url) as tab:
        yield tab


def play_recording(tab: StudioTab, title: str) -> None:
    tab.page.locator(".recorded").get_by_role("button", name=title).click()
    expect(tab.page.locator("html[data-playback=playing]")).to_be_attached()


def track(tab: StudioTab) -> Locator:
    return tab.page.get_by_role("slider", name="Step of the run")


def row(tab: StudioTab, name: str) -> Locator:
    return tab.page.get_by_role("tree").get_by_role("treeitem", name=name, exact=True)


def test_a_recorded_run_plays_from_the_first_screen_to_its_answer(tab: StudioTab) -> None:
    play_recording(tab, "Map a journey")
    tab.page.get_by_label("Speed").select_option("16")
    expect(tab.page.locator(".pill.past")).to_contain_text("of 6")
    expect(tab.page.get_by_role("button", name="Pause")).to_be_visible()
    expect(tab.page.locator("#step-5")).to_be_visible(timeout=60_000)
    expect(tab.page.locator("html[data-playback]")).to_have_count(0, timeout=60_000)
    expect(tab.page.locator(".pill.past")).to_be_hidden()
    expect(tab.timeline.locator(".round-end .answer")).to_be_visible()
    expect(row(tab, "journey.html")).to_be_visible()
    expect(tab.page.locator(".step.later")).to_have_count(0)


def test_a_result_opens_in_the_preview_when_its_step_has_been_played(tab: StudioTab) -> None:
    play_recording(tab, "Illustrate a poster")
    tab.page.get_by_label("Speed").select_option("16")
    preview = tab.page.locator(".preview")
    expect(preview).to_contain_text("version after step 2", timeout=60_000)
    expect(preview.get_by_role("img").first).to_be_visible()
    expect(tab.page.locator("html[data-playback]")).to_have_count(0, timeout=60_000)
    expect(preview).to_contain_text("poster")
    expect(preview).not_to_contain_text("version after")


def test_the_page_is_shown_as_of_a_step(tab: StudioTab) -> None:
    play_recording(tab, "Let three stars dance")
    tab.button("Pause").click()
    slider = track(tab)
    slider.press("Home")
    expect(tab.page).to_have_url(re.compile(r"#step-1$"))
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "2")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^step 2 of 5, .* s, "))
    expect(tab.page.locator(".pill.past")).to_contain_text("as of step 2 of 5")
    expect(tab.page.locator(".workspace .as-of")).to_have_text("as it was after step 2 · read only")
    expect(row(tab, "stars.py").locator(".new")).to_have_text("changed here")
    expect(row(tab, "check.py").locator(".new")).to_have_text("step 1")
    expect(row(tab, "draw.py")).to_have_class(re.compile(r"\blater\b"))
    expect(tab.page.locator("#step-3")).to_have_class(re.compile(r"\blater\b"))
    expect(tab.page.get_by_label("Totals")).to_contain_text("2 steps")
    expect(tab.button("Upload")).to_be_hidden()

    row(tab, "draw.py").click()
    expect(tab.page.locator(".preview")).to_contain_text("This file was not there after step 2.")
    row(tab, "stars.py").click()
    expect(tab.page.locator(".preview small").first).to_contain_text("version after step 2")

    slider.press("}")  # the first event of step 3: its files are still those of step 2
    expect(tab.page.locator(".pill.past")).to_contain_text("within step 3")
    expect(tab.page.locator(".workspace .as-of")).to_contain_text("after step 2")
    slider.press("]")
    expect(tab.page.locator(".workspace .as-of")).to_contain_text("after step 3")
    expect(row(tab, "draw.py").locator(".new")).to_have_text("changed here")

    expect(tab.page).to_have_url(re.compile(r"#step-3$"))
    tab.page.reload()  # the address opens the same moment
    expect(tab.page.locator(".pill.past")).to_contain_text("as of step 3 of 5")
    tab.button("Live").click()
    expect(tab.page.locator(".pill.past")).to_be_hidden()
    expect(tab.page.locator(".step.later")).to_have_count(0)
    expect(tab.page).not_to_have_url(re.compile("#step"))
    expect(tab.button("Upload")).to_be_visible()


def test_the_folder_is_downloaded_as_of_a_step(tab: StudioTab) -> None:
    play_recording(tab, "Let three stars dance")
    tab.button("Pause").click()
    track(tab).press("Home")
    expect(tab.page.locator(".workspace .as-of")).to_contain_text("after step 1")
    tab.page.get_by_role("button", name="More actions").click()
    item = tab.page.get_by_role("menuitem", name="Download folder as of step 1 as zip")
    expect(item).to_be_visible()
    if folder := os.environ.get("SHOTS"):
        tab.page.screenshot(path=f"{folder}/past-zip.png")
    with tab.page.expect_download() as download:
        item.click()
    assert download.value.suggested_filename.endswith(", step 1.zip")
    names = zipfile.ZipFile(download.value.path()).namelist()
    assert "stars.py" in names
    assert "draw.py" not in names


def test_two_versions_of_a_file_are_compared(tab: StudioTab) -> None:
    play_recording(tab, "Let three stars dance")
    tab.button("Pause").click()
    tab.button("Live").click()
    row(tab, "stars.py").click(button="right")
    tab.page.get_by_role("menuitem", name="Versions…").click()
    dialog = tab.page.get_by_role("dialog", name="Versions of stars.py")
    expect(dialog.get_by_role("row")).to_have_count(3)
    expect(dialog.get_by_role("button", name="Compare the two")).to_be_disabled()
    for box in dialog.get_by_role("checkbox").all():
        box.check()
    dialog.get_by_role("button", name="Compare the two").click()
    expect(tab.page.locator(".preview .difference")).to_contain_text("from step 1 to step 2")
