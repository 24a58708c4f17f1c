"""The history dialog: listing, searching, opening, renaming, pinning and deleting runs."""

import io
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from agent import prompts
from agent.data_folder import DataFolder
from agent.limits import Limits
from agent.models import demonstration
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import Task
from agent.settings import Settings
from tests.support.component.accessibility import check_accessible
from tests.support.component.routes import LocalStudio
from tests.support.component.stage import Look, looks
from tests.support.models.endpoint import Endpoint, ScriptedTurns
from tests.support.models.scripted import ScriptedModel
from tests.support.models.turns import SUBMIT, bash
from tests.support.recorded_runs import stored_hashes, write_ended_run
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab, open_studio

pytestmark = pytest.mark.component

SCROLL_TO_END = """most => {
  const list = document.querySelector(".history .scroller");
  list.scrollTop = list.scrollHeight;
  return list.querySelectorAll(".title").length >= most;
}"""
HOSTILE = '<img src=x onerror="window.hacked = 1"> ${alert(1)} \u202eevil\u202c {{x}}'
WIDTHS = looks(roles=["owner"], themes=["light"])


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (300, 200), "teal").save(buffer, "PNG")
    return buffer.getvalue()


def delete(studio: LocalStudio) -> None:
    """Confirm a deletion."""
    studio.history.get_by_role("button", name="Delete", exact=True).last.click()


def test_an_empty_history_explains_itself(studio: LocalStudio) -> None:
    expect(studio.show_history()).to_contain_text("No runs yet.")
    expect(studio.page.get_by_role("region", name="Your runs")).to_have_count(0)


def test_runs_are_grouped_by_day_with_their_details(studio: LocalStudio) -> None:
    now = time.time()
    studio.write("Chart the data\nin blue", at=now - 60, files={"output/a.png": png()})
    studio.write("A demonstration", at=now - 40 * 86_400, metered=False, status="step_limit")
    dialog = studio.show_history()
    expect(dialog.get_by_role("status")).to_contain_text("2 runs · ")
    expect(dialog).to_contain_text(
        "Runs that are not pinned are deleted when all runs together take"
    )
    first, last = studio.entry("Chart the data"), studio.entry("A demonstration")
    for fact in ("submitted", "test-model", "1 step", "≈ 31.5k tokens", "5.0 s", "KB"):
        expect(first).to_contain_text(fact)
    for fact in ("step limit reached", "scripted"):
        expect(last).to_contain_text(fact)
    expect(first.locator(".title")).to_have_text("Chart the data")
    days = dialog.get_by_role("heading", level=3).all_inner_texts()
    assert len(days) == 2
    assert re.fullmatch(r"\w+day,? .*\d+.*", days[1])
    expect(first.locator("img")).to_have_js_property("naturalWidth", 96)


@pytest.mark.browser
@pytest.mark.e2e("opens an earlier run from the history and sees its steps, files and answer")
@pytest.mark.main_path
def test_a_run_opens_from_the_history_with_all_its_content(
    browser: Browser, studio_url: str, data: Path
) -> None:
    folder = write_ended_run(
        data, "Survey the lake", answer="Mostly trout.", files={"output/a.txt": b"a"}
    )
    folder.set_title("The lake")
    with open_studio(browser, studio_url) as tab:
        tab.button("History").click()
        dialog = tab.page.get_by_role("dialog", name="History")
        entry = dialog.get_by_role("listitem").filter(has_text="The lake").get_by_role("link")
        entry.click()
        expect(dialog).to_be_hidden()
        expect(tab.timeline).to_contain_text("Survey the lake")
        expect(tab.timeline).to_contain_text("Mostly trout.")
        expect(tab.state).to_contain_text("submitted")
        expect(tab.page.locator(".pill.model")).to_have_text("test-model")
        expect(tab.page.get_by_role("heading", level=1)).to_have_text("The lake")
        expect(tab.page).to_have_title("The lake")
        expect(tab.page).to_have_url(re.compile(f"run={folder.id}"))
        tab.file("output").press("ArrowRight")
        expect(tab.file("a.txt")).to_be_visible()
        tab.button("History").click()
        expect(entry).to_have_attribute("aria-current", "page")


