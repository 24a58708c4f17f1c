"""The report of a run: writing its file, opening it from the disk, moving through its steps."""

from functools import partial

from playwright.sync_api import Browser

from agent.report.report import Budget, save_report
from agent.runs.folder import RunFolder
from tests.bench.context import BenchContext
from tests.bench.page.browser import BrowserTab, launch_browser
from tests.bench.page.opening import write_ended_run
from tests.bench.tables import Table, format_megabytes, measure, record_duration, sample_table

_PLAYER = ".time-bar:not([hidden])"
_PAINTED = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
_MOVE = """(step) => {
  const began = performance.now();
  const options = { key: step % 2 ? "PageUp" : "ArrowLeft", bubbles: true };
  document.querySelector("[role=slider]").dispatchEvent(new KeyboardEvent("keydown", options));
  document.body.getBoundingClientRect();
  return (performance.now() - began) / 1000;
}"""


def table(
    context: BenchContext, *, lengths: tuple[int, ...] = (20, 300), times: int = 8, moves: int = 40
) -> Table:
    result = sample_table(
        "Reports",
        "in Chromium, from the disk",
        "Opened: the player is there and painted. A move goes to another step and lays the page "
        "out. Bar: 300 steps open in less than 2 seconds.",
    )
    data = context.folder / "reports"
    with launch_browser(context) as chromium:
        for length in lengths:
            folder = RunFolder.create(data, "sandbox-1")
            write_ended_run(folder, length)
            file = data / f"{length}.html"
            written = measure(partial(save_report, folder, file, Budget()), times, warm_up=0)
            size = format_megabytes(file.stat().st_size)
            result.add_sample(f"{length:,} steps, {size}: written", written)
            opened, moved = _open(chromium, file.as_uri(), times, moves)
            result.add_sample(f"{length:,} steps: opened", opened)
            result.add_sample(f"{length:,} steps: a move", moved)
    return result


def _open(chromium: Browser, address: str, times: int, moves: int) -> tuple[list[float], ...]:
    """Open a report several times; move through it after the last time."""
    opened, moved = list[float](), list[float]()
    for at in range(times):
        with BrowserTab(chromium) as tab:
            with record_duration(opened):
                tab.page.goto(address)
                tab.page.wait_for_selector(_PLAYER)
                tab.page.evaluate(_PAINTED)
            if at == times - 1:
                moved = [tab.page.evaluate(_MOVE, step) for step in range(moves)]
    return opened, moved
