"""History on the page: what a person finds there again, and what they do with it."""

import io
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Locator, expect

from agent.data_folder import DataFolder
from agent.models import demonstration
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.settings import Settings
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.recorded_runs import write_ended_run
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = pytest.mark.browser

TO_THE_END = """most => {
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


class Played:
    """An endpoint's answers, as a test gives them."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def __call__(self, body: dict[str, Any]) -> Turn:
        return self.turns.pop(0)


class Visitor(StudioTab):
    """A person with the page open, and what of it belongs to their history."""

    def history(self) -> Locator:
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
def played() -> Played:
    return Played()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def studio_url(place: Path, played: Played) -> Iterator[str]:
    with Endpoint(played) as endpoint:
        settings = Settings(data=place, base_url=endpoint.url, model="test-model")
        with run_server(create_app(settings, LocalSandboxProvider(place))) as studio_url:
            yield studio_url


@pytest.fixture
def data(place: Path, studio_url: str) -> Iterator[Path]:
    """The data folder of the application, without any run in it; none is left behind."""
    yield place
    runs = RunFolder.ids(place)
    for at in range(0, len(runs), 200):
        httpx.delete(f"{studio_url}/api/runs", params={"run": runs[at : at + 200]}, timeout=60)
    assert RunFolder.ids(place) == []


Visit = Callable[..., Visitor]


@pytest.fixture
def visit(browser: Browser, studio_url: str, data: Path) -> Iterator[Visit]:
    """Opens a tab; at the end no tab may have complained, and nothing foreign has run."""
    contexts, visitors = [], list[Visitor]()

    def opened(path: str = "", size: tuple[int, int] = WIDE, **more: Any) -> Visitor:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **more)
        contexts.append(context)
        visitors.append(Visitor(context.new_page()))
        visitors[-1].open(f"{studio_url}/{path}")
        return visitors[-1]

    yield opened
    for visitor in visitors:
        assert visitor.page.evaluate("window.hacked") is None
        assert visitor.errors == []
    for context in contexts:
        context.close()


def test_an_empty_history_says_what_it_is_for(visit: Visit) -> None:
    visitor = visit()
    expect(visitor.history()).to_contain_text("No runs yet.")
    expect(visitor.page.get_by_role("region", name="Your runs")).to_have_count(0)


def test_runs_stand_under_their_day_with_what_they_were(visit: Visit, data: Path) -> None:
    now = time.time()
    write_ended_run(data, "Chart the data\nin blue", at=now - 60, files={"output/a.png": png()})
    write_ended_run(
        data, "A demonstration", at=now - 40 * 86_400, metered=False, status="step_limit"
    )
    visitor = visit()
    dialog = visitor.history()
    expect(dialog.get_by_role("status")).to_contain_text("2 runs · ")
    expect(dialog).to_contain_text(
        "Runs that are not pinned are deleted when all runs together take"
    )
    first, last = visitor.entry("Chart the data"), visitor.entry("A demonstration")
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


def test_a_run_is_opened_and_all_of_it_is_there(visit: Visit, data: Path) -> None:
    folder = write_ended_run(
        data, "Survey the lake", answer="Mostly trout.", files={"output/a.txt": b"a"}
    )
    folder.set_title("The lake")
    visitor = visit()
    visitor.history()
    visitor.entry("The lake").get_by_role("link").click()
    expect(visitor.dialog).to_be_hidden()
    expect(visitor.timeline).to_contain_text("Survey the lake")
    expect(visitor.timeline).to_contain_text("Mostly trout.")
    expect(visitor.state).to_contain_text("submitted")
    expect(visitor.page.locator(".pill.model")).to_have_text("test-model")
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("The lake")
    expect(visitor.page).to_have_title("The lake")
    expect(visitor.page).to_have_url(re.compile(f"run={folder.id}"))
    visitor.file("output").press("ArrowRight")
    expect(visitor.file("a.txt")).to_be_visible()
    visitor.history()
    expect(visitor.entry("The lake").get_by_role("link")).to_have_attribute("aria-current", "page")


def test_the_latest_runs_are_on_the_page_before_a_run(visit: Visit, data: Path) -> None:
    for number in range(5):
        write_ended_run(data, f"Task {number}", at=time.time() - 1_000 + number)
    visitor = visit()
    mine = visitor.page.get_by_role("region", name="Your runs")
    expect(mine.get_by_role("link")).to_have_count(3)
    expect(mine.get_by_role("link").first).to_contain_text("Task 4")
    mine.get_by_role("button", name="All 5 runs").click()
    expect(visitor.titles).to_have_count(5)
    visitor.page.keyboard.press("Escape")
    mine.get_by_role("link").nth(1).click()
    expect(visitor.page).to_have_title("Task 3")