def test_the_start_page_lists_the_latest_runs(studio: LocalStudio) -> None:
    for number in range(5):
        studio.write(f"Task {number}", at=time.time() - 1_000 + number)
    studio.show()
    mine = studio.page.get_by_role("region", name="Your runs")
    expect(mine.get_by_role("link")).to_have_count(3)
    expect(mine.get_by_role("link").first).to_contain_text("Task 4")
    mine.get_by_role("button", name="All 5 runs").click()
    expect(studio.titles).to_have_count(5)
    studio.page.keyboard.press("Escape")
    mine.get_by_role("link").nth(1).click()
    expect(studio.page).to_have_title("Task 3")


def test_the_search_filters_while_typing(studio: LocalStudio) -> None:
    studio.write("Survey the lake", answer="Mostly trout, they say.")
    studio.write("Something else")
    dialog = studio.show_history()
    expect(studio.titles).to_have_count(2)
    studio.page.keyboard.type("TROUT")
    expect(studio.titles).to_have_text(["Survey the lake"])
    expect(dialog.get_by_role("status")).to_contain_text("1 run found")
    expect(studio.entry("Survey").locator("mark")).to_have_text("trout")
    studio.page.keyboard.type(" salmon")
    expect(dialog).to_contain_text("No runs match “TROUT salmon”.")
    expect(dialog).to_contain_text(
        "Searched: titles, conversations, commands, outputs, models and file names"
    )
    studio.page.keyboard.press("Escape")
    expect(studio.titles).to_have_count(2)
    studio.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize("look", WIDTHS, ids=str)
def test_a_search_result_opens_at_its_place(studio: LocalStudio, look: Look) -> None:
    studio.write("Count the auks", answer="Nine. The razorbills were away.")
    studio.write("Where are the razorbills?")
    studio.show_history(look=look).get_by_role("searchbox").fill("razorbill")
    expect(studio.titles).to_have_text(["Where are the razorbills?", "Count the auks"])
    expect(studio.history.get_by_role("heading", level=3)).to_have_text(["In the title", "Today"])
    found = studio.entry("Count the auks").locator(".found")
    expect(found).to_have_text("AnswerNine. The razorbills were away.")
    expect(found.locator("mark")).to_have_text("razorbill")
    studio.entry("Count the auks").locator(".title").click()
    find = studio.page.get_by_role("searchbox", name="Find in run")
    expect(find).to_have_value("razorbill")
    expect(studio.page.get_by_text("1 of 1 match")).to_be_visible()
    answer = studio.stage.timeline.get_by_text("Nine. The razorbills were away.", exact=True)
    expect(answer).to_be_in_viewport()


def test_a_run_renamed_in_the_list_or_the_header_has_its_title_everywhere(
    studio: LocalStudio,
) -> None:
    folder = studio.write("Survey the lake")
    studio.show(folder)
    other = studio.page.context.new_page()
    other.goto(studio.page.url)
    other.evaluate("mountComponents(['header', 'timeline'], false, {})")
    expect(other).to_have_title("Survey the lake")
    studio.page.bring_to_front()
    studio.open_history()
    entry = studio.entry("Survey")
    entry.hover()
    entry.get_by_role("button", name="Rename").click()
    field = studio.history.get_by_role("textbox", name="Title")
    expect(field).to_have_value("Survey the lake")
    field.fill("Trout")
    field.press("Escape")
    expect(studio.titles).to_have_text(["Survey the lake"])
    entry.get_by_role("link").press("F2")
    field.fill("Trout and perch")
    field.press("Enter")
    expect(studio.titles).to_have_text(["Trout and perch"])
    expect(studio.page).to_have_title("Trout and perch")
    expect(other).to_have_title("Trout and perch")
    assert RunFolder.open(studio.data, folder.id).title == "Trout and perch"
    studio.page.keyboard.press("Escape")
    heading = studio.page.get_by_role("heading", level=1)
    for title, shown in (("Trout", "Trout"), ("", "Survey the lake")):
        heading.get_by_role("button").click()
        studio.page.get_by_role("textbox", name="Title").fill(title)
        studio.page.keyboard.press("Enter")
        expect(heading).to_have_text(shown)
        expect(studio.page).to_have_title(shown)
    assert RunFolder.open(studio.data, folder.id).title == ""


