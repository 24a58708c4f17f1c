"""The timeline: search, links, expanding, export, and long runs."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, expect

from agent.events import Event, ReasoningDelta, StepStarted, ToolOutput, Totals
from agent.models.base import ToolCall, Usage
from tests.support.component.events import (
    CallResult,
    answered,
    bash,
    continued,
    ended,
    started,
    step,
    step_end,
    tool_ended,
)
from tests.support.component.server import Answer
from tests.support.component.stage import LOOKS, Look, Stage, looks
from tests.support.server import wait_until
from tests.support.tab import NARROW

pytestmark = pytest.mark.component

COMMAND = "for f in *.txt; do wc -l \"$f\"; done  # count\npython3 - <<'EOF'\nimport re\nEOF\n"
ATTACHED = {"Content-Disposition": "attachment"}
LIMITS = {"steps": 100, "conversation_tokens": 100_000}


def a_run(steps: int) -> Iterator[Event]:
    yield started("Look at every row.", limits=LIMITS | {"steps": steps})
    for number in range(1, steps + 1):
        output = "".join(f"row {number}: line {line}\n" for line in range(60))
        yield from step(
            number,
            bash(COMMAND, output, summary=f"wc {number}"),
            text=f"I look at row **{number}**.",
            reasoning=f"Row {number} is next.\nThen another.",
            usage=Usage(prompt=1000 + 50 * number, generated=40, cached=500),
            totals=totals(number),
            estimated=True,
        )
    yield ended(answer="All **seen**.", totals=totals(steps))


def totals(steps: int) -> Totals:
    return Totals(
        steps=steps, prompt_tokens=1000 * steps, cached_tokens=500 * steps, estimated=True,
        generated_tokens=40 * steps, environment_tokens=300 * steps, peak_context=60_000,
        model_seconds=0.4 * steps, sandbox_seconds=1.5, peak_memory=43 * 1024**2,
    )  # fmt: skip


COUNTED = """step => [...step.querySelectorAll("*"), step].filter(each =>
    getComputedStyle(each).counterIncrement !== "none" ||
    /style|content|strict/.test(getComputedStyle(each).contain) ||
    (each.tagName === "DETAILS" &&
        getComputedStyle(each, "::details-content").contentVisibility !== "visible")
).map(each => each.outerHTML)"""
"""What makes the browser go through the whole page when it comes, goes, opens or closes."""


def test_a_step_has_no_style_containment_and_no_counters(stage: Stage) -> None:
    stage.run.add(*a_run(2))
    stage.mount("header", "timeline", run=[])
    stage.step(2).scroll_into_view_if_needed()
    expect(stage.step(2).locator("details")).not_to_have_count(0)
    assert stage.step(2).evaluate(COUNTED) == []


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_unreadable_events_are_reported_and_hide_nothing(stage: Stage, look: Look) -> None:
    stage.run.add(*a_run(3))
    damage_journal(stage)
    stage.mount("header", "timeline", run=[], look=look)
    expect(stage.timeline.locator(".thread > .remark")).to_have_text(
        "This version cannot read 2 events in this run's log. They are not lost."
    )
    expect(stage.timeline.locator(".step")).to_have_count(3)
    stage.step(2).scroll_into_view_if_needed()
    expect(stage.step(2).locator(".remark")).to_contain_text("an event (“run_rated”) that this")


def damage_journal(stage: Stage) -> None:
    """Add an unknown event to the second step and an invalid line to the end."""
    path = stage.run.folder.journal
    lines = path.read_bytes().splitlines(keepends=True)
    after = next(i for i, line in enumerate(lines) if b'"call_id":"call-2-1","name"' in line)
    lines.insert(after + 1, b'{"kind":"run_rated","at":1.0,"step":2}\n')
    path.write_bytes(b"".join([*lines, b"\xff\xfe\n"]))


def test_all_cards_are_expanded_and_collapsed(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(2))
    cards = stage.timeline.locator(".card[open]")
    expect(stage.timeline.locator(".card")).to_have_count(2)
    expect(cards).to_have_count(0)
    stage.button("Expand all").click()
    expect(cards).to_have_count(2)
    expect(stage.timeline.locator(".reasoning[open]")).to_have_count(2)
    expect(stage.timeline.get_by_label("Output")).to_have_count(2)
    stage.button("Collapse all").click()
    expect(cards).to_have_count(0)


def test_a_command_is_highlighted_and_copied_as_it_is_and_so_are_texts(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(1))
    stage.step(1).locator(".card > summary").click()
    program = stage.step(1).get_by_label("Command")
    expect(program).to_have_text(f"$ {COMMAND}", use_inner_text=False)
    expect(program.locator(".syn-keyword")).to_have_text(["for", "in", "do", "done", "import"])
    expect(program.locator(".syn-comment")).to_have_text("# count")
    expect(program.locator(".syn-string").first).to_have_text('"$f"')
    stage.button("Copy command").click()
    expect(stage.button("Copied")).to_be_visible()
    assert stage.clipboard() == COMMAND
    stage.button("Copy output").click()
    wait_until(lambda: stage.clipboard().startswith("row 1: line 0\nrow 1: line 1\n"))
    stage.button("Copy answer").click()
    wait_until(lambda: stage.clipboard() == "All **seen**.")


MALFORMED = '{"command": "ls <img src=x onerror=alert(1)>'


def rejected_calls(*calls: tuple[str, str]) -> Iterator[Event]:
    """The events of a run with one step whose calls are all rejected."""
    tool_calls = [ToolCall(f"c{index}", *call) for index, call in enumerate(calls)]
    yield started()
    yield StepStarted(step=1, note="")
    yield answered(1, "", *tool_calls, usage=Usage(1000, 40), estimated=True)
    error = "Error: the arguments are not valid JSON."
    for call in tool_calls:
        yield tool_ended(1, call.id, error, name=call.name, ok=False, exit_code=None)
    yield from step_end(1)
    yield ended()


@pytest.mark.parametrize("look", looks(roles=["owner"]), ids=str)
def test_invalid_arguments_are_shown_raw(stage: Stage, look: Look) -> None:
    rejected = [("execute_bash", MALFORMED), ("execute_bash", '{"cmd": "ls"}'), ("submit", "{}")]
    stage.mount("timeline", run=rejected_calls(*rejected), look=look)
    raw = stage.step(1).get_by_label("Raw arguments")
    expect(raw).to_have_text([MALFORMED, '{"cmd": "ls"}'])
    expect(stage.step(1).get_by_label("Output").first).to_contain_text("not valid JSON")


def test_the_result_of_a_user_defined_tool_is_shown(stage: Stage) -> None:
    seen = "Execution output of [look-up]:\nbread is a word."
    call = CallResult("look-up", {"word": "bread"}, "look-up word=bread", None, seen)
    events = [started(), *step(1, replace(call, exit_code=None)), ended()]
    stage.mount("timeline", run=events)
    expect(stage.step(1)).to_contain_text("look-up word=bread")
    stage.step(1).locator("details").first.locator("summary").first.click()
    expect(stage.step(1).get_by_label("Output").first).to_have_text("bread is a word.")


def test_the_conversation_is_copied_and_the_exports_are_links(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(3))
    stage.button("Export").click()
    stage.page.get_by_role("menuitem", name="Copy conversation").click()
    expect(stage.page.get_by_role("menuitem", name="Copied")).to_be_visible()
    assert stage.clipboard().startswith("# Look at every row.\n")
    assert "### Step 3\n" in stage.clipboard()
    for name, path in (
        ("Download conversation Markdown", "conversation.md"),
        ("Download steps CSV", "steps.csv"),
        ("Download everything zip", "run.zip"),
    ):
        link = stage.page.get_by_role("menuitem", name=name)
        expect(link).to_have_attribute("href", f"{stage.run_url}{path}")


@pytest.mark.parametrize("look", looks(themes=["light"]), ids=str)
def test_only_the_owner_may_replay_share_and_save(stage: Stage, look: Look) -> None:
    stage.mount("header", "timeline", run=a_run(1), look=look)
    expect(stage.timeline.locator(".step")).to_have_count(1)
    stage.button("Export").click()
    for name in ("Replay", "Save as example"):
        count = 1 if look.can_edit else 0
        expect(stage.page.get_by_role("menuitem", name=name)).to_have_count(count)
    expect(stage.page.get_by_role("menuitem", name="Download everything zip")).to_be_visible()


def test_a_report_is_downloaded_with_files_up_to_the_chosen_size(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(3))
    stage.answer("report.html", Answer(kind="text/html", headers=ATTACHED))
    for size, chosen in (("20", "none"), ("0", "up to 500 MB"), ("500", "up to 500 MB")):
        stage.button("Export").click()
        stage.page.get_by_role("menuitem", name="Download report… HTML").click()
        dialog = stage.page.get_by_role("dialog", name="Download report")
        expect(dialog.get_by_label("Files in it")).to_have_value(size)
        dialog.get_by_label("Files in it").select_option(chosen)
        with stage.page.expect_download() as download:
            dialog.get_by_role("link", name="Download").click()
        assert download.value.url.endswith(f"report.html?files={ {'none': 0}.get(chosen, 500) }")
        expect(dialog).to_have_count(0)


def test_the_export_menu_works_by_keyboard(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(1))
    stage.button("Export").focus()
    stage.page.keyboard.press("Enter")
    items = stage.page.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    stage.page.keyboard.press("ArrowUp")
    expect(items.last).to_be_focused()
    stage.page.keyboard.press("ArrowDown")
    expect(items.first).to_be_focused()
    stage.page.keyboard.press("Escape")
    expect(stage.page.get_by_role("menu")).to_be_hidden()
    expect(stage.button("Export")).to_be_focused()


def test_a_link_to_a_step_opens_it_even_after_a_reload_and_is_its_number(stage: Stage) -> None:
    stage.mount("header", "timeline", run=a_run(300), part="#step-120")
    for _ in range(2):
        expect(stage.step(120)).to_be_in_viewport()
        expect(stage.step(120)).to_have_class(re.compile("linked"))
        expect(stage.step(120).locator(".card pre.program")).to_have_count(1)
        expect(stage.step(300)).not_to_be_in_viewport()
        stage.reload()
    stage.page.get_by_role("link", name="Link to step 121").click()
    expect(stage.page).to_have_url(f"{stage.shown_url}#step-121")
    expect(stage.step(121)).to_have_class(re.compile("linked"))
    stage.page.evaluate("location.hash = '#step-3'")
    expect(stage.step(3)).to_be_in_viewport()
    expect(stage.step(121)).not_to_have_class(re.compile("linked"))
    stage.button("New run").click()
    expect(stage.page).to_have_url(stage.url)


EDGES = """link => {
  const range = document.createRange();
  range.selectNodeContents(link);
  const edges = ({ left, right, height }) => [left, right, height];
  return [edges(range.getBoundingClientRect()), edges(link.getBoundingClientRect())];
}"""
"""Left, right and height of a link's text, and of the link."""


