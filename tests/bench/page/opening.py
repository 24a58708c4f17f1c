"""Opening the page: a first visit, and a page with an existing run."""

from functools import partial
from unittest.mock import patch

from playwright.sync_api import Browser

from agent.events import Totals
from agent.runs.folder import RunFolder
from agent.runs.journal import Journal
from sandbox_ui.page import modules
from tests.bench.context import BenchContext
from tests.bench.page.browser import BrowserTab, launch_browser
from tests.bench.page.script import EventScript, EventSource
from tests.bench.tables import Table, format_megabytes, sample_table
from tests.support.component.events import ended, started

_LARGE_OUTPUT_LENGTH = 20_000
"""Characters of an output, which the journal contains twice."""

_DISTANT_SECONDS = 0.1
"""Round trip to a server on the same continent, over a mobile network."""

_PAINTED = "performance.getEntriesByName('first-contentful-paint').length"
_READY = "'mounted' in document.documentElement.dataset"
_CHAT_READY = "document.querySelector('textarea')"


def table(
    context: BenchContext,
    *,
    times: int = 8,
    gradio_times: int = 4,
    lengths: tuple[int, ...] = (20, 1000),
    cold: int = 4,
) -> Table:
    result = sample_table(
        "Opening the page",
        "from the navigation on, in Chromium",
        "Ready: what is typed or pressed does something. A run is shown when its last step is in "
        "view. Cold: nobody has looked at the run since the application began. Bar: a second for a "
        "run of 1,000 steps.",
    )
    data = context.folder / "opening"
    with launch_browser(context) as chromium:
        from tests.bench.page.pages import chat, draft, studio

        runs = {length: write_ended_run(draft(data), length) for length in lengths}
        large = [
            write_ended_run(draft(data), lengths[-1], _LARGE_OUTPUT_LENGTH) for _ in range(cold)
        ]
        visit = partial(_measure_visits, result, chromium)
        with studio(data, EventSource()) as address:
            visit("studio", address, _READY, times)
            visit("studio", address, _READY, times, latency=_DISTANT_SECONDS)
            with patch.object(modules, "BUNDLE", data / "none"):
                name = "the same, modules not bundled"
                visit(name, address, _READY, times, latency=_DISTANT_SECONDS)
            for length, run in runs.items():
                loads = _measure_loads(chromium, f"{address}/?run={run}", _in_view(length), times)
                result.add_sample(f"studio: a run of {length:,} steps, loaded again", loads)
            size = format_megabytes((data / "runs" / large[0] / "journal.jsonl").stat().st_size)
            name = f"studio: a run of {lengths[-1]:,} steps, a journal of {size}, cold"
            loads = _measure_cold_loads(chromium, address, large, _in_view(lengths[-1]))
            result.add_sample(name, loads)
        with chat(EventSource()) as address:
            visit("`gr.Chatbot`", address, _CHAT_READY, gradio_times)
            visit("`gr.Chatbot`", address, _CHAT_READY, gradio_times, latency=_DISTANT_SECONDS)
    return result


def write_ended_run(folder: RunFolder, length: int, output: int = 4096) -> str:
    """Write the journal of an ended run of ``length`` steps; returns its id."""
    journal = Journal(folder.journal)
    end = ended("answered", totals=Totals(steps=length))
    for event in (started("Measure."), *EventScript(output).steps(length), end):
        journal.append(event)
    journal.close()
    return folder.id


def _measure_visits(
    result: Table,
    chromium: Browser,
    name: str,
    address: str,
    ready: str,
    times: int,
    *,
    latency: float = 0,
) -> None:
    """Measure visits in separate browser contexts, after a first one as warm-up."""
    painted, ready_times, cpu = list[float](), list[float](), list[float]()
    for _ in range(times + 1):
        with BrowserTab(chromium) as tab:
            cpu_before = tab.browser_cpu_seconds()
            if latency:
                tab.add_latency(latency)
            tab.page.goto(address, wait_until="commit")
            ready_times.append(tab.time_until(ready))
            tab.time_until(_PAINTED)
            painted.append(tab.first_paint())
            tab.page.wait_for_load_state("networkidle")
            cpu.append(tab.browser_cpu_seconds() - cpu_before)
            requests = tab.count_requests()
    far = f", a round trip of {1000 * latency:.0f} ms" if latency else ""
    result.add_sample(f"{name}{far}: first paint of a first visit", painted[1:])
    result.add_sample(f"{name}{far}: ready", ready_times[1:])
    result.add_sample(f"{name}{far}: CPU of the browser for {requests} requests", cpu[1:])


def _measure_loads(chromium: Browser, address: str, shown: str, times: int) -> list[float]:
    with BrowserTab(chromium) as tab:
        tab.page.goto(address)
        tab.time_until(shown)
        seconds = []
        for _ in range(times):
            tab.page.reload(wait_until="commit")
            seconds.append(tab.time_until(shown))
    return seconds


def _measure_cold_loads(
    chromium: Browser, address: str, runs: list[str], shown: str
) -> list[float]:
    """Measure the first view of each run in a browser with the page in its cache."""
    seconds = []
    with BrowserTab(chromium) as tab:
        tab.page.goto(address)
        tab.time_until(_READY)
        for run in runs:
            tab.page.goto(f"{address}/?run={run}", wait_until="commit")
            seconds.append(tab.time_until(shown))
    return seconds


def _in_view(step: int) -> str:
    return f"bench.inView(document.getElementById('step-{step}'))"
