"""The chart of where a run's tokens go, in a browser: bars, numbers, tables, steps."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from agent.events import (
    Event,
    ModelAnswered,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    Totals,
    encode,
)
from agent.models.base import PartialCount, Usage
from agent.runs.folder import RunFolder
from agent.settings import Settings
from tests.static.test_states import violations
from tests.support import httpx
from tests.support.browser.page_pool import listen
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab, open_studio

pytestmark = pytest.mark.browser

CACHE: tuple[PartialCount, ...] = ("cached",)


class Server:
    """A running application with runs written as journals."""

    def __init__(self, url: str, data: Path) -> None:
        self.url, self.data = url, data

    def write_run(self, events: Iterable[Event], document: str = "") -> str:
        """Write a run, with a document for its model; returns its id."""
        run: str = httpx.post(f"{self.url}/api/runs").json()["run"]
        folder = RunFolder.open(self.data, run)
        if document:
            (folder.workspace / "input" / "report.txt").write_text(document)
        folder.journal.write_bytes(b"".join(encode(event) + b"\n" for event in events))
        return run

    def append(self, run: str, events: Iterable[Event]) -> None:
        with RunFolder.open(self.data, run).journal.open("ab") as file:
            file.writelines(encode(event) + b"\n" for event in events)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("data")
    with run_server(create_app(Settings(data=data), LocalSandboxProvider(data))) as url:
        yield Server(url, data)


def started(**changes: object) -> RunStarted:
    fields: dict[str, object] = {
        "run": "r", "task": "Read the report.", "mode": "sandbox", "model": "m", "metered": True,
        "prompt": "", "system": "", "user": "", "limits": {"conversation_tokens": 4000},
    }  # fmt: skip
    return RunStarted(**fields | changes)  # type: ignore[arg-type]


def step(number: int, usage: Usage | None, *, estimated: bool = False) -> Iterator[Event]:
    text = f"I read part <b>{number}</b>."
    yield StepStarted(step=number, note="")
    yield TextDelta(step=number, text=text)
    yield ModelAnswered(
        step=number, text=text, reasoning="", calls=(), finish="stop",
        usage=usage, estimated=estimated, seconds=0.5,
    )  # fmt: skip
    yield StepEnded(step=number, totals=Totals(steps=number))


def ended() -> RunEnded:
    return RunEnded(status="submitted", reason="", answer="Done.", totals=Totals())


def three_steps() -> Iterator[Event]:
    yield started(inputs=("input/report.txt",))
    yield from step(1, Usage(1000, 100, cached=0, reported=CACHE))
    yield from step(2, Usage(1500, 50, cached=1100, reported=CACHE))
    yield from step(3, Usage(1600, 40, cached=1550, reported=CACHE))
    yield ended()


def open_chart(studio: StudioTab) -> Locator:
    studio.button("Where the tokens go").click()
    return studio.page.get_by_role("dialog", name="Where the tokens go")


def figures(chart: Locator) -> dict[str, str]:
    """The totals by name, once they are shown."""
    expect(chart.locator(".figures dd").first).to_be_visible()
    rows = chart.locator(".figures > div").all()
    return {row.locator("dt").inner_text(): row.locator("dd").inner_text() for row in rows}


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_bar_is_drawn_for_each_step_and_tokens_are_never_one_sum(
    browser: Browser, server: Server, size: tuple[int, int]
) -> None:
    run = server.write_run(three_steps(), "A port. " * 1500)
    with open_studio(browser, f"{server.url}/?run={run}", size) as studio:
        chart = open_chart(studio)
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
        assert is_drawn(chart.locator("canvas"))
        expect(chart.locator(".pasted-documents summary")).to_contain_text("≈ 3,000 tokens")


@pytest.mark.parametrize("tables", [False, True])
def test_charts_and_tables_are_accessible(browser: Browser, server: Server, tables: bool) -> None:
    run = server.write_run(three_steps(), "A port. " * 1500)
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        chart = open_chart(studio)
        chart.locator(".pasted-documents summary").click()
        if tables:
            studio.button("Show as tables").click()
        assert violations(studio.page) == []


def test_the_keyboard_moves_between_steps_and_opens_one(browser: Browser, server: Server) -> None:
    run = server.write_run(three_steps())
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        chart = open_chart(studio)
        plot = chart.get_by_role("group", name="Tokens by step")
        expect(plot.locator("canvas")).to_be_visible()
        plot.press("ArrowRight")
        plot.press("ArrowRight")
        expect(plot.locator(".tip")).to_contain_text("Step 2 · I read part <b>2</b>.")
        expect(plot.locator(".tip")).to_contain_text("from the environment 400")
        plot.press("Enter")
        expect(chart).to_have_count(0)
        expect(studio.page.locator("#step-2")).to_contain_class("linked")


def test_hovering_shows_a_steps_numbers_and_a_click_goes_there(
    browser: Browser, server: Server
) -> None:
    run = server.write_run(three_steps())
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        chart = open_chart(studio)
        over = chart.locator(".u-over")
        expect(over).to_be_visible()
        box = over.bounding_box()
        assert box
        width = box["width"] / 8  # a run of few steps leaves the rest empty
        over.hover(position={"x": 2.5 * width, "y": 60})
        expect(chart.locator(".tip b")).to_contain_text("Step 3")
        over.click(position={"x": 2.5 * width, "y": 60})
        expect(studio.page.locator("#step-3")).to_contain_class("linked")


def test_the_same_numbers_are_a_table(browser: Browser, server: Server) -> None:
    run = server.write_run([started(), *step(1, Usage(1000, 100), estimated=True), ended()])
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        chart = open_chart(studio)
        figures(chart)
        studio.button("Show as tables").click()
        cells = chart.get_by_role("row").nth(1).locator("th, td")
        expect(cells).to_have_text(
            ["1", "≈ 1,000", "not reported", "≈ 0", "≈ 100", "not reported", "≈ 1,100", "≈ 1,100"]
        )
        expect(chart.locator("canvas")).to_be_hidden()
        expect(chart).to_contain_text("The endpoint does not report what it read from its cache.")


def test_a_scripted_run_and_a_run_without_steps_say_so(browser: Browser, server: Server) -> None:
    scripted = server.write_run([started(metered=False), *step(1, None), ended()])
    empty = server.write_run([started(), ended()])
    with open_studio(browser, f"{server.url}/?run={scripted}") as studio:
        expect(open_chart(studio)).to_contain_text("A scripted model answered")
        studio.button("Close").click()
        studio.open(f"{server.url}/?run={empty}")
        expect(open_chart(studio)).to_contain_text("This run has no steps.")


def test_new_steps_of_a_running_run_are_added(browser: Browser, server: Server) -> None:
    run = server.write_run([started(), *step(1, Usage(1000, 100))])
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        chart = open_chart(studio)
        assert figures(chart)["All prompts"] == "1,000"
        asked: list[str] = []
        listen(studio.page, "request", lambda request: asked.append(request.url))
        server.append(run, step(2, Usage(1200, 100)))
        expect(chart.locator(".figures dd").first).to_have_text("2,200")
        series = [url for url in asked if "/tokens" in url]
        assert series
        assert all(url.endswith("?after=1") for url in series)


def test_documents_out_of_reach_are_counted_later(browser: Browser, server: Server) -> None:
    """While a sandbox starts, its workspace may be moved."""
    events = [started(inputs=("input/report.txt",)), *step(1, Usage(1000, 100))]
    run = server.write_run(events, "A port. " * 1500)
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        unreachable = '{"pages": null, "words": null, "tokens": null, "reason": "Missing."}'
        studio.page.route(
            "**/document-info/**", lambda route: route.fulfill(body=unreachable), times=1
        )
        chart = open_chart(studio)
        figures(chart)
        expect(chart.locator(".pasted-documents")).to_have_count(0)
        server.append(run, step(2, Usage(1200, 100)))
        expect(chart.locator(".pasted-documents summary")).to_contain_text("≈ 3,000 tokens")


def test_runs_beside_each_other_have_the_same_axis(browser: Browser, server: Server) -> None:
    small = server.write_run([started(), *step(1, Usage(100, 10)), ended()])
    large = server.write_run([started(), *step(1, Usage(9000, 10)), ended()])
    with open_studio(browser, server.url) as studio:
        script = """async ([small, large]) => {
            const { mountTokenChart } = await import(new URL("ui/charts/token_chart.js", document.baseURI));
            const place = document.createElement("div");
            document.querySelector(".gradio-container").prepend(place);
            const runs = [{ run: small, label: "Plain" }, { run: large, label: "In sandbox" }];
            mountTokenChart(place, { runs });
        }"""  # noqa: E501
        studio.page.evaluate(script, [small, large])
        panels = studio.page.locator(".token-chart .panel")
        expect(panels.locator("h3")).to_have_text(["Plain", "In sandbox"])
        expect(panels.locator("canvas")).to_have_count(2)
        colours = "canvas => new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height / 2).data.buffer)).size"  # noqa: E501
        upper_halves = [panels.nth(at).locator("canvas").evaluate(colours) for at in (0, 1)]
        assert upper_halves[1] > upper_halves[0]  # only the large run's bar reaches it


def test_a_step_of_a_comparisons_chart_opens_in_its_run(browser: Browser, server: Server) -> None:
    events = [started(), *step(1, Usage(1000, 100)), ended()]
    runs = [server.write_run(events) for _ in range(2)]
    created = httpx.post(f"{server.url}/api/comparisons/from-runs", json={"runs": runs})
    with open_studio(browser, server.url) as studio:
        studio.page.goto(f"{server.url}/?compare={created.json()['id']}")
        plot = studio.page.get_by_role("group", name="Tokens by step").nth(1)
        expect(plot.locator("canvas")).to_be_visible()
        plot.press("ArrowRight")
        plot.press("Enter")
        expect(studio.page.locator("#step-1.linked")).to_be_visible()
        assert f"run={runs[1]}" in studio.page.url


def test_a_thousand_steps_are_drawn_and_pointed_at_at_once(
    browser: Browser, server: Server
) -> None:
    events = (event for number in range(1, 1001) for event in step(number, Usage(90 * number, 30)))
    run = server.write_run([started(), *events, ended()])
    with open_studio(browser, f"{server.url}/?run={run}") as studio:
        chart = open_chart(studio)
        over = chart.locator(".u-over")
        expect(over).to_be_visible()
        box = over.bounding_box()
        assert box
        over.hover(position={"x": box["width"] * 0.5, "y": 60})
        expect(chart.locator(".tip b")).to_contain_text("Step 50")
        assert milliseconds_per_step_pointed_at(chart) < 20


def is_drawn(canvas: Locator) -> bool:
    """Whether a canvas shows more than one colour."""
    script = """(canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size > 3;
    }"""
    return bool(canvas.evaluate(script))


def milliseconds_per_step_pointed_at(chart: Locator) -> float:
    """How long the main thread is busy when the keyboard moves to another step."""
    script = """(plot) => {
        const begin = performance.now();
        for (let count = 0; count < 100; count++)
            plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
        return (performance.now() - begin) / 100;
    }"""
    return float(chart.get_by_role("group", name="Tokens by step").evaluate(script))
