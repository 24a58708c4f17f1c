"""The timeline in a browser: search, links, expanding, export, and long runs."""

import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from agent.events import (
    Event,
    ModelAnswered,
    ReasoningDelta,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    Totals,
    encode,
)
from agent.models.base import ToolCall, Usage
from agent.runs.folder import RunFolder
from agent.settings import Settings
from tests.support.browser.page_pool import add_init_script, release_page, take_page
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import create_app, run_server, wait_until
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = pytest.mark.browser

COMMAND = "for f in *.txt; do wc -l \"$f\"; done  # count\npython3 - <<'EOF'\nimport re\nEOF\n"


class JournalServer:
    """A running application with runs written as journals.

    Attributes:
        studio_url: Base URL of the application.
        data: Its data folder.
        turns: The turns that its model answers with.
    """

    def __init__(self, studio_url: str, data: Path) -> None:
        self.studio_url, self.data = studio_url, data
        self.turns: list[Turn] = []

    def next_turn(self, _body: Any) -> Turn:
        return self.turns.pop(0)

    def write_run(self, steps: int) -> str:
        """Write a run of so many steps; returns its id."""
        return self.write_events(_run_events(steps))

    def write_events(self, events: Iterable[Event]) -> str:
        """Write a run whose journal contains these events; returns its id."""
        run: str = httpx.post(f"{self.studio_url}/api/runs").json()["run"]
        lines = (encode(event) + b"\n" for event in events)
        RunFolder.open(self.data, run).journal.write_bytes(b"".join(lines))
        return run

    def damage_journal(self, run: str) -> None:
        """Add an unknown event to the second step and an invalid line to the end."""
        path = RunFolder.open(self.data, run).journal
        lines = path.read_bytes().splitlines(keepends=True)
        ended = next(i for i, line in enumerate(lines) if b'"call_id":"call-2","name"' in line)
        lines.insert(ended + 1, b'{"kind":"run_rated","at":1.0,"step":2}\n')
        path.write_bytes(b"".join([*lines, b"\xff\xfe\n"]))


def _run_events(steps: int) -> Iterator[Event]:
    yield RunStarted(
        run="r", task="Look at every row.", mode="sandbox", model="m", metered=True, prompt="",
        system="", user="", limits={"steps": steps, "conversation_tokens": 100_000},
    )  # fmt: skip
    for number in range(1, steps + 1):
        yield from _step_events(number)
    yield RunEnded(status="submitted", reason="", answer="All **seen**.", totals=_totals(steps))


def _step_events(number: int) -> Iterator[Event]:
    call, name, arguments = f"call-{number}", "execute_bash", {"command": COMMAND}
    thought, text = f"Row {number} is next.\nThen another.", f"I look at row **{number}**."
    output = "".join(f"row {number}: line {line}\n" for line in range(60))
    yield StepStarted(step=number, note="")
    yield ReasoningDelta(step=number, text=thought)
    yield TextDelta(step=number, text=text)
    yield ModelAnswered(
        step=number, text=text, reasoning=thought, finish="tool_calls", estimated=True,
        calls=(ToolCall(call, name, json.dumps(arguments)),), seconds=0.4,
        usage=Usage(prompt=1000 + 50 * number, generated=40, cached=500),
    )  # fmt: skip
    yield ToolStarted(
        step=number, call_id=call, name=name, arguments=arguments, summary=f"wc {number}"
    )
    yield ToolOutput(step=number, call_id=call, stream="stdout", text=output)
    yield ToolEnded(
        step=number, call_id=call, name=name, ok=True, exit_code=0, end_reason="exit",
        seconds=0.01, observation=output,
    )  # fmt: skip
    yield StepEnded(step=number, totals=_totals(number))


def _totals(steps: int) -> Totals:
    return Totals(
        steps=steps, prompt_tokens=1000 * steps, cached_tokens=500 * steps, estimated=True,
        generated_tokens=40 * steps, environment_tokens=300 * steps, peak_context=60_000,
        model_seconds=0.4 * steps, sandbox_seconds=1.5, peak_memory=43 * 1024**2,
    )  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JournalServer]:
    data = tmp_path_factory.mktemp("data")
    server = JournalServer("", data)
    with Endpoint(server.next_turn) as endpoint:
        settings = Settings(data=data, base_url=endpoint.url, model="test-model")
        with run_server(create_app(settings, LocalSandboxProvider(data))) as server.studio_url:
            yield server


