"""The timeline in a real browser: found, linked, unfolded, taken along, and very long."""

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
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = pytest.mark.browser

COMMAND = "for f in *.txt; do wc -l \"$f\"; done  # count\npython3 - <<'EOF'\nimport re\nEOF\n"


class World:
    """The application, its data and the turns that its model plays."""

    def __init__(self, studio_url: str, data: Path) -> None:
        self.studio_url, self.data = studio_url, data
        self.turns: list[Turn] = []

    def play(self, _body: Any) -> Turn:
        return self.turns.pop(0)

    def journal(self, steps: int) -> str:
        """A run of so many steps, as its journal tells it; returns its id."""
        return self.record(_run(steps))

    def record(self, events: Iterable[Event]) -> str:
        """A run whose journal holds these events; returns its id."""
        run: str = httpx.post(f"{self.studio_url}/api/runs").json()["run"]
        lines = (encode(event) + b"\n" for event in events)
        RunFolder.open(self.data, run).journal.write_bytes(b"".join(lines))
        return run

    def damage(self, run: str) -> None:
        """Make a line of the second step unreadable, and one behind the end."""
        path = RunFolder.open(self.data, run).journal
        lines = path.read_bytes().splitlines(keepends=True)
        ended = next(i for i, line in enumerate(lines) if b'"call_id":"call-2","name"' in line)
        lines.insert(ended + 1, b'{"kind":"run_rated","at":1.0,"step":2}\n')
        path.write_bytes(b"".join([*lines, b"\xff\xfe\n"]))


def _run(steps: int) -> Iterator[Event]:
    yield RunStarted(
        run="r", task="Look at every row.", mode="sandbox", model="m", metered=True, prompt="",
        system="", user="", limits={"steps": steps, "conversation_tokens": 100_000},
    )  # fmt: skip
    for number in range(1, steps + 1):
        yield from _step(number)
    yield RunEnded(status="submitted", reason="", answer="All **seen**.", totals=_totals(steps))


def _step(number: int) -> Iterator[Event]:
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
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    data = tmp_path_factory.mktemp("data")
    world = World("", data)
    with Endpoint(world.play) as endpoint:
        settings = Settings(data=data, base_url=endpoint.url, model="test-model")
        with run_server(create_app(settings, LocalSandboxProvider(data))) as world.studio_url:
            yield world


class Tab(StudioTab):
    """One tab on the application, with what the timeline has in it."""

    def __init__(self, page: Page, studio_url: str) -> None:
        super().__init__(page)
        self.studio_url = studio_url

    def show(self, run: str, part: str = "") -> None:
        self.open(f"{self.studio_url}/?run={run}{part}")
        expect(self.state).to_have_text("submitted")

    @property
    def field(self) -> Locator:
        return self.page.get_by_role("searchbox", name="Find in run")

    def step(self, number: int) -> Locator:
        return self.page.locator(f"#step-{number}")

    def clipboard(self) -> str:
        text: str = self.page.evaluate("navigator.clipboard.readText()")
        return text


@pytest.fixture
def tab(browser: Browser, world: World) -> Iterator[Callable[..., Tab]]:
    """Opens a tab; at the end no tab may have complained."""
    opened: list[Tab] = []

    def open_tab(size: tuple[int, int] = WIDE, scheme: Any = "light") -> Tab:
        viewport: Any = {"width": size[0], "height": size[1]}
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(20_000)
        opened.append(Tab(context.new_page(), world.studio_url))
        return opened[-1]

    expect.set_options(timeout=20_000)
    yield open_tab
    for each in opened:
        each.page.context.close()
    assert [complaint for each in opened for complaint in each.errors] == []


# Records that cannot be read in part


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_cannot_be_read_is_shown_and_hides_nothing(
    tab: Callable[..., Tab], world: World, size: tuple[int, int], scheme: str
) -> None:
    run = world.journal(3)
    world.damage(run)
    page = tab(size, scheme)
    page.show(run)
    remark = page.timeline.locator(".thread > .remark")
    expect(remark).to_have_text(
        "This version cannot read 2 events in this run's log. They are not lost."
    )
    expect(page.timeline.locator(".step")).to_have_count(3)
    page.step(2).scroll_into_view_if_needed()
    expect(page.step(2).locator(".remark")).to_contain_text("an event (“run_rated”) that this")


# Unfolding, copying, taking along