def test_a_long_step_number_is_shown_on_one_line(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(1000), look=Look(size=NARROW))
    text, box = stage.step(1000).locator("a.step-number").evaluate(EDGES)
    assert box[0] <= text[0] <= text[1] <= box[1]
    assert text[2] < 30, "it is broken into lines"


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_the_totals_show_steps_tokens_context_times_and_memory(stage: Stage, look: Look) -> None:
    stage.mount("timeline", run=a_run(10), look=look)
    shown = stage.timeline.get_by_role("group", name="Totals")
    for figure in (
        "10 steps (limit 10)", "≈ 10k tokens in (5k cached)", "≈ 400 out",
        "≈ 3k tool-output tokens", "context ≈ 1.5k of 100k", "longest prompt ≈ 60k",
        "model 4.0 s", "sandbox 1.5 s", "memory 43 MB",
    ):  # fmt: skip
        expect(shown).to_contain_text(figure)
    meter = shown.get_by_role("meter", name="Context")
    expect(meter).to_have_attribute("aria-valuetext", "1,540 of 100,000 tokens")


def test_scrolling_up_stops_following_and_jump_to_latest_resumes_it(stage: Stage) -> None:
    lines = "".join(f"{number}\n" for number in range(1, 401))
    failed = bash("seq 300; exit 1", lines, exit_code=1)
    running = replace(bash("wait", lines), is_running=True)
    steps = [event for number in range(1, 5) for event in step(number, failed)]
    stage.mount("timeline", run=[started(), *steps, *step(5, running)])
    output, thread = stage.step(5).get_by_label("Output"), stage.thread
    expect(output).to_contain_text("400")
    expect(stage.button("Jump to latest")).to_be_hidden()
    expect_scrolled_to_end(stage)
    thread.evaluate("thread => thread.scrollTop = 0")
    expect(stage.button("Jump to latest")).to_be_visible()
    stage.button("Jump to latest").click()
    expect(output).to_be_in_viewport()
    expect_scrolled_to_end(stage)
    expect(stage.button("Jump to latest")).to_be_hidden()
    thread.evaluate("thread => thread.scrollTop = 0")
    expect(stage.button("Jump to latest")).to_be_visible()
    more = ToolOutput(step=5, call_id="call-5-1", stream="stdout", text="more\n" * 400)
    stage.run.add(more, *step_end(5), *step(6, text="Done."), ended())
    expect(stage.timeline.locator(".round-end")).to_have_count(1)
    assert thread.evaluate("thread => thread.scrollTop") == 0
    expect(stage.button("Jump to latest")).to_be_hidden()


