"""The history dialog: listing, searching, opening, renaming, pinning and deleting runs."""

import io
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Locator, expect

from agent.data_folder import DataFolder
from agent.models import demonstration
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.settings import Settings
from tests.support import httpx
from tests.support.browser.page_pool import release_page, take_page
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, ScriptedTurns, Turn
from tests.support.recorded_runs import write_ended_run
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = pytest.mark.browser

SCROLL_TO_END = """most => {
  const list = document.querySelector(".history .scroller");
  list.scrollTop = list.scrollHeight;
  return list.querySelectorAll(".title").length >= most;
}"""
SUBMIT = Turn(text="Done.", calls=[Call("submit")])
HOSTILE = '<img src=x onerror="window.hacked = 1"> ${alert(1)} \u202eevil\u202c {{x}}'


def bash(command: str) -> Turn:
    return Turn(text="I work.", calls=[Call("execute_bash", {"command": command})])


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (300, 200), "teal").save(buffer, "PNG")
    return buffer.getvalue()


class HistoryTab(StudioTab):
    """A tab with locators for the history dialog."""

    def open_history(self) -> Locator:
        """Open the history; returns it."""
        self.button("History").click()
        return self.dialog

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog", name="History")

    def entry(self, title: str) -> Locator:
        return self.dialog.get_by_role("listitem").filter(has_text=title)

    @property
    def titles(self) -> Locator:
        return self.dialog.locator(".entry .title")


@pytest.fixture(scope="module")
def script() -> ScriptedTurns:
    return ScriptedTurns()


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def studio_url(data_folder: Path, script: ScriptedTurns) -> Iterator[str]:
    with Endpoint(script) as endpoint:
        settings = Settings(data=data_folder, base_url=endpoint.url, model="test-model")
        with run_server(create_app(settings, LocalSandboxProvider(data_folder))) as studio_url:
            yield studio_url


@pytest.fixture
def data(data_folder: Path, studio_url: str) -> Iterator[Path]:
    """The application's data folder, without runs; the fixture deletes those that a test adds."""
    yield data_folder
    runs = RunFolder.ids(data_folder)
    for at in range(0, len(runs), 200):
        httpx.delete(f"{studio_url}/api/runs", params={"run": runs[at : at + 200]}, timeout=60)
    assert RunFolder.ids(data_folder) == []


OpenTab = Callable[..., HistoryTab]


@pytest.fixture
def open_tab(browser: Browser, studio_url: str, data: Path) -> Iterator[OpenTab]:
    """Open a tab; the test fails on console errors and if injected script ran."""
    tabs = list[HistoryTab]()

    def open_tab(path: str = "", size: tuple[int, int] = WIDE, **more: Any) -> HistoryTab:
        viewport = {"width": size[0], "height": size[1]}
        tabs.append(HistoryTab(take_page(browser, viewport=viewport, **more)))
        tabs[-1].open(f"{studio_url}/{path}")
        return tabs[-1]

    yield open_tab
    for tab in tabs:
        assert tab.page.evaluate("window.hacked") is None
        assert tab.errors == []
    for tab in tabs:
        release_page(tab.page)


def test_an_empty_history_explains_itself(open_tab: OpenTab) -> None:
    tab = open_tab()
    expect(tab.open_history()).to_contain_text("No runs yet.")
    expect(tab.page.get_by_role("region", name="Your runs")).to_have_count(0)


def test_runs_are_grouped_by_day_with_their_details(open_tab: OpenTab, data: Path) -> None:
    now = time.time()
    write_ended_run(data, "Chart the data\nin blue", at=now - 60, files={"output/a.png": png()})
    write_ended_run(
        data, "A demonstration", at=now - 40 * 86_400, metered=False, status="step_limit"
    )
    tab = open_tab()
    dialog = tab.open_history()
    expect(dialog.get_by_role("status")).to_contain_text("2 runs · ")
    expect(dialog).to_contain_text(
        "Runs that are not pinned are deleted when all runs together take"
    )
    first, last = tab.entry("Chart the data"), tab.entry("A demonstration")
    for fact in ("submitted", "test-model", "1 step", "≈ 31.5k tokens", "5.0 s", "KB"):
        expect(first).to_contain_text(fact)
    for fact in ("step limit reached", "scripted"):
        expect(last).to_contain_text(fact)
    expect(first.locator(".title")).to_have_text("Chart the data")
    days = dialog.get_by_role("heading", level=3).all_inner_texts()
    assert len(days) == 2
    assert re.fullmatch(r"\w+day,? .*\d+.*", days[1])
    picture = first.locator("img")
    expect(picture).to_have_js_property("complete", True)
    assert picture.evaluate("each => each.naturalWidth") == 96


