"""Comparisons in a browser: started in the composer, followed live, presented, selected later."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support import httpx
from tests.support.browser.page_pool import release_page, take_page
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.recorded_runs import write_ended_run
from tests.support.server import serve_studio, wait_until
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

TASK = "How many words are in the file?"
WAITING = Turn(text="I wait.", calls=[Call("execute_bash", {"command": "echo up; sleep 600"})])
HOSTILE = '<img src=x onerror="window.hacked = 1"> ${alert(1)} {{x}}'


def answers_by_mode(body: Any) -> Turn:
    """Without tools a wrong answer; with them a command, then the right one."""
    if not body.get("tools"):
        return Turn(text="About 90 words.")
    if any(message["role"] == "tool" for message in body["messages"]):
        return Turn(text="The file has 12 words.")
    return Turn(text="I count.", calls=[Call("execute_bash", {"command": "echo 12 words"})])


class CompareServer:
    """A running application whose model answers as ``script`` says."""

    def __init__(self, data: Path) -> None:
        self.url, self.data = "", data
        self.script: Callable[[Any], Turn] = answers_by_mode

    def start(self, repetitions: int = 1, members: int = 2, **fields: Any) -> str:
        """Start a comparison of plain and sandbox members; returns its id."""
        modes = ["plain", *["sandbox"] * (members - 1)]
        body = {
            "task": TASK, "members": [{"mode": mode} for mode in modes],
            "repetitions": repetitions, "expected": {"kind": "number", "answer": "12"}, **fields,
        }  # fmt: skip
        response = httpx.post(f"{self.url}/api/comparisons", json=body)
        response.raise_for_status()
        return str(response.json()["id"])

    def read(self, comparison: str) -> Any:
        return httpx.get(f"{self.url}/api/comparisons/{comparison}").json()

    def finished(self, **options: Any) -> str:
        """Start a comparison and wait for its end; returns its id."""
        comparison = self.start(**options)
        wait_until(lambda: self.read(comparison)["state"] != "running")
        return comparison


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CompareServer]:
    server = CompareServer(tmp_path_factory.mktemp("data"))
    with (
        Endpoint(lambda body: server.script(body)) as endpoint,
        serve_studio(server.data, base_url=endpoint.url, model="test-model") as server.url,
    ):
        yield server


@pytest.fixture
def server(application: CompareServer) -> CompareServer:
    application.script = answers_by_mode
    return application


class CompareTab(StudioTab):
    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.comparison = page.locator("section.comparison")
        self.verdict = page.get_by_role("group", name="Verdict")
        self.columns = self.comparison.locator(".column")
        self.panel = page.get_by_role("region", name="Comparison of members")


OpenTab = Callable[..., CompareTab]


@pytest.fixture
def open_tab(browser: Browser, server: CompareServer) -> Iterator[OpenTab]:
    """Open a tab with the page; the test fails if the console of any tab shows an error."""
    opened: list[CompareTab] = []

    def open_tab(size: tuple[int, int] = WIDE, comparison: str = "") -> CompareTab:
        tab = CompareTab(take_page(browser, viewport={"width": size[0], "height": size[1]}))
        opened.append(tab)
        if comparison:
            tab.page.goto(f"{server.url}/?compare={comparison}")
            expect(tab.comparison).to_be_visible()
        else:
            tab.open(server.url)
        return tab

    yield open_tab
    for each in opened:
        release_page(each.page)
    assert [error for each in opened for error in each.errors] == []


@pytest.mark.e2e("starts a comparison and watches its runs side by side to the verdict")
@pytest.mark.main_path
def test_the_composer_starts_a_comparison_that_plays_to_its_verdict(
    open_tab: OpenTab,
) -> None:
    tab = open_tab()
    tab.task.fill(TASK)
    tab.button("Compare").click()
    expect(tab.panel.get_by_role("button", name=re.compile("^Edit"))).to_have_text(
        ["Without sandbox", "With sandbox"]
    )
    tab.panel.get_by_label("Expected answer").select_option("number")
    tab.panel.get_by_label("Answer", exact=True).fill("12")
    tab.button("Start comparison").click()
    expect(tab.verdict).to_contain_text("With a computer: right. Without: wrong.")
    expect(tab.state).to_have_text("2 of 2 finished")
    score = tab.comparison.locator('tr[data-key="score"]')
    expect(score).to_contain_text("1.00")  # of one run each, none is told to be the best
    expect(tab.columns.nth(1)).to_contain_text("echo 12 words")
    assert "compare=" in tab.page.url
    tab.page.reload()
    expect(tab.verdict).to_contain_text("With a computer: right. Without: wrong.")


def test_members_are_added_edited_and_removed_and_need_a_task(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.button("Compare").click()
    chips = tab.panel.get_by_role("button", name=re.compile("^Edit"))
    for count in range(3, 13):
        tab.button("+ Add member").click()
        expect(chips).to_have_count(count)
    expect(tab.button("+ Add member")).to_be_disabled()
    form = tab.panel.get_by_role("group", name="Member")
    form.get_by_text("Advanced").click()
    form.get_by_label("Temperature").fill("0.5")
    form.get_by_label("Label").fill("Warm")
    expect(chips.last).to_have_text("Warm")
    tab.button("Remove Warm").click()
    expect(chips).to_have_count(11)
    tab.button("Start comparison").click()
    expect(tab.panel.get_by_role("status")).to_have_text("Describe a task first.")
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("Escape")
    expect(tab.panel).to_have_count(0)
    expect(tab.button("Run")).to_be_visible()


def test_columns_stream_and_all_members_are_stopped(
    open_tab: OpenTab, server: CompareServer
) -> None:
    server.script = lambda _: WAITING
    tab = open_tab(comparison=server.start(members=3, expected=None))
    heads = tab.comparison.locator(".head")
    expect(heads.filter(has_text="running a command")).to_have_count(2)
    expect(heads.first).to_contain_text("failed")  # without a sandbox there are no tools
    expect(tab.columns.nth(1)).to_contain_text("echo up")
    tab.button("Stop the comparison").click()
    expect(tab.state).to_contain_text("stopped")
    expect(tab.button("Resume")).to_be_visible()
    server.script = answers_by_mode
    tab.button("Resume").click()
    expect(tab.state).to_have_text("3 of 3 finished")


def test_another_repetition_is_chosen_and_a_run_opened_and_left_again(
    open_tab: OpenTab, server: CompareServer
) -> None:
    tab = open_tab(comparison=server.finished(repetitions=3))
    chooser = tab.comparison.get_by_role("combobox").first
    expect(chooser.locator("option")).to_have_text(
        ["Run 1 · wrong", "Run 2 · wrong", "Run 3 · wrong"]
    )
    links = tab.comparison.get_by_role("link", name="Open this run")
    before = links.first.get_attribute("href")
    chooser.select_option(index=0)
    expect(links.first).not_to_have_attribute("href", before or "")
    expect(tab.comparison.locator(".thread").first).to_contain_text("About 90 words.")
    links.nth(1).click()
    expect(tab.timeline.locator(".round-end")).to_contain_text("12 words")
    expect(tab.comparison).to_have_count(0)
    tab.page.go_back()
    expect(tab.verdict).to_contain_text("With a computer")


def test_a_deleted_run_is_named(open_tab: OpenTab, server: CompareServer) -> None:
    comparison = server.finished()
    run = server.read(comparison)["members"][0]["runs"][0]["run"]
    httpx.delete(f"{server.url}/api/runs?run={run}").raise_for_status()
    tab = open_tab(comparison=comparison)
    expect(tab.columns.first).to_contain_text("This run was deleted.")
    expect(tab.columns.nth(1)).to_contain_text("12 words")


def test_text_of_models_never_becomes_markup(open_tab: OpenTab, server: CompareServer) -> None:
    server.script = lambda _: Turn(text=HOSTILE)
    tab = open_tab(comparison=server.finished(task=HOSTILE))
    expect(tab.comparison.locator(".task-text")).to_have_text(HOSTILE)
    expect(tab.comparison.locator(".answer-text").first).to_have_text(HOSTILE)
    assert tab.page.evaluate("window.hacked") is None


def test_an_unknown_comparison_leads_to_the_first_screen(
    open_tab: OpenTab,
) -> None:
    tab = open_tab()
    tab.page.goto(f"{tab.page.url.split('?')[0]}?compare={'0' * 32}")
    expect(tab.page.get_by_role("alert").filter(has_text="comparison")).to_be_visible()
    expect(tab.task).to_be_visible()
    tab.errors.clear()  # the browser reports the response 404


def test_under_900_pixels_the_members_are_tabs(open_tab: OpenTab, server: CompareServer) -> None:
    tab = open_tab(NARROW, comparison=server.finished())
    tabs = tab.comparison.get_by_role("tab")
    expect(tabs).to_have_count(2)
    expect(tab.comparison.get_by_role("tabpanel")).to_have_count(1)
    tabs.first.focus()
    tab.page.keyboard.press("ArrowRight")
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    expect(tab.comparison.get_by_role("tabpanel")).to_contain_text("echo 12 words")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_with_more_members_the_baseline_stays_in_view(
    open_tab: OpenTab, server: CompareServer
) -> None:
    tab = open_tab(comparison=server.finished(members=5))
    columns = tab.comparison.locator(".member-columns")
    heads = tab.comparison.locator(".heads")
    before = _left(tab.columns.first)
    columns.evaluate("each => (each.scrollLeft = 600)")
    wait_until(lambda: heads.evaluate("each => each.scrollLeft") > 0)
    assert before == _left(tab.columns.first)
    assert heads.evaluate("each => each.scrollLeft") == columns.evaluate("each => each.scrollLeft")


def test_the_key_p_presents_a_comparison_and_a_run(
    open_tab: OpenTab, server: CompareServer
) -> None:
    tab = open_tab(comparison=server.finished())
    expect(tab.verdict).to_contain_text("right")
    tab.page.keyboard.press("p")
    expect(tab.button("History")).to_be_hidden()
    expect(tab.verdict).to_be_visible()
    answer = tab.comparison.get_by_text("The file has 12 words.").filter(visible=True)
    expect(answer.and_(tab.page.locator(":not(.step *)"))).to_have_count(1)
    expect(tab.comparison.get_by_role("rowheader").filter(visible=True)).to_have_count(0)
    expect(tab.comparison.locator(".measures td").filter(visible=True)).to_have_count(6)
    for head in tab.comparison.locator(".head").all():
        expect(head).to_be_in_viewport()
    tab.page.keyboard.press("Escape")
    expect(tab.button("History")).to_be_visible()
    tab.comparison.get_by_role("link", name="Open this run").nth(1).click()
    expect(tab.timeline.locator(".round-end")).to_be_visible()
    tab.timeline.locator(".thread").focus()
    tab.page.keyboard.press("p")
    expect(tab.task).to_be_hidden()
    expect(tab.timeline.locator(".round-end")).to_be_visible()
    tab.page.keyboard.press("Escape")
    expect(tab.task).to_be_visible()


def _left(element: Locator) -> float:
    box = element.bounding_box()
    assert box is not None
    return box["x"]


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_page_is_accessible(
    open_tab: OpenTab, server: CompareServer, size: tuple[int, int]
) -> None:
    tab = open_tab(size, comparison=server.finished(repetitions=2))
    expect(tab.verdict).to_contain_text("right")
    expect(tab.page.locator(".comparison-chart canvas").first).to_be_attached()
    report = Axe().run(tab.page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert report.violations_count == 0, report.generate_report()


def test_selected_runs_are_compared_or_it_says_what_differs(
    open_tab: OpenTab, server: CompareServer
) -> None:
    write_ended_run(server.data, "Say one.", answer="One.", model="first")
    write_ended_run(server.data, "Say one.", answer="1", model="second")
    write_ended_run(server.data, "Say another.", answer="Two.")
    tab = open_tab()
    dialog = tab.page.get_by_role("dialog", name="History")
    tab.button("History").click()
    boxes = dialog.get_by_role("checkbox", name=re.compile("Say"))
    expect(boxes).to_have_count(3)
    for box in boxes.all():
        box.check()
    dialog.get_by_role("button", name="Compare").click()
    expect(dialog.get_by_role("alert")).to_contain_text("task")
    tab.errors.clear()  # the browser reports the response 409
    dialog.get_by_role("checkbox", name="Select “Say another.”").uncheck()
    dialog.get_by_role("button", name="Compare").click()
    expect(tab.columns).to_have_count(2)
    expect(tab.comparison.locator(".answer-text")).to_have_text([re.compile("^(One.|1)$")] * 2)


def test_the_row_of_a_comparison_unfolds_into_its_runs(
    open_tab: OpenTab, server: CompareServer
) -> None:
    server.finished(title="Words of a file")
    tab = open_tab()
    tab.button("History").click()
    entry = tab.page.get_by_role("dialog", name="History").locator(".comparison-entry")
    entry = entry.filter(has_text="Words of a file")
    expect(entry).to_contain_text("2 runs")
    entry.get_by_role("button", name="Runs of “Words of a file”").click()
    expect(entry.locator("a.sub-run")).to_have_count(2)
    entry.locator("a.open").click()
    expect(tab.verdict).to_contain_text("right")