def expect_scrolled_to_end(stage: Stage) -> None:
    """Expect that the timeline stays scrolled to its end."""
    stage.page.wait_for_function(
        """async () => {
          const thread = document.querySelector(".thread");
          const left = () => thread.scrollHeight - thread.scrollTop - thread.clientHeight;
          for (let frame = 0; frame < 5; frame++) await new Promise(requestAnimationFrame);
          return left() < 2;
        }"""
    )


def test_a_link_to_a_step_opens_it_among_a_thousand(stage: Stage) -> None:
    steps = [e for number in range(1, 1101) for e in step(number, bash(f"echo {number}", "x\n"))]
    stage.mount("timeline", run=[started(), *steps, ended()])
    expect_scrolled_to_end(stage)
    expect(stage.thread.locator(".batches")).to_have_count(3)
    for number in (30, 700, 1090):
        stage.page.evaluate("number => (location.hash = `step-${number}`)", number)
        expect(stage.step(number)).to_be_in_viewport()
        expect(stage.step(number)).to_contain_text(f"echo {number}")


def test_the_layout_is_not_read_for_each_step_that_is_written(stage: Stage) -> None:
    steps = [event for number in range(1, 111) for event in step(number, bash("x", "x\n"))]
    begun = 10 * len(steps) // 110
    stage.mount("timeline", run=[started(), *steps[:begun]])
    expect_scrolled_to_end(stage)
    stage.page.evaluate(
        """() => {
          const { get } = Object.getOwnPropertyDescriptor(Element.prototype, "scrollHeight");
          window.reads = 0;
          Object.defineProperty(Element.prototype, "scrollHeight", { get() {
            window.reads += this.matches(".thread");
            return get.call(this);
          } });
        }"""
    )
    stage.run.add(*steps[begun:])
    expect(stage.step(110)).to_be_attached()
    assert stage.page.evaluate("reads") < 50, "a few for the message and its frames"