@pytest.mark.e2e("opens an earlier run from the history and sees its steps, files and answer")
@pytest.mark.main_path
def test_a_run_opens_from_the_history_with_all_its_content(open_tab: OpenTab, data: Path) -> None:
    folder = write_ended_run(
        data, "Survey the lake", answer="Mostly trout.", files={"output/a.txt": b"a"}
    )
    folder.set_title("The lake")
    tab = open_tab()
    tab.open_history()
    tab.entry("The lake").get_by_role("link").click()
    expect(tab.dialog).to_be_hidden()
    expect(tab.timeline).to_contain_text("Survey the lake")
    expect(tab.timeline).to_contain_text("Mostly trout.")
    expect(tab.state).to_contain_text("submitted")
    expect(tab.page.locator(".pill.model")).to_have_text("test-model")
    expect(tab.page.get_by_role("heading", level=1)).to_have_text("The lake")
    expect(tab.page).to_have_title("The lake")
    expect(tab.page).to_have_url(re.compile(f"run={folder.id}"))
    tab.file("output").press("ArrowRight")
    expect(tab.file("a.txt")).to_be_visible()
    tab.open_history()
    expect(tab.entry("The lake").get_by_role("link")).to_have_attribute("aria-current", "page")


def test_the_start_page_lists_the_latest_runs(open_tab: OpenTab, data: Path) -> None:
    for number in range(5):
        write_ended_run(data, f"Task {number}", at=time.time() - 1_000 + number)
    tab = open_tab()
    mine = tab.page.get_by_role("region", name="Your runs")
    expect(mine.get_by_role("link")).to_have_count(3)
    expect(mine.get_by_role("link").first).to_contain_text("Task 4")
    mine.get_by_role("button", name="All 5 runs").click()
    expect(tab.titles).to_have_count(5)
    tab.page.keyboard.press("Escape")
    mine.get_by_role("link").nth(1).click()
    expect(tab.page).to_have_title("Task 3")


def test_the_search_filters_while_typing(open_tab: OpenTab, data: Path) -> None:
    write_ended_run(data, "Survey the lake", answer="Mostly trout, they say.")
    write_ended_run(data, "Something else")
    tab = open_tab()
    dialog = tab.open_history()
    expect(tab.titles).to_have_count(2)
    tab.page.keyboard.type("TROUT")
    expect(tab.titles).to_have_text(["Survey the lake"])
    expect(dialog.get_by_role("status")).to_contain_text("1 run found")
    expect(tab.entry("Survey").locator("mark")).to_have_text("trout")
    tab.page.keyboard.type(" salmon")
    expect(dialog).to_contain_text("No runs match “TROUT salmon”.")
    expect(dialog).to_contain_text(
        "Searched: titles, conversations, commands, outputs, models and file names"
    )
    tab.page.keyboard.press("Escape")
    expect(tab.titles).to_have_count(2)
    tab.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_search_result_opens_at_its_place(
    open_tab: OpenTab, data: Path, size: tuple[int, int]
) -> None:
    write_ended_run(data, "Count the auks", answer="Nine. The razorbills were away.")
    write_ended_run(data, "Where are the razorbills?")
    tab = open_tab(size=size)
    tab.open_history()
    tab.dialog.get_by_role("searchbox").fill("razorbill")
    expect(tab.titles).to_have_text(["Where are the razorbills?", "Count the auks"])
    expect(tab.dialog.get_by_role("heading", level=3)).to_have_text(["In the title", "Today"])
    found = tab.entry("Count the auks").locator(".found")
    expect(found).to_have_text("AnswerNine. The razorbills were away.")
    expect(found.locator("mark")).to_have_text("razorbill")
    tab.entry("Count the auks").locator(".title").click()
    expect(tab.page.get_by_role("searchbox", name="Find in run")).to_have_value("razorbill")
    expect(tab.page.get_by_text("1 of 1 match")).to_be_visible()
    answer = tab.timeline.get_by_text("Nine. The razorbills were away.", exact=True)
    expect(answer).to_be_in_viewport()