def test_words_are_searched_while_they_are_written(visit: Visit, data: Path) -> None:
    write_ended_run(data, "Survey the lake", answer="Mostly trout, they say.")
    write_ended_run(data, "Something else")
    visitor = visit()
    dialog = visitor.history()
    expect(visitor.titles).to_have_count(2)
    visitor.page.keyboard.type("TROUT")
    expect(visitor.titles).to_have_text(["Survey the lake"])
    expect(dialog.get_by_role("status")).to_contain_text("1 run found")
    expect(visitor.entry("Survey").locator("mark")).to_have_text("trout")
    visitor.page.keyboard.type(" salmon")
    expect(dialog).to_contain_text("No runs match “TROUT salmon”.")
    expect(dialog).to_contain_text(
        "Searched: titles, tasks, messages, answers, models and file names"
    )
    visitor.page.keyboard.press("Escape")
    expect(visitor.titles).to_have_count(2)
    visitor.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_run_is_renamed_in_place_and_keeps_its_name(visit: Visit, data: Path) -> None:
    folder = write_ended_run(data, "Survey the lake")
    visitor = visit(f"?run={folder.id}")
    other = visitor.page.context.new_page()
    other.goto(visitor.page.url)
    expect(other).to_have_title("Survey the lake")
    visitor.page.bring_to_front()
    visitor.history()
    entry = visitor.entry("Survey")
    entry.hover()
    entry.get_by_role("button", name="Rename").click()
    field = visitor.dialog.get_by_role("textbox", name="Title")
    expect(field).to_have_value("Survey the lake")
    field.fill("Trout")
    field.press("Escape")
    expect(visitor.titles).to_have_text(["Survey the lake"])
    visitor.entry("Survey").get_by_role("link").press("F2")
    field.fill("Trout and perch")
    field.press("Enter")
    expect(visitor.titles).to_have_text(["Trout and perch"])
    expect(visitor.page).to_have_title("Trout and perch")
    assert RunFolder.open(data, folder.id).title == "Trout and perch"
    expect(other).to_have_title("Trout and perch")
    visitor.page.keyboard.press("Escape")
    visitor.page.reload()
    expect(visitor.page).to_have_title("Trout and perch")


def test_a_demonstration_has_its_title_above_the_run_and_in_the_list(
    visit: Visit, data: Path
) -> None:
    script = demonstration.load("journey")
    folder = write_ended_run(data, script.task, model="Demonstration", metered=False)
    write_ended_run(data, "**Bold** words first")
    visitor = visit(f"?run={folder.id}")
    expect(visitor.page).to_have_title("Map a journey")
    expect(visitor.page.locator(".app-header .title")).to_have_text("Map a journey")
    visitor.history()
    expect(visitor.titles).to_have_text(["Bold words first", "Map a journey"])
    visitor.dialog.get_by_role("searchbox").fill("map a jour")
    expect(visitor.titles).to_have_text(["Map a journey"])