def test_a_demonstration_shows_its_title_in_the_header_and_the_list(studio: LocalStudio) -> None:
    task = demonstration.load("journey").task
    folder = studio.write(task, model="Demonstration", metered=False)
    studio.write("**Bold** words first")
    studio.show(folder)
    expect(studio.page).to_have_title("Map a journey")
    expect(studio.page.locator(".app-header .title")).to_have_text("Map a journey")
    studio.open_history()
    expect(studio.titles).to_have_text(["Bold words first", "Map a journey"])
    studio.history.get_by_role("searchbox").fill("map a jour")
    expect(studio.titles).to_have_text(["Map a journey"])


@pytest.mark.parametrize("look", WIDTHS, ids=str)
def test_a_draft_is_listed_with_its_files_and_opens_with_its_text(
    studio: LocalStudio, look: Look
) -> None:
    studio.write("Survey the lake")
    draft_folder = RunFolder.open(studio.data, studio.routes.services.runs.create_draft())
    for at in range(12):
        (draft_folder.workspace / "input" / f"report {at}.txt").write_bytes(b"x" * 5000)
    studio.show(draft_folder, look)
    task = studio.stage.task
    task.fill("Compare these reports")
    studio.stage.button("New run").click()
    expect(task).to_have_value("")
    latest = studio.page.get_by_role("region", name="Your runs").get_by_role("listitem").first
    expect(latest).to_contain_text("Compare these reports")
    if look.size == WIDE:
        expect(latest).to_contain_text("draft, 12 files")

    dialog = studio.open_history()
    expect(dialog.get_by_role("status")).to_contain_text("1 run, 1 draft · ")
    expect(dialog.get_by_role("region").first).to_have_attribute("data-day", re.compile("Drafts"))
    draft = dialog.get_by_role("listitem").first
    for fact in ("Compare these reports", "draft", "12 files"):
        expect(draft).to_contain_text(fact)
    dialog.get_by_role("searchbox").fill("report")
    expect(studio.titles).to_have_text(["Compare these reports"])
    draft.get_by_role("link").click()
    expect(task).to_have_value("Compare these reports")
    if look.size == WIDE:
        expect(studio.stage.file("report 3.txt")).to_be_visible()

    studio.open_history()
    draft.hover()
    draft.get_by_role("button", name="Delete").click()
    delete(studio)
    expect(studio.titles).to_have_text(["Survey the lake"])


def test_deleting_shows_the_freed_size_and_asks_for_confirmation(studio: LocalStudio) -> None:
    folder = studio.write("Survey the lake", files={"output/big": os.urandom(3_000_000)})
    studio.write("Something else")
    dialog = studio.show_history(folder)
    entry = studio.entry("Survey")
    entry.hover()
    entry.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("Delete “Survey the lake” and all files?")
    freed = dialog.locator(".frees")
    expect(freed).to_have_text(re.compile(r"This frees 5\.\d MB and cannot be undone\."))
    size = freed.inner_text().split()[2]
    dialog.get_by_role("button", name="Cancel", exact=True).click()
    expect(studio.titles).to_have_count(2)
    entry.get_by_role("link").press("Delete")
    delete(studio)
    expect(studio.titles).to_have_text(["Something else"])
    expect(dialog.get_by_role("status")).to_have_text(f"Deleted 1 run. {size} MB freed.")
    assert not folder.path.exists()
    assert not folder.sandbox_folder.exists()
    studio.page.keyboard.press("Escape")
    expect(studio.page).not_to_have_url(re.compile("run="))
    expect(studio.stage.timeline).to_contain_text("Give a language model a computer")