def test_a_stopped_thought_is_shown_as_ended(stage: Stage) -> None:
    thinking: list[Event] = [
        StepStarted(step=1, note=""),
        ReasoningDelta(step=1, text="The third? " * 20),
    ]
    stage.mount("timeline", run=[started(), *thinking])
    thought = stage.step(1).locator(".reasoning summary")
    expect(thought).to_contain_text("Thinking · ")
    stage.run.add(ended("stopped"))
    expect(thought).to_contain_text("Thought · ")
    stage.run.add(continued("Go on"), *step(2, text="Done."), ended())
    expect(stage.timeline.locator(".round-end")).to_have_count(2)
    expect(thought).to_contain_text("Thought · ")
    expect(stage.timeline.locator("a.step-number")).to_have_text(["1", "2"])


def find_field(stage: Stage) -> Locator:
    return stage.page.get_by_role("searchbox", name="Find in run")


def test_find_searches_steps_that_are_not_rendered(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(300))
    stage.thread.focus()
    stage.page.keyboard.press("/")
    expect(find_field(stage)).to_be_focused()
    stage.page.keyboard.type("ROW 77: line 5")
    search = stage.page.get_by_role("search", name="This run")
    expect(search.get_by_role("status")).to_have_text("1 of 1 match")
    expect(search).to_contain_text("step 77: row 77: line 5")
    expect(stage.step(77)).to_be_in_viewport()
    expect(stage.step(77).get_by_label("Output")).to_be_visible()
    marked = "[...CSS.highlights.get('found')].map(range => range.startContainer.data.slice("
    stage.page.wait_for_function(f"() => {marked}range.startOffset, range.endOffset)).length > 10")