def test_all_is_expanded_and_collapsed_at_once(tab: Callable[..., Tab], world: World) -> None:
    page = tab()
    page.show(world.journal(2))
    cards = page.timeline.locator(".card[open]")
    expect(page.timeline.locator(".card")).to_have_count(2)
    expect(cards).to_have_count(0)
    page.button("Expand all").click()
    expect(cards).to_have_count(2)
    expect(page.timeline.locator(".thought[open]")).to_have_count(2)
    expect(page.timeline.get_by_label("Output")).to_have_count(2)
    page.button("Collapse all").click()
    expect(cards).to_have_count(0)


def test_a_command_an_output_and_an_answer_are_copied(
    tab: Callable[..., Tab], world: World
) -> None:
    page = tab()
    page.show(world.journal(1))
    page.step(1).locator(".card > summary").click()
    page.button("Copy command").click()
    expect(page.button("Copied")).to_be_visible()
    assert page.clipboard() == COMMAND
    page.button("Copy output").click()
    expect(page.button("Copied")).to_have_count(2)
    assert page.clipboard().startswith("row 1: line 0\nrow 1: line 1\n")
    page.button("Copy answer").click()
    expect(page.button("Copied")).to_have_count(3)
    assert page.clipboard() == "All **seen**."


MALFORMED = '{"command": "ls <img src=x onerror=alert(1)>'


def _refused(*calls: tuple[str, str]) -> Iterator[Event]:
    """A run with one step, whose calls were all refused."""
    first, *_, last = _run(1)
    made = [ToolCall(f"c{index}", *call) for index, call in enumerate(calls)]
    yield first
    yield StepStarted(step=1, note="")
    yield ModelAnswered(
        step=1, text="", reasoning="", finish="tool_calls", estimated=True,
        calls=tuple(made), seconds=0.4, usage=Usage(prompt=1000, generated=40),
    )  # fmt: skip
    for call in made:
        yield ToolEnded(
            step=1, call_id=call.id, name=call.name, ok=False, exit_code=None, end_reason="exit",
            seconds=0.0, observation="Error: the arguments are not valid JSON.",
        )  # fmt: skip
    yield StepEnded(step=1, totals=_totals(1))
    yield last


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_arguments_that_were_not_understood_are_shown_as_written(
    tab: Callable[..., Tab], world: World, size: tuple[int, int]
) -> None:
    page = tab(size)
    refused = [("execute_bash", MALFORMED), ("execute_bash", '{"cmd": "ls"}'), ("submit", "{}")]
    page.show(world.record(_refused(*refused)))
    raw = page.step(1).get_by_label("Raw arguments")
    expect(raw).to_have_text([MALFORMED, '{"cmd": "ls"}'])
    expect(page.step(1).get_by_label("Output").first).to_contain_text("not valid JSON")


def test_the_result_of_a_tool_of_the_users_own_is_shown(
    tab: Callable[..., Tab], world: World
) -> None:
    shown = "Execution output of [look-up]:\nbread is a word."
    page = tab()
    events = [
        replace(event, name="look-up", arguments={"word": "bread"}, summary="look-up word=bread")
        if isinstance(event, ToolStarted)
        else replace(event, name="look-up", exit_code=None, observation=shown)
        if isinstance(event, ToolEnded)
        else event
        for event in _run(1)
        if not isinstance(event, ToolOutput)
    ]
    page.show(world.record(events))
    expect(page.step(1)).to_contain_text("look-up word=bread")
    page.step(1).locator("details").first.locator("summary").first.click()
    expect(page.step(1).get_by_label("Output").first).to_have_text("bread is a word.")


def test_a_run_is_taken_along_as_markdown_and_as_csv(tab: Callable[..., Tab], world: World) -> None:
    page = tab()
    page.show(world.journal(3))
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


def test_the_whole_run_is_taken_along_as_a_zip(tab: Callable[..., Tab], world: World) -> None:
    page = tab()
    page.show(world.journal(2))
    page.button("Export").click()
    with page.page.expect_download() as download:
        page.page.get_by_role("menuitem", name="Download everything zip").click()
    assert download.value.suggested_filename == "Look at every row.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        assert {"journal.jsonl", "trajectory.json", "steps.csv"} <= set(archive.namelist())


def test_the_menu_is_walked_by_keyboard(tab: Callable[..., Tab], world: World) -> None:
    page = tab()
    page.show(world.journal(1))
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


def test_a_link_to_a_step_opens_it_also_after_a_reload(
    tab: Callable[..., Tab], world: World
) -> None:
    page = tab()
    page.show(world.journal(300), "#step-120")
    for _ in range(2):
        expect(page.step(120)).to_be_in_viewport()
        expect(page.step(120)).to_have_class(re.compile("linked"))
        expect(page.step(120).locator(".card pre.program")).to_have_count(1)
        expect(page.step(300)).not_to_be_in_viewport()
        page.page.reload()