def test_a_run_renamed_in_the_list_keeps_its_title(open_tab: OpenTab, data: Path) -> None:
    folder = write_ended_run(data, "Survey the lake")
    tab = open_tab(f"?run={folder.id}")
    other = tab.page.context.new_page()
    other.goto(tab.page.url)
    expect(other).to_have_title("Survey the lake")
    tab.page.bring_to_front()
    tab.open_history()
    entry = tab.entry("Survey")
    entry.hover()
    entry.get_by_role("button", name="Rename").click()
    field = tab.dialog.get_by_role("textbox", name="Title")
    expect(field).to_have_value("Survey the lake")
    field.fill("Trout")
    field.press("Escape")
    expect(tab.titles).to_have_text(["Survey the lake"])
    tab.entry("Survey").get_by_role("link").press("F2")
    field.fill("Trout and perch")
    field.press("Enter")
    expect(tab.titles).to_have_text(["Trout and perch"])
    expect(tab.page).to_have_title("Trout and perch")
    assert RunFolder.open(data, folder.id).title == "Trout and perch"
    expect(other).to_have_title("Trout and perch")
    tab.page.keyboard.press("Escape")
    tab.page.reload()
    expect(tab.page).to_have_title("Trout and perch")


def test_a_demonstration_shows_its_title_in_the_header_and_the_list(
    open_tab: OpenTab, data: Path
) -> None:
    script = demonstration.load("journey")
    folder = write_ended_run(data, script.task, model="Demonstration", metered=False)
    write_ended_run(data, "**Bold** words first")
    tab = open_tab(f"?run={folder.id}")
    expect(tab.page).to_have_title("Map a journey")
    expect(tab.page.locator(".app-header .title")).to_have_text("Map a journey")
    tab.open_history()
    expect(tab.titles).to_have_text(["Bold words first", "Map a journey"])
    tab.dialog.get_by_role("searchbox").fill("map a jour")
    expect(tab.titles).to_have_text(["Map a journey"])


def test_the_title_can_be_edited_in_the_header(open_tab: OpenTab, data: Path) -> None:
    folder = write_ended_run(data, "Survey the lake")
    tab = open_tab(f"?run={folder.id}")
    heading = tab.page.get_by_role("heading", level=1)
    heading.get_by_role("button").click()
    tab.page.get_by_role("textbox", name="Title").fill("Trout")
    tab.page.keyboard.press("Enter")
    expect(heading).to_have_text("Trout")
    expect(tab.page).to_have_title("Trout")
    heading.get_by_role("button").click()
    tab.page.get_by_role("textbox", name="Title").fill("")
    tab.page.keyboard.press("Enter")
    expect(heading).to_have_text("Survey the lake")
    assert RunFolder.open(data, folder.id).title == ""


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_draft_is_listed_with_its_files_and_opens_with_its_text(
    open_tab: OpenTab, data: Path, size: tuple[int, int]
) -> None:
    write_ended_run(data, "Survey the lake")
    tab = open_tab("", size)
    files: list[Any] = [
        {"name": f"report {at}.txt", "mimeType": "text/plain", "buffer": b"x" * 5000}
        for at in range(12)
    ]
    tab.page.get_by_label("Files to attach").set_input_files(files)
    tab.task.fill("Compare these reports")
    expect(tab.page).to_have_url(re.compile("run="))
    expect(tab.page.locator("#hint")).not_to_contain_text("Uploading")
    tab.button("New run").click()
    expect(tab.task).to_have_value("")
    latest = tab.page.get_by_role("region", name="Your runs")
    expect(latest.get_by_role("listitem").first).to_contain_text("Compare these reports")
    if size == WIDE:
        expect(latest.get_by_role("listitem").first).to_contain_text("draft, 12 files")

    tab.open_history()
    expect(tab.dialog.get_by_role("status")).to_contain_text("1 run, 1 draft · ")
    expect(tab.dialog.get_by_role("region").first).to_have_attribute(
        "data-day", re.compile("Drafts")
    )
    draft = tab.dialog.get_by_role("listitem").first
    for fact in ("Compare these reports", "draft", "12 files"):
        expect(draft).to_contain_text(fact)
    tab.dialog.get_by_role("searchbox").fill("report")
    expect(tab.titles).to_have_text(["Compare these reports"])
    draft.get_by_role("link").click()
    expect(tab.task).to_have_value("Compare these reports")
    if size == WIDE:
        expect(tab.file("report 3.txt")).to_be_visible()

    tab.open_history()
    draft.hover()
    draft.get_by_role("button", name="Delete").click()
    tab.dialog.get_by_role("button", name="Delete", exact=True).last.click()
    expect(tab.titles).to_have_text(["Survey the lake"])