class TimelineTab(StudioTab):
    """A tab with locators for the timeline."""

    def __init__(self, page: Page, studio_url: str) -> None:
        super().__init__(page)
        self.studio_url = studio_url

    def open_run(self, run: str, part: str = "") -> None:
        self.open(f"{self.studio_url}/?run={run}{part}")
        expect(self.state).to_have_text("submitted")

    @property
    def find_field(self) -> Locator:
        return self.page.get_by_role("searchbox", name="Find in run")

    def step(self, number: int) -> Locator:
        return self.page.locator(f"#step-{number}")

    def clipboard(self) -> str:
        text: str = self.page.evaluate("navigator.clipboard.readText()")
        return text


@pytest.fixture
def open_tab(browser: Browser, server: JournalServer) -> Iterator[Callable[..., TimelineTab]]:
    """Open a tab; the test fails if the console of any tab shows an error."""
    opened: list[TimelineTab] = []

    def open_tab(size: tuple[int, int] = WIDE, scheme: Any = "light") -> TimelineTab:
        viewport: Any = {"width": size[0], "height": size[1]}
        page = take_page(browser, viewport=viewport, color_scheme=scheme)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        opened.append(TimelineTab(page, server.studio_url))
        return opened[-1]

    yield open_tab
    for each in opened:
        release_page(each.page)
    assert [error for each in opened for error in each.errors] == []


# Unreadable events


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_unreadable_events_are_reported_and_hide_nothing(
    open_tab: Callable[..., TimelineTab], server: JournalServer, size: tuple[int, int], scheme: str
) -> None:
    run = server.write_run(3)
    server.damage_journal(run)
    page = open_tab(size, scheme)
    page.open_run(run)
    remark = page.timeline.locator(".thread > .remark")
    expect(remark).to_have_text(
        "This version cannot read 2 events in this run's log. They are not lost."
    )
    expect(page.timeline.locator(".step")).to_have_count(3)
    page.step(2).scroll_into_view_if_needed()
    expect(page.step(2).locator(".remark")).to_contain_text("an event (“run_rated”) that this")


# Expanding, copying, exporting


def test_all_cards_are_expanded_and_collapsed(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(2))
    cards = page.timeline.locator(".card[open]")
    expect(page.timeline.locator(".card")).to_have_count(2)
    expect(cards).to_have_count(0)
    page.button("Expand all").click()
    expect(cards).to_have_count(2)
    expect(page.timeline.locator(".reasoning[open]")).to_have_count(2)
    expect(page.timeline.get_by_label("Output")).to_have_count(2)
    page.button("Collapse all").click()
    expect(cards).to_have_count(0)


def test_commands_outputs_and_answers_are_copied(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(1))
    page.step(1).locator(".card > summary").click()
    page.button("Copy command").click()
    expect(page.button("Copied")).to_be_visible()
    assert page.clipboard() == COMMAND
    page.button("Copy output").click()
    wait_until(lambda: page.clipboard().startswith("row 1: line 0\nrow 1: line 1\n"))
    page.button("Copy answer").click()
    wait_until(lambda: page.clipboard() == "All **seen**.")


MALFORMED = '{"command": "ls <img src=x onerror=alert(1)>'