def test_the_title_above_the_run_is_written_over(visit: Visit, data: Path) -> None:
    folder = write_ended_run(data, "Survey the lake")
    visitor = visit(f"?run={folder.id}")
    heading = visitor.page.get_by_role("heading", level=1)
    heading.get_by_role("button").click()
    visitor.page.get_by_role("textbox", name="Title").fill("Trout")
    visitor.page.keyboard.press("Enter")
    expect(heading).to_have_text("Trout")
    expect(visitor.page).to_have_title("Trout")
    heading.get_by_role("button").click()
    visitor.page.get_by_role("textbox", name="Title").fill("")
    visitor.page.keyboard.press("Enter")
    expect(heading).to_have_text("Survey the lake")
    assert RunFolder.open(data, folder.id).title == ""


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_draft_is_listed_with_its_files_and_opened_with_what_was_typed(
    visit: Visit, data: Path, size: tuple[int, int]
) -> None:
    write_ended_run(data, "Survey the lake")
    visitor = visit("", size)
    files: list[Any] = [
        {"name": f"report {at}.txt", "mimeType": "text/plain", "buffer": b"x" * 5000}
        for at in range(12)
    ]
    visitor.page.get_by_label("Files to attach").set_input_files(files)
    visitor.task.fill("Compare these reports")
    expect(visitor.page).to_have_url(re.compile("run="))
    expect(visitor.page.locator("#hint")).not_to_contain_text("Uploading")
    visitor.button("New run").click()
    expect(visitor.task).to_have_value("")
    latest = visitor.page.get_by_role("region", name="Your runs")
    expect(latest.get_by_role("listitem").first).to_contain_text("Compare these reports")
    if size == WIDE:
        expect(latest.get_by_role("listitem").first).to_contain_text("draft, 12 files")

    visitor.history()
    expect(visitor.dialog.get_by_role("status")).to_contain_text("1 run, 1 draft · ")
    expect(visitor.dialog.get_by_role("region").first).to_have_attribute(
        "data-day", re.compile("Drafts")
    )
    draft = visitor.dialog.get_by_role("listitem").first
    for fact in ("Compare these reports", "draft", "12 files"):
        expect(draft).to_contain_text(fact)
    visitor.dialog.get_by_role("searchbox").fill("report")
    expect(visitor.titles).to_have_text(["Compare these reports"])
    draft.get_by_role("link").click()
    expect(visitor.task).to_have_value("Compare these reports")
    if size == WIDE:
        expect(visitor.file("report 3.txt")).to_be_visible()

    visitor.history()
    draft.hover()
    draft.get_by_role("button", name="Delete").click()
    visitor.dialog.get_by_role("button", name="Delete", exact=True).last.click()
    expect(visitor.titles).to_have_text(["Survey the lake"])


def test_deleting_tells_what_it_frees_and_asks_first(visit: Visit, data: Path) -> None:
    folder = write_ended_run(data, "Survey the lake", files={"output/big": os.urandom(3_000_000)})
    write_ended_run(data, "Something else")
    visitor = visit(f"?run={folder.id}")
    dialog = visitor.history()
    entry = visitor.entry("Survey")
    entry.hover()
    entry.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("Delete “Survey the lake” and all files?")
    told = dialog.locator(".frees")
    expect(told).to_have_text(re.compile(r"This frees 5\.\d MB and cannot be undone\."))
    size = told.inner_text().split()[2]
    dialog.get_by_role("button", name="Cancel", exact=True).click()
    expect(visitor.titles).to_have_count(2)
    visitor.entry("Survey").get_by_role("link").press("Delete")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(visitor.titles).to_have_text(["Something else"])
    expect(dialog.get_by_role("status")).to_have_text(f"Deleted 1 run. {size} MB freed.")
    assert not folder.path.exists()
    assert not folder.sandbox_folder.exists()
    visitor.page.keyboard.press("Escape")
    expect(visitor.page).not_to_have_url(re.compile("run="))
    expect(visitor.timeline).to_contain_text("Give a language model a computer")


def test_several_are_deleted_at_once(visit: Visit, data: Path) -> None:
    for name in ("One", "Two", "Three"):
        write_ended_run(data, name)
    visitor = visit()
    dialog = visitor.history()
    for name in ("One", "Three"):
        visitor.entry(name).hover()
        visitor.entry(name).get_by_role("checkbox").check()
    expect(dialog).to_contain_text("2 runs selected")
    dialog.get_by_role("button", name="Delete…").click()
    expect(dialog).to_contain_text("Delete 2 runs and all files?")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(visitor.titles).to_have_text(["Two"])
    assert len(RunFolder.all(data)) == 1


def test_a_run_is_pinned_and_is_not_deleted_before_it_is_let_go(visit: Visit, data: Path) -> None:
    folder = write_ended_run(data, "Survey the lake")
    write_ended_run(data, "Something else")
    visitor = visit()
    dialog = visitor.history()
    entry = visitor.entry("Survey")
    pin = entry.get_by_role("button", name="Pin “Survey the lake”")
    entry.hover()
    pin.click()
    expect(pin).to_have_attribute("aria-pressed", "true")
    assert RunFolder.open(data, folder.id).pinned
    only = dialog.get_by_role("button", name="Pinned", exact=True)
    only.click()
    expect(visitor.titles).to_have_text(["Survey the lake"])
    expect(dialog.get_by_role("status")).to_contain_text("1 run found")
    entry.get_by_role("link").press("Delete")
    expect(dialog).to_contain_text("“Survey the lake” is pinned. Unpin it first.")
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
    dialog.get_by_role("button", name="Unpin…").click()
    expect(dialog).to_contain_text("Delete “Survey the lake” and all files?")
    dialog.get_by_role("button", name="Cancel", exact=True).click()
    only.click()
    expect(visitor.titles).to_have_count(2)
    entry.get_by_role("link").press("p")
    expect(pin).to_have_attribute("aria-pressed", "true")
    expect(entry.get_by_role("link")).to_be_focused()
    entry.get_by_role("link").press("p")
    expect(pin).to_have_attribute("aria-pressed", "false")


