"""Evaluations in a browser: numbers of one suite, further members and tasks, several as one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from agent.settings import Settings
from tests.support.evaluations.client import DATA, respond
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.server import create_app, run_server
from tests.support.tab import StudioTab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture
def tab(tmp_path: Path, browser: Browser) -> Iterator[StudioTab]:
    """A tab with the first screen of a studio."""
    with Endpoint(respond) as endpoint:
        settings = Settings(data=tmp_path / "data", base_url=endpoint.url, model="m")
        with run_server(create_app(settings, LocalSandboxProvider(settings.data))) as url:
            page = browser.new_page()
            page.goto(url)
            yield StudioTab(page)
            page.close()


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "test.jsonl"
    path.write_bytes(DATA)
    return path


def dialog_of(page: Page, name: str) -> Locator:
    return page.get_by_role("dialog", name=name)


def open_dialog(tab: StudioTab, tasks: Path) -> Locator:
    """Open the dialog of an evaluation, with uploaded tasks of AIME 2025."""
    tab.button("Evaluate on tasks…").click()
    dialog = dialog_of(tab.page, "Evaluate")
    upload(dialog, tasks)
    return dialog


def upload(dialog: Locator, tasks: Path) -> None:
    dialog.get_by_role("checkbox", name="AIME 2025").check()
    dialog.get_by_label("Data of AIME 2025").select_option("upload")
    dialog.get_by_label("Files of AIME 2025").set_input_files(tasks)


def start(dialog: Locator, go: str) -> None:
    dialog.get_by_role("button", name="Start evaluation").click()
    dialog.get_by_role("button", name=go).click()


def test_numbers_of_a_suite_and_departures_are_said_before_the_start(
    tab: StudioTab, tasks: Path
) -> None:
    page = tab.page
    dialog = open_dialog(tab, tasks)
    dialog.get_by_label("Preset").select_option("paper")
    expect(dialog.get_by_text("what departs from the paper")).to_be_visible()
    repetitions = dialog.get_by_label("Repetitions of AIME 2025")
    repetitions.fill("99")
    expect(dialog.get_by_role("status")).to_contain_text("Repetitions of AIME 2025")
    repetitions.fill("3")
    dialog.get_by_label("Tasks, at most of AIME 2025").fill("2")
    dialog.get_by_label("Temperature of AIME 2025").fill("0.6")
    dialog.get_by_role("button", name="Start evaluation").click()
    departures = dialog.locator(".departures li")
    expect(departures).to_have_text([
        "AIME 2025: 2 tasks instead of 30", "AIME 2025: 3 repetitions instead of 16",
        "AIME 2025: temperature 0.6",
    ])  # fmt: skip
    dialog.get_by_role("button", name="Start 12 runs").click()
    expect(page.locator(".progress-text")).to_have_text("12 of 12 runs done")
    choice = page.get_by_label("k of pass@k")
    expect(choice).to_have_value("3")
    scores = page.get_by_role("region", name="Scores by domain")
    expect(scores).to_contain_text("pass@3 100.0 %")
    choice.select_option("2")
    expect(scores).to_contain_text("pass@2 100.0 % · pass^2 100.0 %")
    tab.button("Export").click()
    expect(page.get_by_role("menuitem", name=re.compile("All figures"))).to_have_attribute(
        "href", re.compile(r"export\.csv\?k=2$")
    )
    page.keyboard.press("Escape")
    assert tab.errors == []


def test_a_preset_chosen_first_decides_how_answers_are_read(tab: StudioTab) -> None:
    """Also of suites whose answers can be read in one way only: that is no departure."""
    waiting: list[Route] = []
    tab.page.route("**/api/suites", lambda route: waiting.append(route))
    with tab.page.expect_request("**/api/suites"):
        tab.button("Evaluate on tasks…").click()
    dialog = dialog_of(tab.page, "Evaluate")
    dialog.get_by_label("Preset").select_option("paper")
    waiting[0].continue_()
    for title in ("AIME 2025", "IFBench"):
        dialog.get_by_role("checkbox", name=title).check()
    dialog.get_by_label("Repetitions", exact=True).fill("1")
    dialog.get_by_role("button", name="Start evaluation").click()
    departures = dialog.locator(".departures")
    expect(departures).to_contain_text("IFBench")
    expect(departures).not_to_contain_text("extraction")


def test_a_judge_has_settings_of_its_own(tab: StudioTab) -> None:
    tab.button("Evaluate on tasks…").click()
    dialog = dialog_of(tab.page, "Evaluate")
    dialog.get_by_role("checkbox", name="UGPhysics").check()
    dialog.get_by_label("Judge’s model").fill("j")
    status = dialog.get_by_role("status")
    dialog.get_by_label("Judge’s word for right").fill("CORRECT")
    expect(status).to_contain_text("two words")
    dialog.get_by_label("Judge’s word for wrong").fill("INCORRECT")
    expect(status).to_contain_text("need a prompt that asks for them")
    prompt = dialog.get_by_label("Judge’s prompt")
    prompt.fill("Is {answer} CORRECT or INCORRECT?")
    expect(status).to_contain_text("must contain {expected}")
    prompt.fill("Is {answer}, compared with {expected}, CORRECT or INCORRECT?")
    dialog.get_by_label("Judge’s temperature").fill("0.7")
    dialog.get_by_label("Judge’s tokens, at most").fill("16384")
    with tab.page.expect_request("**/api/evaluations/check") as sent:
        dialog.get_by_role("button", name="Start evaluation").click()
    body = sent.value.post_data_json
    assert body is not None
    judge = body["judge"]
    assert {name: judge[name] for name in ("temperature", "maxTokens", "right", "wrong")} == {
        "temperature": 0.7, "maxTokens": 16384, "right": "CORRECT", "wrong": "INCORRECT"
    }  # fmt: skip


def test_members_and_tasks_are_added_and_evaluations_merged(tab: StudioTab, tasks: Path) -> None:
    page = tab.page
    dialog = open_dialog(tab, tasks)
    dialog.get_by_label("Tasks, at most of AIME 2025").fill("1")
    dialog.get_by_role("button", name="Remove With sandbox").click()
    start(dialog, "Start 1 run")
    progress = page.locator(".progress-text")
    expect(progress).to_have_text("1 of 1 run done")
    tab.button("Add…").click()
    adding = dialog_of(page, "Add members or tasks")
    expect(adding.get_by_text("There are: Without sandbox.")).to_be_visible()
    expect(adding.get_by_role("status")).to_have_text(
        "Add a member, or choose a suite with further tasks."
    )
    adding.get_by_role("button", name="+ Add member").click()
    adding.get_by_label("ModeWith sandbox").select_option("sandbox")
    upload(adding, tasks)
    expect(adding.get_by_label("Repetitions of AIME 2025")).to_have_count(0)
    adding.get_by_label("Tasks, at most of AIME 2025").fill("2")
    adding.get_by_role("button", name="Add and start").click()
    adding.get_by_role("button", name="Start 3 runs").click()
    expect(adding).to_be_hidden()
    expect(progress).to_have_text("4 of 4 runs done")
    expect(page.get_by_role("grid").get_by_role("row")).to_have_count(3)

    page.get_by_role("button", name="New").first.click()
    dialog = open_dialog(tab, tasks)
    start(dialog, "Start 8 runs")
    expect(progress).to_have_text("8 of 8 runs done")
    tab.button("Merge…").click()
    merging = dialog_of(page, "Merge evaluations")
    expect(merging.get_by_role("button", name="Merge")).to_be_disabled()
    merging.get_by_role("checkbox").check()
    merging.get_by_label("Title").fill("Both")
    merging.get_by_role("button", name="Merge").click()
    expect(progress).to_have_text("12 of 12 runs done")
    expect(page.locator(".legend").first).to_contain_text("Without sandbox 3")
    expect(tab.button("Add…")).to_be_hidden()
    assert tab.errors == []