def test_deleting_shows_the_freed_size_and_asks_for_confirmation(
    open_tab: OpenTab, data: Path
) -> None:
    folder = write_ended_run(data, "Survey the lake", files={"output/big": os.urandom(3_000_000)})
    write_ended_run(data, "Something else")
    tab = open_tab(f"?run={folder.id}")
    dialog = tab.open_history()
    entry = tab.entry("Survey")
    entry.hover()
    entry.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("Delete “Survey the lake” and all files?")
    freed = dialog.locator(".frees")
    expect(freed).to_have_text(re.compile(r"This frees 5\.\d MB and cannot be undone\."))
    size = freed.inner_text().split()[2]
    dialog.get_by_role("button", name="Cancel", exact=True).click()
    expect(tab.titles).to_have_count(2)
    tab.entry("Survey").get_by_role("link").press("Delete")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(tab.titles).to_have_text(["Something else"])
    expect(dialog.get_by_role("status")).to_have_text(f"Deleted 1 run. {size} MB freed.")
    assert not folder.path.exists()
    assert not folder.sandbox_folder.exists()
    tab.page.keyboard.press("Escape")
    expect(tab.page).not_to_have_url(re.compile("run="))
    expect(tab.timeline).to_contain_text("Give a language model a computer")


def test_several_runs_are_deleted_at_once(open_tab: OpenTab, data: Path) -> None:
    for name in ("One", "Two", "Three"):
        write_ended_run(data, name)
    tab = open_tab()
    dialog = tab.open_history()
    for name in ("One", "Three"):
        tab.entry(name).hover()
        tab.entry(name).get_by_role("checkbox").check()
    expect(dialog).to_contain_text("2 runs selected")
    dialog.get_by_role("button", name="Delete…").click()
    expect(dialog).to_contain_text("Delete 2 runs and all files?")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(tab.titles).to_have_text(["Two"])
    assert len(RunFolder.all(data)) == 1


def test_a_pinned_run_cannot_be_deleted_until_it_is_unpinned(open_tab: OpenTab, data: Path) -> None:
    folder = write_ended_run(data, "Survey the lake")
    write_ended_run(data, "Something else")
    tab = open_tab()
    dialog = tab.open_history()
    entry = tab.entry("Survey")
    pin = entry.get_by_role("button", name="Pin “Survey the lake”")
    entry.hover()
    pin.click()
    expect(pin).to_have_attribute("aria-pressed", "true")
    assert RunFolder.open(data, folder.id).pinned
    only = dialog.get_by_role("button", name="Pinned", exact=True)
    only.click()
    expect(tab.titles).to_have_text(["Survey the lake"])
    expect(dialog.get_by_role("status")).to_contain_text("1 run found")
    entry.get_by_role("link").press("Delete")
    expect(dialog).to_contain_text("“Survey the lake” is pinned. Unpin it first.")
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
    dialog.get_by_role("button", name="Unpin…").click()
    expect(dialog).to_contain_text("Delete “Survey the lake” and all files?")
    dialog.get_by_role("button", name="Cancel", exact=True).click()
    only.click()
    expect(tab.titles).to_have_count(2)
    entry.get_by_role("link").press("p")
    expect(pin).to_have_attribute("aria-pressed", "true")
    expect(entry.get_by_role("link")).to_be_focused()
    entry.get_by_role("link").press("p")
    expect(pin).to_have_attribute("aria-pressed", "false")


def test_pinned_runs_are_cards_with_a_picture_above_the_list(open_tab: OpenTab, data: Path) -> None:
    folder = write_ended_run(data, "Paint the lake", files={"output/a.png": png()})
    folder.set_pinned(True)
    write_ended_run(data, "Something else")
    tab = open_tab()
    cards = tab.open_history().get_by_role("region", name="Pinned runs")
    expect(cards.get_by_role("link")).to_have_count(1)
    expect(cards.locator("img")).to_have_js_property("complete", True)
    assert cards.locator("img").evaluate("image => image.naturalWidth") > 0
    tab.dialog.get_by_role("searchbox").fill("else")
    expect(cards).to_be_hidden()
    tab.dialog.get_by_role("searchbox").fill("")
    cards.get_by_role("link", name="Paint the lake").click()
    expect(tab.dialog).to_be_hidden()
    expect(tab.timeline.locator(".task")).to_contain_text("Paint the lake")
    folder.set_pinned(False)  # so that it is deleted