def test_a_run_at_work_is_live_in_the_list_and_is_not_deleted(visit: Visit, played: Played) -> None:
    played.turns = [bash("sleep 600"), SUBMIT]
    visitor = visit()
    visitor.send("Wait a while")
    expect(visitor.state).to_contain_text("running a command")
    dialog = visitor.history()
    entry = visitor.entry("Wait a while")
    expect(entry).to_contain_text("running a command")
    before = entry.locator(".took").inner_text()
    expect(entry.locator(".took")).not_to_have_text(before)
    entry.get_by_role("link").press("Delete")
    expect(dialog).to_contain_text("“Wait a while” is still running. Stop it before you delete it.")
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
    visitor.page.keyboard.press("Escape")
    visitor.page.keyboard.press("Escape")
    visitor.button("Stop").click()
    visitor.history()
    expect(entry).to_contain_text("stopped")


def test_a_run_deleted_in_one_tab_is_left_by_the_other(visit: Visit, data: Path) -> None:
    folder = write_ended_run(data, "Survey the lake")
    here, there = visit(f"?run={folder.id}"), visit()
    expect(here.page).to_have_title("Survey the lake")
    there.history()
    there.entry("Survey").get_by_role("link").press("Delete")
    there.dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(here.timeline).to_contain_text("Give a language model a computer")
    expect(here.page.locator(".notice")).to_contain_text("There is no such run.")
    here.errors.clear()  # the refusal that told it


def test_what_others_wrote_is_text_and_stays_in_its_line(visit: Visit, data: Path) -> None:
    task = f"{HOSTILE}\nsecond line"
    write_ended_run(data, task, answer=HOSTILE, model=HOSTILE, files={"output/<b>.png": png()})
    long = write_ended_run(data, "x" * 10_000)
    long.set_title("y" * 10_000)
    visitor = visit()
    visitor.history()
    expect(visitor.entry("<img src=x").locator(".title")).to_have_text(HOSTILE)
    visitor.dialog.get_by_role("searchbox").fill("<img")
    expect(visitor.titles).to_have_count(1)
    expect(visitor.entry("<img src=x").locator("mark").first).to_have_text("<img")
    assert visitor.dialog.locator("img[src='x']").count() == 0
    visitor.dialog.get_by_role("searchbox").fill("")
    expect(visitor.titles).to_have_count(2)
    heights = {round(box["height"]) for box in map(_box, visitor.dialog.locator(".entry").all())}
    assert max(heights) < 80
    visitor.entry("<img src=x").get_by_role("link").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_contain_text("<img src=x")


def _box(locator: Locator) -> Any:
    return locator.bounding_box()


def test_a_broken_run_is_shown_as_such_and_can_be_deleted(visit: Visit, data: Path) -> None:
    write_ended_run(data, "whole")
    garbage, cut = write_ended_run(data, "garbage"), write_ended_run(data, "cut")
    (garbage.path / "run.json").write_bytes(os.urandom(200))
    cut.journal.write_bytes(cut.journal.read_bytes()[:30])
    visitor = visit()
    dialog = visitor.history()
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
    expect(visitor.titles).to_have_text(["whole"])
    assert len(list((data / "sandboxes").iterdir())) == 1


def test_a_thousand_runs_come_in_parts_as_they_are_scrolled_to(visit: Visit, data: Path) -> None:
    for number in range(1_000):
        write_ended_run(data, f"Task {number}", at=time.time() - 100 - 4_000 * number)
    visitor = visit()
    dialog = visitor.history()
    expect(dialog.get_by_role("status")).to_contain_text("1,000 runs")
    expect(visitor.titles.first).to_have_text("Task 0")
    assert visitor.titles.count() <= 150
    visitor.page.wait_for_function(TO_THE_END, arg=400)
    seen = visitor.titles.all_text_contents()
    assert seen == [f"Task {number}" for number in range(len(seen))]
    visitor.dialog.get_by_role("searchbox").fill("task 77")
    expect(dialog.get_by_role("status")).to_contain_text("19 runs found")