def test_several_runs_are_deleted_at_once(studio: LocalStudio) -> None:
    for name in ("One", "Two", "Three"):
        studio.write(name)
    dialog = studio.show_history()
    for name in ("One", "Three"):
        studio.entry(name).hover()
        studio.entry(name).get_by_role("checkbox").check()
    expect(dialog).to_contain_text("2 runs selected")
    dialog.get_by_role("button", name="Delete…").click()
    expect(dialog).to_contain_text("Delete 2 runs and all files?")
    delete(studio)
    expect(studio.titles).to_have_text(["Two"])
    assert len(RunFolder.all(studio.data)) == 1


def test_a_pinned_run_cannot_be_deleted_until_it_is_unpinned(studio: LocalStudio) -> None:
    folder = studio.write("Survey the lake")
    studio.write("Something else")
    dialog = studio.show_history()
    entry = studio.entry("Survey")
    pin = entry.get_by_role("button", name="Pin “Survey the lake”")
    entry.hover()
    pin.click()
    expect(pin).to_have_attribute("aria-pressed", "true")
    assert RunFolder.open(studio.data, folder.id).pinned
    only = dialog.get_by_role("button", name="Pinned", exact=True)
    only.click()
    expect(studio.titles).to_have_text(["Survey the lake"])
    expect(dialog.get_by_role("status")).to_contain_text("1 run found")
    entry.get_by_role("link").press("Delete")
    expect(dialog).to_contain_text("“Survey the lake” is pinned. Unpin it first.")
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
    dialog.get_by_role("button", name="Unpin…").click()
    expect(dialog).to_contain_text("Delete “Survey the lake” and all files?")
    dialog.get_by_role("button", name="Cancel", exact=True).click()
    only.click()
    expect(studio.titles).to_have_count(2)
    for pressed in ("true", "false"):
        entry.get_by_role("link").press("p")
        expect(pin).to_have_attribute("aria-pressed", pressed)
        expect(entry.get_by_role("link")).to_be_focused()


def test_pinned_runs_are_cards_with_a_picture_above_the_list(studio: LocalStudio) -> None:
    studio.write("Paint the lake", files={"output/a.png": png()}).set_pinned(True)
    studio.write("Something else")
    cards = studio.show_history().get_by_role("region", name="Pinned runs")
    expect(cards.get_by_role("link")).to_have_count(1)
    expect(cards.locator("img")).not_to_have_js_property("naturalWidth", 0)
    studio.history.get_by_role("searchbox").fill("else")
    expect(cards).to_be_hidden()
    studio.history.get_by_role("searchbox").fill("")
    cards.get_by_role("link", name="Paint the lake").click()
    expect(studio.history).to_be_hidden()
    expect(studio.stage.timeline.locator(".task")).to_contain_text("Paint the lake")


def test_an_active_run_is_updated_in_the_list_and_cannot_be_deleted(studio: LocalStudio) -> None:
    runs = studio.routes.services.runs
    while not runs.admission.queue.count_waiting(None):
        runs.admission.queue.enter()
    run = runs.create_draft()
    task = Task("Wait a while", prompts.get_bundled("general"))
    runs.start(run, task, ScriptedModel([]), Limits())
    dialog = studio.show_history()
    entry = studio.entry("Wait a while")
    expect(entry).to_contain_text("queued")
    before = entry.locator(".took").inner_text()
    expect(entry.locator(".took")).not_to_have_text(before)
    entry.get_by_role("link").press("Delete")
    expect(dialog).to_contain_text("“Wait a while” is still running. Stop it before you delete it.")
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
    runs.stop(run)
    expect(entry).to_contain_text("stopped")


def test_a_run_deleted_in_one_tab_is_closed_in_the_other(studio: LocalStudio) -> None:
    studio.show(studio.write("Survey the lake"))
    here = studio.page.context.new_page()
    here.goto(studio.page.url)
    here.evaluate("mountComponents(['header', 'timeline', 'notice'], false, {})")
    expect(here).to_have_title("Survey the lake")
    studio.page.bring_to_front()
    studio.open_history()
    studio.entry("Survey").get_by_role("link").press("Delete")
    delete(studio)
    expect(here.get_by_role("region", name="Timeline")).to_contain_text(
        "Give a language model a computer"
    )
    expect(here.locator(".notice")).to_contain_text("There is no such run.")