def test_an_active_run_is_updated_in_the_list_and_cannot_be_deleted(
    open_tab: OpenTab, script: ScriptedTurns
) -> None:
    script.turns = [bash("sleep 600"), SUBMIT]
    tab = open_tab()
    tab.send("Wait a while")
    expect(tab.state).to_contain_text("running a command")
    dialog = tab.open_history()
    entry = tab.entry("Wait a while")
    expect(entry).to_contain_text("running a command")
    before = entry.locator(".took").inner_text()
    expect(entry.locator(".took")).not_to_have_text(before)
    entry.get_by_role("link").press("Delete")
    expect(dialog).to_contain_text("“Wait a while” is still running. Stop it before you delete it.")
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("Escape")
    tab.button("Stop").click()
    tab.open_history()
    expect(entry).to_contain_text("stopped")


def test_a_run_deleted_in_one_tab_is_closed_in_the_other(open_tab: OpenTab, data: Path) -> None:
    folder = write_ended_run(data, "Survey the lake")
    here, there = open_tab(f"?run={folder.id}"), open_tab()
    expect(here.page).to_have_title("Survey the lake")
    there.open_history()
    there.entry("Survey").get_by_role("link").press("Delete")
    there.dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(here.timeline).to_contain_text("Give a language model a computer")
    expect(here.page.locator(".notice")).to_contain_text("There is no such run.")
    here.errors.clear()  # the 404 of the deleted run


def test_hostile_titles_are_escaped_and_stay_on_one_line(open_tab: OpenTab, data: Path) -> None:
    task = f"{HOSTILE}\nsecond line"
    write_ended_run(data, task, answer=HOSTILE, model=HOSTILE, files={"output/<b>.png": png()})
    long_run = write_ended_run(data, "x" * 10_000)
    long_run.set_title("y" * 10_000)
    tab = open_tab()
    tab.open_history()
    expect(tab.entry("<img src=x").locator(".title")).to_have_text(HOSTILE)
    tab.dialog.get_by_role("searchbox").fill("<img")
    expect(tab.titles).to_have_count(1)
    expect(tab.entry("<img src=x").locator("mark").first).to_have_text("<img")
    assert tab.dialog.locator("img[src='x']").count() == 0
    tab.dialog.get_by_role("searchbox").fill("")
    expect(tab.titles).to_have_count(2)
    heights = {round(box["height"]) for box in map(_box, tab.dialog.locator(".entry").all())}
    assert max(heights) < 80
    tab.entry("<img src=x").get_by_role("link").click()
    expect(tab.page.get_by_role("heading", level=1)).to_contain_text("<img src=x")


def _box(locator: Locator) -> Any:
    return locator.bounding_box()


def test_an_unreadable_run_is_marked_and_can_be_deleted(open_tab: OpenTab, data: Path) -> None:
    write_ended_run(data, "whole")
    garbage, cut = write_ended_run(data, "garbage"), write_ended_run(data, "cut")
    (garbage.path / "run.json").write_bytes(os.urandom(200))
    cut.journal.write_bytes(cut.journal.read_bytes()[:30])
    tab = open_tab()
    dialog = tab.open_history()
    broken = dialog.get_by_role("listitem").filter(has_text="unreadable")
    expect(broken).to_have_count(2)
    broken.first.get_by_role("link").click()
    expect(dialog.get_by_role("status")).to_have_text(
        "Its record cannot be read. It can be deleted."
    )
    for left in (1, 0):
        broken.first.get_by_role("link").press("Delete")
        dialog.get_by_role("button", name="Delete", exact=True).click()
        expect(broken).to_have_count(left)
    expect(tab.titles).to_have_text(["whole"])
    assert len(list((data / "sandboxes").iterdir())) == 1


def test_a_thousand_runs_are_loaded_in_pages_while_scrolling(open_tab: OpenTab, data: Path) -> None:
    for number in reversed(range(1_000)):  # what was written last is indexed first
        write_ended_run(data, f"Task {number}", at=time.time() - 100 - 4_000 * number)
    tab = open_tab()
    dialog = tab.open_history()
    expect(dialog.get_by_role("status")).to_contain_text("1,000 runs")
    expect(tab.titles.first).to_have_text("Task 0")
    assert tab.titles.count() <= 150
    tab.page.wait_for_function(SCROLL_TO_END, arg=400)
    seen = tab.titles.all_text_contents()
    assert seen == [f"Task {number}" for number in range(len(seen))]
    tab.dialog.get_by_role("searchbox").fill("task 77")
    expect(dialog.get_by_role("status")).to_contain_text("19 runs found")