def _rejected_call_events(*calls: tuple[str, str]) -> Iterator[Event]:
    """The events of a run with one step whose calls are all rejected."""
    first, *_, last = _run_events(1)
    tool_calls = [ToolCall(f"c{index}", *call) for index, call in enumerate(calls)]
    yield first
    yield StepStarted(step=1, note="")
    yield ModelAnswered(
        step=1, text="", reasoning="", finish="tool_calls", estimated=True,
        calls=tuple(tool_calls), seconds=0.4, usage=Usage(prompt=1000, generated=40),
    )  # fmt: skip
    for call in tool_calls:
        yield ToolEnded(
            step=1, call_id=call.id, name=call.name, ok=False, exit_code=None, end_reason="exit",
            seconds=0.0, observation="Error: the arguments are not valid JSON.",
        )  # fmt: skip
    yield StepEnded(step=1, totals=_totals(1))
    yield last


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_invalid_arguments_are_shown_raw(
    open_tab: Callable[..., TimelineTab], server: JournalServer, size: tuple[int, int]
) -> None:
    page = open_tab(size)
    refused = [("execute_bash", MALFORMED), ("execute_bash", '{"cmd": "ls"}'), ("submit", "{}")]
    page.open_run(server.write_events(_rejected_call_events(*refused)))
    raw = page.step(1).get_by_label("Raw arguments")
    expect(raw).to_have_text([MALFORMED, '{"cmd": "ls"}'])
    expect(page.step(1).get_by_label("Output").first).to_contain_text("not valid JSON")