def test_hostile_titles_are_escaped_and_stay_on_one_line(studio: LocalStudio) -> None:
    task = f"{HOSTILE}\nsecond line"
    studio.write(task, answer=HOSTILE, model=HOSTILE, files={"output/<b>.png": png()})
    studio.write("x" * 10_000).set_title("y" * 10_000)
    studio.show_history()
    entry = studio.entry("<img src=x")
    expect(entry.locator(".title")).to_have_text(HOSTILE)
    studio.history.get_by_role("searchbox").fill("<img")
    expect(studio.titles).to_have_count(1)
    expect(entry.locator("mark").first).to_have_text("<img")
    expect(studio.history.locator("img[src='x']")).to_have_count(0)
    studio.history.get_by_role("searchbox").fill("")
    expect(studio.titles).to_have_count(2)
    heights = studio.history.locator(".entry").evaluate_all("all => all.map(e => e.offsetHeight)")
    assert max(heights) < 80
    entry.get_by_role("link").click()
    expect(studio.page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
    assert studio.page.evaluate("window.hacked") is None


def test_a_model_name_is_shortened_only_where_there_is_no_room(studio: LocalStudio) -> None:
    studio.write("Survey the lake", model="Qwen/Qwen3-30B-A3B-Instruct")
    studio.write("Count the auks", model="a-name-of-a-model-" * 9)
    studio.show_history(look=Look(size=NARROW))
    for title, is_shortened in (("Survey the lake", False), ("Count the auks", True)):
        model = studio.entry(title).locator(".model")
        assert model.evaluate("model => model.scrollWidth > model.clientWidth") == is_shortened
        assert model.evaluate("model => getComputedStyle(model).textOverflow") == "ellipsis"


@pytest.mark.parametrize(("size", "most"), [(WIDE, 1), (NARROW, 2)])
def test_facts_are_whole_lines(studio: LocalStudio, size: tuple[int, int], most: int) -> None:
    studio.write("Survey the lake", model="a-name-of-a-model-" * 9)
    studio.show_history(look=Look(size=size))
    facts = studio.entry("Survey the lake").locator(".facts")
    lines = facts.evaluate(
        "each => each.clientHeight / parseFloat(getComputedStyle(each).lineHeight)"
    )
    assert lines == pytest.approx(most, abs=0.05)


def test_an_unreadable_run_is_marked_and_can_be_deleted(studio: LocalStudio) -> None:
    studio.write("whole")
    garbage, cut = studio.write("garbage"), studio.write("cut")
    (garbage.path / "run.json").write_bytes(os.urandom(200))
    cut.journal.write_bytes(cut.journal.read_bytes()[:30])
    dialog = studio.show_history()
    broken = dialog.get_by_role("listitem").filter(has_text="unreadable")
    expect(broken).to_have_count(2)
    broken.first.get_by_role("link").click()
    expect(dialog.get_by_role("status")).to_have_text(
        "Its record cannot be read. It can be deleted."
    )
    for left in (1, 0):
        broken.first.get_by_role("link").press("Delete")
        delete(studio)
        expect(broken).to_have_count(left)
    expect(studio.titles).to_have_text(["whole"])
    assert len(list((studio.data / "sandboxes").iterdir())) == 1


def test_many_runs_are_loaded_in_pages_while_scrolling(studio: LocalStudio) -> None:
    for number in reversed(range(200)):  # what was written last is indexed first
        studio.write(f"Task {number}", at=time.time() - 100 - 4_000 * number)
    studio.routes.services.catalog.start_indexing()
    dialog = studio.show_history()
    expect(dialog.get_by_role("status")).to_contain_text("200 runs")
    expect(studio.titles.first).to_have_text("Task 0")
    assert studio.titles.count() <= 150
    studio.page.wait_for_function(SCROLL_TO_END, arg=200)
    seen = studio.titles.all_text_contents()
    assert seen == [f"Task {number}" for number in range(len(seen))]
    studio.history.get_by_role("searchbox").fill("task 17")
    expect(dialog.get_by_role("status")).to_contain_text("12 runs found")


def test_the_history_works_by_keyboard(studio: LocalStudio) -> None:
    for name, age in (("Old", 500), ("New", 100)):
        studio.write(name, at=time.time() - age)
    studio.show()
    press = studio.page.keyboard.press
    press("Control+k")
    expect(studio.titles).to_have_text(["New", "Old"])
    expect(studio.history.get_by_role("searchbox")).to_be_focused()
    press("ArrowDown")
    press("ArrowDown")
    expect(studio.entry("Old").get_by_role("link")).to_be_focused()
    press("Space")
    expect(studio.entry("Old").get_by_role("checkbox")).to_be_checked()
    press("Escape")
    expect(studio.entry("Old").get_by_role("checkbox")).not_to_be_checked()
    press("Control+k")
    expect(studio.history).to_be_hidden()
    press("Control+k")
    expect(studio.titles).to_have_count(2)
    press("ArrowDown")
    press("Enter")
    expect(studio.page).to_have_title("New")


def test_the_history_is_accessible_in_every_look(studio: LocalStudio) -> None:
    studio.write("Survey the lake", files={"output/a.png": png()})
    studio.write("Failed", status="failed")
    studio.show_history().get_by_role("searchbox").fill("e")
    expect(studio.entry("Survey").locator("mark").first).to_be_visible()
    studio.entry("Survey").get_by_role("link").press("Delete")
    expect(studio.history).to_contain_text("This frees")
    check_accessible(studio.stage, ".history[open]", looks(roles=["owner"]))


@contextmanager
def open_docker_studio(browser: Browser, settings: Settings) -> Iterator[StudioTab]:
    """Open a tab on an application with Docker sandboxes, in the settings' data folder."""
    with (
        DataFolder(settings.data) as data,
        run_server(create_app(settings, DockerSandboxProvider(settings, data))) as url,
        open_studio(browser, url) as tab,
    ):
        yield tab


@pytest.mark.engine
@pytest.mark.browser
@pytest.mark.e2e("continues an old run after a restart, in a new sandbox with its files")
def test_an_old_run_continues_in_a_new_sandbox_with_its_files(
    browser: Browser, image: str, tmp_path: Path
) -> None:
    script = ScriptedTurns()
    with Endpoint(script) as endpoint:
        settings = Settings(
            data=tmp_path, image=image, base_url=endpoint.url, model="first-model", warm_sandboxes=0
        )
        script.turns = [bash("echo 41 > output/n; mkdir -p deep/er; echo x > deep/er/f"), SUBMIT]
        with open_docker_studio(browser, settings) as tab:
            tab.send("Begin to count")
            expect(tab.state).to_contain_text("submitted", timeout=90_000)
        command = "echo $(($(cat output/n) + 1)) > output/n; cat output/n deep/er/f"
        script.turns = [bash(command), SUBMIT]
        with open_docker_studio(browser, replace(settings, model="second-model")) as tab:
            tab.button("History").click()
            dialog = tab.page.get_by_role("dialog", name="History")
            entry = dialog.get_by_role("listitem").filter(has_text="Begin to count")
            expect(entry).to_contain_text("first-model")
            entry.get_by_role("link").click()
            expect(tab.timeline).to_contain_text("echo 41 > output/n")
            tab.send("Go on")
            expect(tab.timeline.locator(".round-end")).to_have_count(2, timeout=90_000)
            expect(tab.timeline).to_contain_text("42\nx")
            expect(tab.page).to_have_title("Begin to count")
            tab.button("History").click()
            expect(entry).to_contain_text("second-model")
            entry.get_by_role("link").press("Delete")
            dialog.get_by_role("button", name="Delete", exact=True).click()
            expect(dialog).to_contain_text("No runs yet.")
        assert list((tmp_path / "sandboxes").iterdir()) == []
        assert stored_hashes(tmp_path) == set()
