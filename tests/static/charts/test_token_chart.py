"""The chart of where a run's tokens go: bars, numbers, tables, steps."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from agent.events import Event
from agent.models.base import PartialCount, Usage
from tests.support.component import events
from tests.support.component.accessibility import violations
from tests.support.component.events import ended
from tests.support.component.recorded import recorded
from tests.support.component.runs import RUN
from tests.support.component.stage import LOOKS, Look, Stage, looks

pytestmark = pytest.mark.component

CACHE: tuple[PartialCount, ...] = ("cached",)
REPORT = "document-info/input/report.txt"
LIMITS = {"conversation_tokens": 4000}


def started(**changes: object) -> Event:
    return events.started("Read the report.", limits=LIMITS, **changes)


def step(number: int, usage: Usage | None, *, estimated: bool = False) -> Iterator[Event]:
    text = f"I read part <b>{number}</b>."
    return events.step(number, text=text, usage=usage, estimated=estimated)


def three_steps() -> Iterator[Event]:
    yield started(inputs=("report.txt",))
    yield from step(1, Usage(1000, 100, cached=0, reported=CACHE))
    yield from step(2, Usage(1500, 50, cached=1100, reported=CACHE))
    yield from step(3, Usage(1600, 40, cached=1550, reported=CACHE))
    yield ended(answer="Done.")


@pytest.fixture(autouse=True)
def _documents(stage: Stage) -> None:
    stage.answer_recorded(recorded("documents"))


def open_chart(stage: Stage) -> Locator:
    stage.button("Where the tokens go").click()
    return stage.page.get_by_role("dialog", name="Where the tokens go")


def figures(chart: Locator) -> dict[str, str]:
    """The totals by name, once they are shown."""
    expect(chart.locator(".figures dd").first).to_be_visible()
    rows = chart.locator(".figures > div").all()
    return {row.locator("dt").inner_text(): row.locator("dd").inner_text() for row in rows}


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_a_bar_is_drawn_for_each_step_and_tokens_are_never_one_sum(
    stage: Stage, look: Look
) -> None:
    stage.mount("header", "timeline", run=three_steps(), look=look)
    chart = open_chart(stage)
    assert figures(chart) == {
        "All prompts": "4,100",
        "of it from the cache": "2,650",
        "of it written to the cache": "not reported",
        "Generated": "190",
        "of it reasoning": "not reported",
        "Environment": "450",
        "Each token once": "1,640",
        "Largest prompt": "1,600",
    }
    expect(chart.locator("canvas")).to_be_visible()
    assert colours(chart.locator("canvas")) > 3  # it is drawn
    expect(chart.locator(".pasted-documents summary")).to_contain_text("≈ 3,000 tokens")


@pytest.mark.parametrize("look", looks(roles=["owner"]), ids=str)
@pytest.mark.parametrize("tables", [False, True], ids=["charts", "tables"])
def test_charts_and_tables_are_accessible(stage: Stage, look: Look, tables: bool) -> None:
    stage.mount("header", "timeline", run=three_steps(), look=look)
    chart = open_chart(stage)
    chart.locator(".pasted-documents summary").click()
    if tables:
        stage.button("Show as tables").click()
    assert violations(stage.page) == []


def test_keys_and_pointer_show_a_steps_numbers_and_go_there(stage: Stage) -> None:
    stage.mount("timeline", run=three_steps())
    chart = open_chart(stage)
    plot = chart.get_by_role("group", name="Tokens by step")
    expect(plot.locator("canvas")).to_be_visible()
    plot.press("ArrowRight")
    plot.press("ArrowRight")
    expect(plot.locator(".tip")).to_contain_text("Step 2 · I read part <b>2</b>.")
    expect(plot.locator(".tip")).to_contain_text("from the environment 400")
    plot.press("Enter")
    expect(chart).to_have_count(0)
    expect(stage.step(2)).to_contain_class("linked")
    over = open_chart(stage).locator(".u-over")
    width = width_of(over) / 8  # a run of few steps leaves the rest empty
    over.hover(position={"x": 2.5 * width, "y": 60})
    expect(chart.locator(".tip b")).to_contain_text("Step 3")
    over.click(position={"x": 2.5 * width, "y": 60})
    expect(stage.step(3)).to_contain_class("linked")


def test_the_same_numbers_are_a_table(stage: Stage) -> None:
    run = [started(), *step(1, Usage(1000, 100), estimated=True), ended()]
    stage.mount("timeline", run=run)
    chart = open_chart(stage)
    figures(chart)
    stage.button("Show as tables").click()
    cells = chart.get_by_role("row").nth(1).locator("th, td")
    expect(cells).to_have_text(
        ["1", "≈ 1,000", "not reported", "≈ 0", "≈ 100", "not reported", "≈ 1,100", "≈ 1,100"]
    )
    expect(chart.locator("canvas")).to_be_hidden()
    expect(chart).to_contain_text("The endpoint does not report what it read from its cache.")


@pytest.mark.parametrize(
    ("run", "says"),
    [
        ([started(metered=False), *step(1, None), ended()], "A scripted model answered"),
        ([started(), ended()], "This run has no steps."),
    ],
    ids=["scripted", "no-steps"],
)
def test_a_scripted_run_and_a_run_without_steps_say_so(
    stage: Stage, run: list[Event], says: str
) -> None:
    stage.mount("timeline", run=run)
    expect(open_chart(stage)).to_contain_text(says)


def test_another_run_closes_the_chart(stage: Stage) -> None:
    stage.mount("header", "timeline", run=three_steps())
    chart = open_chart(stage)
    stage.evaluate("core/event_stream.js", "({ showRun }) => showRun(null)")
    expect(chart).to_have_count(0)


def test_new_steps_of_a_running_run_are_added(stage: Stage) -> None:
    stage.mount("timeline", run=[started(), *step(1, Usage(1000, 100))])
    chart = open_chart(stage)
    assert figures(chart)["All prompts"] == "1,000"
    stage.requests.clear()
    stage.run.add(*step(2, Usage(1200, 100)))
    expect(chart.locator(".figures dd").first).to_have_text("2,200")
    asked = stage.asked("tokens")
    assert asked
    assert all(each.query == {"after": "1"} for each in asked)


def test_documents_out_of_reach_are_counted_later(stage: Stage) -> None:
    """While a sandbox starts, its workspace may be moved."""
    answers = recorded("documents")
    stage.answer(REPORT, answers["GET document-info/input/missing.txt"])
    run = [started(inputs=("report.txt",)), *step(1, Usage(1000, 100))]
    stage.mount("timeline", run=run)
    chart = open_chart(stage)
    figures(chart)
    expect(chart.locator(".pasted-documents")).to_have_count(0)
    stage.answer(REPORT, answers[f"GET {REPORT}"])
    stage.run.add(*step(2, Usage(1200, 100)))
    expect(chart.locator(".pasted-documents summary")).to_contain_text("≈ 3,000 tokens")


def test_runs_beside_each_other_have_the_same_axis(stage: Stage) -> None:
    stage.add_run([started(), *step(1, Usage(9000, 10)), ended()], "large-run")
    stage.mount("timeline", run=[started(), *step(1, Usage(100, 10)), ended()])
    script = """({ mountTokenChart }, [small, large]) => {
        const place = document.createElement("div");
        document.querySelector(".gradio-container").prepend(place);
        const runs = [{ run: small, label: "Plain" }, { run: large, label: "In sandbox" }];
        mountTokenChart(place, { runs });
    }"""
    stage.evaluate("charts/token_chart.js", script, [RUN, "large-run"])
    panels = stage.page.locator(".token-chart .panel")
    expect(panels.locator("h3")).to_have_text(["Plain", "In sandbox"])
    expect(panels.locator("canvas")).to_have_count(2)
    upper_halves = [colours(panels.nth(at).locator("canvas"), 0.5) for at in (0, 1)]
    assert upper_halves[1] > upper_halves[0]  # only the large run's bar reaches it


def test_a_thousand_steps_are_drawn_and_pointed_at(stage: Stage) -> None:
    steps = (event for number in range(1, 1001) for event in step(number, Usage(90 * number, 30)))
    stage.mount("timeline", run=[started(), *steps, ended()])
    chart = open_chart(stage)
    over = chart.locator(".u-over")
    over.hover(position={"x": width_of(over) * 0.5, "y": 60})
    expect(chart.locator(".tip b")).to_contain_text("Step 50")
    elements = "chart => chart.querySelectorAll('*').length"
    before = chart.evaluate(elements)
    chart.get_by_role("group", name="Tokens by step").evaluate(
        """(plot) => {
          for (let count = 0; count < 100; count++)
            plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
        }"""
    )
    expect(chart.locator(".tip b")).to_contain_text("Step 40")
    assert chart.evaluate(elements) <= before  # a step that is pointed at costs no element


def width_of(element: Locator) -> float:
    expect(element).to_be_visible()
    return float(element.evaluate("element => element.offsetWidth"))


def colours(canvas: Locator, part: float = 1) -> int:
    """The number of colours in the upper part of a canvas."""
    script = """(canvas, part) => {
        const { width, height } = canvas;
        const { data } = canvas.getContext("2d").getImageData(0, 0, width, height * part);
        return new Set(new Uint32Array(data.buffer)).size;
    }"""
    return int(canvas.evaluate(script, part))


CHANGES = """canvas => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const colours = new Uint32Array(data.buffer);
  return colours.reduce((found, colour, at) => found + (at > 0 && colour !== colours[at - 1]), 0);
}"""
"""How often the colour changes from a pixel to the next one."""


def test_in_forced_colours_the_parts_differ_by_pattern(stage: Stage) -> None:
    stage.mount("header", "timeline", run=three_steps())
    canvas = open_chart(stage).locator("canvas").first
    expect(canvas).to_be_visible()
    plain = canvas.evaluate(CHANGES)
    stage.page.emulate_media(forced_colors="active")
    stage.wait_until(lambda: bool(canvas.evaluate(CHANGES) > 1.2 * plain))  # lines in the bars
    stage.page.emulate_media(forced_colors="none")
    stage.wait_until(lambda: bool(canvas.evaluate(CHANGES) == plain))