def test_the_result_of_a_user_defined_tool_is_shown(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    shown = "Execution output of [look-up]:\nbread is a word."
    page = open_tab()
    events = [
        replace(event, name="look-up", arguments={"word": "bread"}, summary="look-up word=bread")
        if isinstance(event, ToolStarted)
        else replace(event, name="look-up", exit_code=None, observation=shown)
        if isinstance(event, ToolEnded)
        else event
        for event in _run_events(1)
        if not isinstance(event, ToolOutput)
    ]
    page.open_run(server.write_events(events))
    expect(page.step(1)).to_contain_text("look-up word=bread")
    page.step(1).locator("details").first.locator("summary").first.click()
    expect(page.step(1).get_by_label("Output").first).to_have_text("bread is a word.")


def test_a_run_is_exported_as_markdown_and_csv(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(3))
    page.button("Export").click()
    page.page.get_by_role("menuitem", name="Copy conversation").click()
    expect(page.page.get_by_role("menuitem", name="Copied")).to_be_visible()
    assert page.clipboard().startswith("# Look at every row.\n")
    assert "### Step 3\n" in page.clipboard()
    for name, file, begins in (
        ("Download conversation Markdown", "conversation.md", "# Look at every row."),
        ("Download steps CSV", "steps.csv", "step,round,began"),
    ):
        if page.button("Export").get_attribute("aria-expanded") == "false":
            page.button("Export").click()
        with page.page.expect_download() as download:
            page.page.get_by_role("menuitem", name=name).click()
        assert download.value.suggested_filename == file
        assert Path(download.value.path()).read_text().startswith(begins)


def test_a_report_is_downloaded_with_files_up_to_the_chosen_size(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(3))
    for size, chosen in (("20", "none"), ("0", "up to 500 MB"), ("500", "up to 500 MB")):
        page.button("Export").click()
        page.page.get_by_role("menuitem", name="Download report… HTML").click()
        dialog = page.page.get_by_role("dialog", name="Download report")
        expect(dialog.get_by_label("Files in it")).to_have_value(size)
        dialog.get_by_label("Files in it").select_option(chosen)
        with page.page.expect_download() as download:
            dialog.get_by_role("link", name="Download").click()
        assert download.value.url.endswith(f"files={ {'none': 0}.get(chosen, 500) }")
        assert download.value.suggested_filename == "Look at every row.html"
        assert Path(download.value.path()).read_text().startswith("<!doctype html>")
        expect(dialog).to_have_count(0)


def test_a_run_is_exported_as_a_zip(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(2))
    page.button("Export").click()
    with page.page.expect_download() as download:
        page.page.get_by_role("menuitem", name="Download everything zip").click()
    assert download.value.suggested_filename == "Look at every row.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        assert {"journal.jsonl", "trajectory.json", "steps.csv"} <= set(archive.namelist())


def test_the_export_menu_works_by_keyboard(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(1))
    page.button("Export").focus()
    page.page.keyboard.press("Enter")
    items = page.page.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    page.page.keyboard.press("ArrowUp")
    expect(items.last).to_be_focused()
    page.page.keyboard.press("ArrowDown")
    expect(items.first).to_be_focused()
    page.page.keyboard.press("Escape")
    expect(page.page.get_by_role("menu")).to_be_hidden()
    expect(page.button("Export")).to_be_focused()


# Links


def test_a_link_to_a_step_opens_it_even_after_a_reload(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(300), "#step-120")
    for _ in range(2):
        expect(page.step(120)).to_be_in_viewport()
        expect(page.step(120)).to_have_class(re.compile("linked"))
        expect(page.step(120).locator(".card pre.program")).to_have_count(1)
        expect(page.step(300)).not_to_be_in_viewport()
        page.page.reload()


def test_a_step_number_is_a_link_to_the_step(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    run = server.write_run(20)
    page.open_run(run)
    page.page.get_by_role("link", name="Link to step 18").click()
    expect(page.page).to_have_url(f"{server.studio_url}/?run={run}#step-18")
    expect(page.step(18)).to_have_class(re.compile("linked"))
    page.page.evaluate("location.hash = '#step-3'")
    expect(page.step(3)).to_be_in_viewport()
    expect(page.step(18)).not_to_have_class(re.compile("linked"))
    page.button("New run").click()
    expect(page.page).to_have_url(f"{server.studio_url}/")


def test_a_long_step_number_is_shown_on_one_line(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab(NARROW)
    page.open_run(server.write_run(1000))
    text, box = (
        page.step(1000)
        .locator("a.step-number")
        .evaluate(
            """link => {
          const range = document.createRange();
          range.selectNodeContents(link);
          const edges = ({ left, right, height }) => [left, right, height];
          return [edges(range.getBoundingClientRect()), edges(link.getBoundingClientRect())];
        }"""
        )
    )
    assert box[0] <= text[0] <= text[1] <= box[1]
    assert text[2] < 30, "it is broken into lines"


# The header


def test_the_header_shows_steps_tokens_context_times_and_memory(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(10))
    totals = page.timeline.get_by_role("group", name="Totals")
    for figure in (
        "10 steps (limit 10)", "≈ 10k tokens in (5k cached)", "≈ 400 out",
        "≈ 3k tool-output tokens", "context ≈ 1.5k of 100k", "longest prompt ≈ 60k",
        "model 4.0 s", "sandbox 1.5 s", "memory 43 MB",
    ):  # fmt: skip
        expect(totals).to_contain_text(figure)
    meter = totals.get_by_role("meter", name="Context")
    expect(meter).to_have_attribute("aria-valuetext", "1,540 of 100,000 tokens")


# Following


def test_scrolling_up_stops_following_and_jump_to_latest_resumes_it(
    open_tab: Callable[..., TimelineTab], server: JournalServer, tmp_path: Path
) -> None:
    gate = tmp_path / "go"
    wait = f"seq 400; while [ ! -e {gate} ]; do sleep 0.05; done; seq 401 800"
    shown = "seq 300; exit 1"
    server.turns = [
        *(Turn(calls=[Call("execute_bash", {"command": shown})]) for _ in range(4)),
        Turn(calls=[Call("execute_bash", {"command": wait})]),
        Turn(text="Done.", calls=[Call("submit")]),
    ]
    page = open_tab()
    page.open(server.studio_url)
    page.send("Count")
    running = page.step(5).get_by_label("Output")
    expect(running).to_contain_text("400")
    expect(page.button("Jump to latest")).to_be_hidden()
    thread = page.page.get_by_role("group", name="Steps")
    _wait_for_scroll_end(page)
    thread.evaluate("thread => thread.scrollTop = 0")
    expect(page.button("Jump to latest")).to_be_visible()
    page.button("Jump to latest").click()
    expect(running).to_be_in_viewport()
    _wait_for_scroll_end(page)
    expect(page.button("Jump to latest")).to_be_hidden()
    thread.evaluate("thread => thread.scrollTop = 0")
    expect(page.button("Jump to latest")).to_be_visible()
    gate.touch()
    expect(page.state).to_have_text("submitted")
    assert thread.evaluate("thread => thread.scrollTop") == 0
    expect(page.button("Jump to latest")).to_be_hidden()


def _wait_for_scroll_end(page: TimelineTab) -> None:
    """Wait until the timeline stays scrolled to its end."""
    page.page.wait_for_function(
        """async () => {
          const thread = document.querySelector(".thread");
          const left = () => thread.scrollHeight - thread.scrollTop - thread.clientHeight;
          await new Promise((resolve) => setTimeout(resolve, 300));
          return left() < 2;
        }"""
    )


def test_a_stopped_thought_is_shown_as_ended(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    server.turns = [
        Turn(reasoning="Perhaps the third. " * 20, fault="silent"),
        Turn(text="Done.", calls=[Call("submit")]),
    ]
    page = open_tab()
    page.open(server.studio_url)
    page.send("Choose one")
    thought = page.step(1).locator(".reasoning summary")
    expect(thought).to_contain_text("Thinking · ")
    page.button("Stop").click()
    expect(page.state).to_have_text("stopped")
    expect(thought).to_contain_text("Thought · ")
    page.send("Go on")
    expect(page.state).to_have_text("submitted")
    expect(thought).to_contain_text("Thought · ")
    expect(page.timeline.locator("a.step-number")).to_have_text(["1", "2"])


# Find


def test_find_searches_steps_that_are_not_rendered(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(300))
    page.page.get_by_role("group", name="Steps").focus()
    page.page.keyboard.press("/")
    expect(page.find_field).to_be_focused()
    page.page.keyboard.type("ROW 77: line 5")
    search = page.page.get_by_role("search", name="This run")
    expect(search.get_by_role("status")).to_have_text("1 of 1 match")
    expect(search).to_contain_text("step 77: row 77: line 5")
    expect(page.step(77)).to_be_in_viewport()
    expect(page.step(77).get_by_label("Output")).to_be_visible()
    marked = "[...CSS.highlights.get('found')].map(range => range.startContainer.data.slice("
    page.page.wait_for_function(f"() => {marked}range.startOffset, range.endOffset)).length > 10")


def test_enter_moves_between_matches_and_escape_closes_find(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(40))
    page.button("Find in run").click()
    page.find_field.fill("row")
    status = page.page.get_by_role("search").get_by_role("status")
    expect(status).to_have_text("1 of 41 matches")
    expect(page.timeline.locator(".task")).to_be_in_viewport()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Enter")
    expect(status).to_have_text("3 of 41 matches")
    expect(page.step(2)).to_be_in_viewport()
    page.page.keyboard.press("Shift+Enter")
    expect(status).to_have_text("2 of 41 matches")
    page.find_field.fill("no such words")
    expect(status).to_have_text("No matches")
    page.page.keyboard.press("Escape")
    expect(page.find_field).to_be_hidden()
    assert page.page.evaluate("CSS.highlights.get('found').size") == 0


def test_escape_in_find_does_not_stop_the_run(
    open_tab: Callable[..., TimelineTab], server: JournalServer, tmp_path: Path
) -> None:
    gate = tmp_path / "go"
    wait = f"echo up; while [ ! -e {gate} ]; do sleep 0.05; done"
    server.turns = [
        Turn(calls=[Call("execute_bash", {"command": wait})]),
        Turn(text="Done.", calls=[Call("submit")]),
    ]
    page = open_tab()
    page.open(server.studio_url)
    page.send("Wait")
    expect(page.timeline.get_by_label("Output")).to_contain_text("up")
    page.button("Find in run").click()
    page.page.keyboard.press("Escape")
    expect(page.find_field).to_be_hidden()
    gate.touch()
    expect(page.state).to_have_text("submitted")


# Syntax highlighting


def test_a_command_is_highlighted_and_its_text_is_unchanged(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(1))
    page.step(1).locator(".card > summary").click()
    program = page.step(1).get_by_label("Command")
    expect(program).to_have_text(f"$ {COMMAND}", use_inner_text=False)
    expect(program.locator(".syn-keyword")).to_have_text(["for", "in", "do", "done", "import"])
    expect(program.locator(".syn-comment")).to_have_text("# count")
    expect(program.locator(".syn-string").first).to_have_text('"$f"')


# Long runs


def test_only_steps_near_the_viewport_are_rendered(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(1000))
    expect(page.step(1000)).to_have_count(1)
    whole = page.timeline.locator("pre")
    expect(whole).not_to_have_count(0)
    elements = "document.querySelectorAll('.thread *').length"
    at_first = page.page.evaluate(elements)
    thread = page.page.locator(".thread")
    for part in (0.9, 0.75, 0.5, 0.25, 0):
        thread.evaluate("(thread, part) => thread.scrollTop = part * thread.scrollHeight", part)
        step_number = _step_in_view(page)
        expect(page.step(step_number).locator("pre.output")).to_have_count(1)
        assert abs(step_number - 1000 * part) < 60
    expect(page.step(990).locator("pre")).to_have_count(0)
    assert whole.count() < 120
    assert page.page.evaluate(elements) < at_first + 1500


def _step_in_view(page: TimelineTab) -> int:
    """The number of the step in the middle of the view, when scrolling has ended."""
    return int(
        page.page.evaluate(
            """async () => {
              const box = document.querySelector(".thread").getBoundingClientRect();
              const [x, y] = [box.left + 100, box.top + box.height / 2];
              const at = (y) => document.elementFromPoint(x, y)?.closest(".step")?.id;
              const look = () => at(y) ?? at(y + 20) ?? at(y - 20);  // not the gap between two
              let [before, now] = [null, undefined];
              while (!now || now !== before) {
                before = now;
                await new Promise((resolve) => setTimeout(resolve, 150));
                now = look();
              }
              return now.slice(5);
            }"""
        )
    )


def test_a_step_scrolled_out_keeps_its_height_and_expanded_cards(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    page.open_run(server.write_run(200), "#step-100")
    card = page.step(100).locator(".card")
    card.locator("summary").click()
    expect(page.step(100).get_by_label("Output")).to_be_visible()
    thread = page.page.get_by_role("group", name="Steps")
    height = _step_height(page, 100)
    thread.evaluate("thread => thread.scrollTop += 5 * thread.clientHeight")
    expect(page.step(100).locator("pre")).to_have_count(0)
    assert _step_height(page, 100) == pytest.approx(height, abs=1)
    page.step(100).scroll_into_view_if_needed()
    expect(page.step(100).get_by_label("Output")).to_be_visible()
    assert _step_height(page, 100) == pytest.approx(height, abs=2)


def test_scrolling_by_the_user_ends_the_scroll_to_a_step(
    open_tab: Callable[..., TimelineTab], server: JournalServer
) -> None:
    page = open_tab()
    add_init_script(
        page.page,
        """
        const frame = requestAnimationFrame;  // slow ones: the scroll to the step takes a while
        window.requestAnimationFrame = (act) => frame(() => setTimeout(act, 500));
    """,
    )
    page.open_run(server.write_run(200), "#step-100")
    expect(page.step(100).locator("pre").first).to_be_attached()
    page.page.get_by_role("group", name="Steps").hover()
    page.page.mouse.wheel(0, 10_000)
    expect(page.step(100).locator("pre")).to_have_count(0)


def _step_height(page: TimelineTab, step: int) -> float:
    box = page.step(step).bounding_box()
    assert box
    return box["height"]


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_toolbar_fits_without_horizontal_scrolling(
    open_tab: Callable[..., TimelineTab], server: JournalServer, size: tuple[int, int]
) -> None:
    page = open_tab(size)
    page.open_run(server.write_run(5))
    page.button("Find in run").click()
    page.find_field.fill("row 3")
    expect(page.page.get_by_role("search").get_by_role("status")).to_have_text("1 of 1 match")
    page.button("Export").click()
    for name in ("Find in run", "Expand all", "Export", "Next match", "Close find"):
        box = page.button(name).bounding_box()
        assert box
        assert 0 <= box["x"] <= size[0] - box["width"]
    menu = page.page.get_by_role("menu").bounding_box()
    assert menu
    assert menu["x"] >= 0
    assert page.page.evaluate("document.documentElement.scrollWidth") <= size[0]