def test_the_history_works_by_keyboard(open_tab: OpenTab, data: Path) -> None:
    for name in ("Old", "New"):
        write_ended_run(data, name, at=time.time() - (500 if name == "Old" else 100))
    tab = open_tab()
    press = tab.page.keyboard.press
    press("Control+k")
    expect(tab.titles).to_have_text(["New", "Old"])
    expect(tab.dialog.get_by_role("searchbox")).to_be_focused()
    press("ArrowDown")
    press("ArrowDown")
    expect(tab.entry("Old").get_by_role("link")).to_be_focused()
    press("Space")
    expect(tab.entry("Old").get_by_role("checkbox")).to_be_checked()
    press("Escape")
    expect(tab.entry("Old").get_by_role("checkbox")).not_to_be_checked()
    press("Control+k")
    expect(tab.dialog).to_be_hidden()
    press("Control+k")
    expect(tab.titles).to_have_count(2)
    press("ArrowDown")
    press("Enter")
    expect(tab.page).to_have_title("New")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_history_is_accessible(
    open_tab: OpenTab, data: Path, size: tuple[int, int], scheme: str
) -> None:
    write_ended_run(data, "Survey the lake", files={"output/a.png": png()})
    write_ended_run(data, "Failed", status="failed")
    tab = open_tab(size=size, color_scheme=scheme)
    tab.open_history()
    tab.dialog.get_by_role("searchbox").fill("e")
    expect(tab.entry("Survey").locator("mark").first).to_be_visible()
    tab.entry("Survey").get_by_role("link").press("Delete")
    expect(tab.dialog).to_contain_text("This frees")
    found = Axe().run(tab.page, ".history[open]", {"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
    width = tab.page.evaluate("document.documentElement.scrollWidth")
    assert width <= size[0]


# On the real engine


@pytest.mark.engine
def test_an_old_run_continues_in_a_new_sandbox_with_its_files(
    browser: Browser, image: str, tmp_path: Path, script: ScriptedTurns
) -> None:
    command = "echo 41 > output/n; mkdir -p deep/er; echo x > deep/er/f"
    with Endpoint(script) as endpoint:
        settings = Settings(
            data=tmp_path, image=image, base_url=endpoint.url, model="first-model", warm_sandboxes=0
        )
        script.turns = [bash(command), SUBMIT]
        with _open_studio(browser, settings) as tab:
            tab.send("Begin to count")
            expect(tab.state).to_contain_text("submitted", timeout=90_000)
        script.turns = [
            bash("echo $(($(cat output/n) + 1)) > output/n; cat output/n deep/er/f"),
            SUBMIT,
        ]
        with _open_studio(browser, settings, model="second-model") as tab:
            tab.open_history()
            expect(tab.entry("Begin to count")).to_contain_text("first-model")
            tab.entry("Begin to count").get_by_role("link").click()
            expect(tab.state).to_contain_text("submitted")
            expect(tab.timeline).to_contain_text("echo 41 > output/n")
            tab.task.fill("Go on")
            tab.button("Run").click()
            expect(tab.timeline.locator(".task").last).to_contain_text("Go on")
            expect(tab.timeline.locator(".round-end")).to_have_count(2, timeout=90_000)
            expect(tab.timeline).to_contain_text("42\nx")
            expect(tab.page).to_have_title("Begin to count")
            tab.open_history()
            expect(tab.entry("Begin to count")).to_contain_text("second-model")
            tab.entry("Begin to count").get_by_role("link").press("Delete")
            tab.dialog.get_by_role("button", name="Delete", exact=True).click()
            expect(tab.dialog).to_contain_text("No runs yet.")
        assert list((tmp_path / "sandboxes").iterdir()) == []
        assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []


@contextmanager
def _open_studio(browser: Browser, settings: Settings, model: str = "") -> Iterator[HistoryTab]:
    """Run the application and open a tab on it."""
    settings = replace(settings, model=model or settings.model)
    with DataFolder(settings.data) as data:
        app = create_app(settings, DockerSandboxProvider(settings, data))
        context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
        with run_server(app) as studio_url:
            tab = HistoryTab(context.new_page())
            tab.open(studio_url)
            yield tab
            context.close()
        assert tab.errors == []