def test_enter_moves_between_matches_and_escape_closes_find(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(40))
    stage.button("Find in run").click()
    find_field(stage).fill("row")
    status = stage.page.get_by_role("search").get_by_role("status")
    expect(status).to_have_text("1 of 41 matches")
    expect(stage.timeline.locator(".task")).to_be_in_viewport()
    stage.page.keyboard.press("Enter")
    stage.page.keyboard.press("Enter")
    expect(status).to_have_text("3 of 41 matches")
    expect(stage.step(2)).to_be_in_viewport()
    stage.page.keyboard.press("Shift+Enter")
    expect(status).to_have_text("2 of 41 matches")
    find_field(stage).fill("no such words")
    expect(status).to_have_text("No matches")
    stage.page.keyboard.press("Escape")
    expect(find_field(stage)).to_be_hidden()
    assert stage.page.evaluate("CSS.highlights.get('found').size") == 0


def test_escape_in_find_does_not_stop_the_run(stage: Stage) -> None:
    running = replace(bash("sleep 9", "up\n"), is_running=True)
    stage.mount("timeline", "attachments", run=[started(), *step(1, running)])
    expect(stage.button("Stop")).to_be_enabled()
    stage.button("Stop").evaluate("stop => (stop.onclick = () => (window.stopped = true))")
    stage.button("Find in run").click()
    stage.page.keyboard.press("Escape")
    expect(find_field(stage)).to_be_hidden()
    assert stage.page.evaluate("window.stopped") is None
    stage.page.keyboard.press("Escape")  # now it does
    assert stage.page.evaluate("window.stopped")


def test_only_steps_near_the_viewport_are_rendered(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(1000))
    expect(stage.step(1000)).to_have_count(1)
    whole = stage.timeline.locator("pre")
    expect(whole).not_to_have_count(0)
    elements = "document.querySelectorAll('.thread *').length"
    at_first = stage.page.evaluate(elements)
    scroll = "(thread, part) => thread.scrollTop = part * thread.scrollHeight"
    for part in (0.9, 0.75, 0.5, 0.25, 0):
        stage.thread.evaluate(scroll, part)
        step_number = step_in_view(stage)
        expect(stage.step(step_number).locator("pre.output")).to_have_count(1)
        assert abs(step_number - 1000 * part) < 60
    expect(stage.step(990).locator("pre")).to_have_count(0)
    assert whole.count() < 120
    assert stage.page.evaluate(elements) < at_first + 1500


def step_in_view(stage: Stage) -> int:
    """The number of the step in the middle of the view, when scrolling has ended."""
    script = """async () => {
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
    return int(stage.page.evaluate(script))


def test_a_step_scrolled_out_keeps_its_height_and_expanded_cards(stage: Stage) -> None:
    stage.mount("timeline", run=a_run(200), part="#step-100")
    step, height_of = stage.step(100), "step => step.getBoundingClientRect().height"
    step.locator(".card").locator("summary").click()
    expect(step.get_by_label("Output")).to_be_visible()
    expect(step.locator("strong")).to_have_text("100")
    height = step.evaluate(height_of)
    stage.thread.evaluate("thread => thread.scrollTop += 5 * thread.clientHeight")
    expect(step.locator("pre")).to_have_count(0)
    assert step.evaluate(height_of) == pytest.approx(height, abs=1)
    step.scroll_into_view_if_needed()
    expect(step.get_by_label("Output")).to_be_visible()
    assert step.evaluate(height_of) == pytest.approx(height, abs=2)


def test_scrolling_by_the_user_ends_the_scroll_to_a_step(stage: Stage) -> None:
    stage.script = """
        const frame = requestAnimationFrame;  // slow ones: the scroll to the step takes a while
        window.requestAnimationFrame = (act) => frame(() => setTimeout(act, 500));
    """
    stage.mount("timeline", run=a_run(200), part="#step-100")
    expect(stage.step(100).locator("pre").first).to_be_attached()
    stage.thread.hover()
    stage.page.mouse.wheel(0, 10_000)
    expect(stage.step(100).locator("pre")).to_have_count(0)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_the_toolbar_fits_without_horizontal_scrolling(stage: Stage, look: Look) -> None:
    stage.mount("header", "timeline", run=a_run(5), look=look)
    stage.button("Find in run").click()
    find_field(stage).fill("row 3")
    expect(stage.page.get_by_role("search").get_by_role("status")).to_have_text("1 of 1 match")
    stage.button("Export").click()
    for name in ("Find in run", "Expand all", "Export", "Next match", "Close find"):
        box = stage.button(name).bounding_box()
        assert box
        assert 0 <= box["x"] <= look.size[0] - box["width"]
    menu = stage.page.get_by_role("menu").bounding_box()
    assert menu
    assert menu["x"] >= 0
    assert stage.page.evaluate("document.documentElement.scrollWidth") <= look.size[0]