def test_a_steps_number_is_its_link(tab: Callable[..., Tab], world: World) -> None:
    page = tab()
    run = world.journal(20)
    page.show(run)
    page.page.get_by_role("link", name="Link to step 18").click()
    expect(page.page).to_have_url(f"{world.studio_url}/?run={run}#step-18")
    expect(page.step(18)).to_have_class(re.compile("linked"))
    page.page.evaluate("location.hash = '#step-3'")
    expect(page.step(3)).to_be_in_viewport()
    expect(page.step(18)).not_to_have_class(re.compile("linked"))
    page.button("New run").click()
    expect(page.page).to_have_url(f"{world.studio_url}/")


def test_a_step_number_of_any_length_is_shown_whole(tab: Callable[..., Tab], world: World) -> None:
    page = tab(NARROW)
    page.show(world.journal(1000))
    text, box = (
        page.step(1000)
        .locator("a.no")
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


# The head


def test_the_head_tells_of_steps_tokens_context_times_and_memory(
    tab: Callable[..., Tab], world: World
) -> None:
    page = tab()
    page.show(world.journal(10))
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


def test_who_scrolls_up_is_left_there_and_latest_leads_back_to_the_running_step(
    tab: Callable[..., Tab], world: World, tmp_path: Path
) -> None:
    gate = tmp_path / "go"
    wait = f"seq 400; while [ ! -e {gate} ]; do sleep 0.05; done; seq 401 800"
    shown = "seq 300; exit 1"
    world.turns = [
        *(Turn(calls=[Call("execute_bash", {"command": shown})]) for _ in range(4)),
        Turn(calls=[Call("execute_bash", {"command": wait})]),
        Turn(text="Done.", calls=[Call("submit")]),
    ]
    page = tab()
    page.open(world.studio_url)
    page.send("Count")
    running = page.step(5).get_by_label("Output")
    expect(running).to_contain_text("400")
    expect(page.button("Jump to latest")).to_be_hidden()
    thread = page.page.get_by_role("group", name="Steps")
    _wait_for_the_end(page)
    thread.evaluate("thread => thread.scrollTop = 0")
    expect(page.button("Jump to latest")).to_be_visible()
    page.button("Jump to latest").click()
    expect(running).to_be_in_viewport()
    _wait_for_the_end(page)
    expect(page.button("Jump to latest")).to_be_hidden()
    thread.evaluate("thread => thread.scrollTop = 0")
    expect(page.button("Jump to latest")).to_be_visible()
    gate.touch()
    expect(page.state).to_have_text("submitted")
    assert thread.evaluate("thread => thread.scrollTop") == 0
    expect(page.button("Jump to latest")).to_be_hidden()


def _wait_for_the_end(page: Tab) -> None:
    """Until the end of the thread stays in view."""
    page.page.wait_for_function(
        """async () => {
          const thread = document.querySelector(".thread");
          const left = () => thread.scrollHeight - thread.scrollTop - thread.clientHeight;
          await new Promise((resolve) => setTimeout(resolve, 300));
          return left() < 2;
        }"""
    )


def test_a_thought_that_was_stopped_is_over(tab: Callable[..., Tab], world: World) -> None:
    world.turns = [
        Turn(reasoning="Perhaps the third. " * 20, fault="silent"),
        Turn(text="Done.", calls=[Call("submit")]),
    ]
    page = tab()
    page.open(world.studio_url)
    page.send("Choose one")
    thought = page.step(1).locator(".thought summary")
    expect(thought).to_contain_text("Thinking · ")
    page.button("Stop").click()
    expect(page.state).to_have_text("stopped")
    expect(thought).to_contain_text("Thought · ")
    page.send("Go on")
    expect(page.state).to_have_text("submitted")
    expect(thought).to_contain_text("Thought · ")
    expect(page.timeline.locator("a.no")).to_have_text(["1", "2"])


# Find


def test_words_are_found_in_steps_that_are_not_in_the_page(
    tab: Callable[..., Tab], world: World
) -> None:
    page = tab()
    page.show(world.journal(300))
    page.page.get_by_role("group", name="Steps").focus()
    page.page.keyboard.press("/")
    expect(page.field).to_be_focused()
    page.page.keyboard.type("ROW 77: line 5")
    search = page.page.get_by_role("search", name="This run")
    expect(search.get_by_role("status")).to_have_text("1 of 1 match")
    expect(search).to_contain_text("step 77: row 77: line 5")
    expect(page.step(77)).to_be_in_viewport()
    expect(page.step(77).get_by_label("Output")).to_be_visible()
    marked = "[...CSS.highlights.get('found')].map(range => range.startContainer.data.slice("
    page.page.wait_for_function(f"() => {marked}range.startOffset, range.endOffset)).length > 10")


def test_enter_goes_from_place_to_place_and_escape_closes(
    tab: Callable[..., Tab], world: World
) -> None:
    page = tab()
    page.show(world.journal(40))
    page.button("Find in run").click()
    page.field.fill("row")
    status = page.page.get_by_role("search").get_by_role("status")
    expect(status).to_have_text("1 of 41 matches")
    expect(page.timeline.locator(".task")).to_be_in_viewport()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Enter")
    expect(status).to_have_text("3 of 41 matches")
    expect(page.step(2)).to_be_in_viewport()
    page.page.keyboard.press("Shift+Enter")
    expect(status).to_have_text("2 of 41 matches")
    page.field.fill("no such words")
    expect(status).to_have_text("No matches")
    page.page.keyboard.press("Escape")
    expect(page.field).to_be_hidden()
    assert page.page.evaluate("CSS.highlights.get('found').size") == 0


def test_escape_in_find_does_not_stop_the_run(
    tab: Callable[..., Tab], world: World, tmp_path: Path
) -> None:
    gate = tmp_path / "go"
    wait = f"echo up; while [ ! -e {gate} ]; do sleep 0.05; done"
    world.turns = [
        Turn(calls=[Call("execute_bash", {"command": wait})]),
        Turn(text="Done.", calls=[Call("submit")]),
    ]
    page = tab()
    page.open(world.studio_url)
    page.send("Wait")
    expect(page.timeline.get_by_label("Output")).to_contain_text("up")
    page.button("Find in run").click()
    page.page.keyboard.press("Escape")
    expect(page.field).to_be_hidden()
    gate.touch()
    expect(page.state).to_have_text("submitted")


# Programs in colour


def test_a_command_is_in_colour_and_its_text_stays_what_it_was(
    tab: Callable[..., Tab], world: World
) -> None:
    page = tab()
    page.show(world.journal(1))
    page.step(1).locator(".card > summary").click()
    program = page.step(1).get_by_label("Command")
    expect(program).to_have_text(f"$ {COMMAND}", use_inner_text=False)
    expect(program.locator(".syn-keyword")).to_have_text(["for", "in", "do", "done", "import"])
    expect(program.locator(".syn-comment")).to_have_text("# count")
    expect(program.locator(".syn-string").first).to_have_text('"$f"')


# Long runs


def test_of_a_thousand_steps_only_those_near_the_eye_are_whole(
    tab: Callable[..., Tab], world: World
) -> None:
    page = tab()
    page.show(world.journal(1000))
    expect(page.step(1000)).to_have_count(1)
    whole = page.timeline.locator("pre")
    expect(whole).not_to_have_count(0)
    elements = "document.querySelectorAll('.thread *').length"
    at_first = page.page.evaluate(elements)
    thread = page.page.locator(".thread")
    for part in (0.9, 0.75, 0.5, 0.25, 0):
        thread.evaluate("(thread, part) => thread.scrollTop = part * thread.scrollHeight", part)
        seen = _in_view(page)
        expect(page.step(seen).locator("pre.out")).to_have_count(1)
        assert abs(seen - 1000 * part) < 60
    expect(page.step(990).locator("pre")).to_have_count(0)
    assert whole.count() < 120
    assert page.page.evaluate(elements) < at_first + 1500


def _in_view(page: Tab) -> int:
    """The number of the step in the middle of the view, once it stands still."""
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


def test_a_step_that_leaves_the_page_keeps_its_height_and_what_was_opened(
    tab: Callable[..., Tab], world: World
) -> None:
    page = tab()
    page.show(world.journal(200), "#step-100")
    card = page.step(100).locator(".card")
    card.locator("summary").click()
    expect(page.step(100).get_by_label("Output")).to_be_visible()
    thread = page.page.get_by_role("group", name="Steps")
    height = _height(page, 100)
    thread.evaluate("thread => thread.scrollTop += 5 * thread.clientHeight")
    expect(page.step(100).locator("pre")).to_have_count(0)
    assert _height(page, 100) == pytest.approx(height, abs=1)
    page.step(100).scroll_into_view_if_needed()
    expect(page.step(100).get_by_label("Output")).to_be_visible()
    assert _height(page, 100) == pytest.approx(height, abs=2)


def _height(page: Tab, step: int) -> float:
    box = page.step(step).bounding_box()
    assert box
    return box["height"]


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_tools_fit_and_nothing_scrolls_sideways(
    tab: Callable[..., Tab], world: World, size: tuple[int, int]
) -> None:
    page = tab(size)
    page.show(world.journal(5))
    page.button("Find in run").click()
    page.field.fill("row 3")
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