def test_the_keyboard_does_it_all(visit: Visit, data: Path) -> None:
    for name in ("Old", "New"):
        write_ended_run(data, name, at=time.time() - (500 if name == "Old" else 100))
    visitor = visit()
    press = visitor.page.keyboard.press
    press("Control+k")
    expect(visitor.titles).to_have_text(["New", "Old"])
    expect(visitor.dialog.get_by_role("searchbox")).to_be_focused()
    press("ArrowDown")
    press("ArrowDown")
    expect(visitor.entry("Old").get_by_role("link")).to_be_focused()
    press("Space")
    expect(visitor.entry("Old").get_by_role("checkbox")).to_be_checked()
    press("Escape")
    expect(visitor.entry("Old").get_by_role("checkbox")).not_to_be_checked()
    press("Control+k")
    expect(visitor.dialog).to_be_hidden()
    press("Control+k")
    expect(visitor.titles).to_have_count(2)
    press("ArrowDown")
    press("Enter")
    expect(visitor.page).to_have_title("New")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_and_used_by_everyone(
    visit: Visit, data: Path, size: tuple[int, int], scheme: str
) -> None:
    write_ended_run(data, "Survey the lake", files={"output/a.png": png()})
    write_ended_run(data, "Failed", status="failed")
    visitor = visit(size=size, color_scheme=scheme)
    visitor.history()
    visitor.dialog.get_by_role("searchbox").fill("e")
    expect(visitor.entry("Survey").locator("mark").first).to_be_visible()
    visitor.entry("Survey").get_by_role("link").press("Delete")
    expect(visitor.dialog).to_contain_text("This frees")
    found = Axe().run(visitor.page, ".history[open]", {"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
    wide = visitor.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= size[0]


# On the real engine


@pytest.mark.engine
def test_an_old_run_goes_on_in_a_new_sandbox_with_its_files(
    browser: Browser, image: str, tmp_path: Path, played: Played
) -> None:
    command = "echo 41 > output/n; mkdir -p deep/er; echo x > deep/er/f"
    with Endpoint(played) as endpoint:
        settings = Settings(
            data=tmp_path, image=image, base_url=endpoint.url, model="first-model", warm_sandboxes=0
        )
        played.turns = [bash(command), SUBMIT]
        with _studio(browser, settings) as visitor:
            visitor.send("Begin to count")
            expect(visitor.state).to_contain_text("submitted", timeout=90_000)
        played.turns = [
            bash("echo $(($(cat output/n) + 1)) > output/n; cat output/n deep/er/f"),
            SUBMIT,
        ]
        with _studio(browser, settings, model="second-model") as visitor:
            visitor.history()
            expect(visitor.entry("Begin to count")).to_contain_text("first-model")
            visitor.entry("Begin to count").get_by_role("link").click()
            expect(visitor.state).to_contain_text("submitted")
            expect(visitor.timeline).to_contain_text("echo 41 > output/n")
            visitor.task.fill("Go on")
            visitor.button("Run").click()
            expect(visitor.timeline.locator(".task").last).to_contain_text("Go on")
            expect(visitor.timeline.locator(".ending")).to_have_count(2, timeout=90_000)
            expect(visitor.timeline).to_contain_text("42\nx")
            expect(visitor.page).to_have_title("Begin to count")
            visitor.history()
            expect(visitor.entry("Begin to count")).to_contain_text("second-model")
            visitor.entry("Begin to count").get_by_role("link").press("Delete")
            visitor.dialog.get_by_role("button", name="Delete", exact=True).click()
            expect(visitor.dialog).to_contain_text("No runs yet.")
        assert list((tmp_path / "sandboxes").iterdir()) == []
        assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []


@contextmanager
def _studio(browser: Browser, settings: Settings, model: str = "") -> Iterator[Visitor]:
    """The application from its start to its end, and somebody in it."""
    settings = replace(settings, model=model or settings.model)
    with DataFolder(settings.data) as data:
        app = create_app(settings, DockerSandboxProvider(settings, data))
        context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
        with run_server(app) as studio_url:
            visitor = Visitor(context.new_page())
            visitor.open(studio_url)
            yield visitor
            context.close()
        assert visitor.errors == []
