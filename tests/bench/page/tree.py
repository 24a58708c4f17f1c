"""The file tree: time from a written file to its row, and time to the first row."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser

from agent.runs.folder import RunFolder
from tests.bench.context import BenchContext, print_progress
from tests.bench.page.browser import BrowserTab, launch_browser
from tests.bench.page.script import EventSource
from tests.bench.tables import Table, sample_table
from tests.support.tab import row_name

_FILES_PER_FOLDER = 100
_PAUSE_SECONDS = 0.2
_ROW = "document.querySelector('.tree [role=treeitem][aria-level=\"2\"]')"


def table(
    context: BenchContext,
    *,
    counts: tuple[int, ...] = (10, 1_000, 10_000),
    times: int = 30,
    paints: int = 6,
) -> Table:
    result = sample_table(
        "The tree of files",
        "files in the workspace",
        f"Written: a file each {_PAUSE_SECONDS:g} s into `output/`, until its row is in an open "
        "page. Bar: 250 ms for the 95th percentile. Painted: from a page's beginning, with nothing "
        "in the cache, to the first frame with a file in it. Of a large folder the page has the "
        "rows near the eye.",
    )
    data = context.folder / "tree"
    with launch_browser(context) as chromium:
        from tests.bench.page.pages import draft, studio

        with studio(data, EventSource()) as address:
            for place, (name, count, path) in enumerate(_layouts(counts)):
                print_progress(name)
                run = draft(data)
                _fill(run.workspace, count, path)
                # Other marks for each run: the page may list an earlier one's newest file.
                marks = range(place * 1000, place * 1000 + times + 1)
                written = _measure_updates(chromium, address, run, marks)
                result.add_sample(f"{name}: written", written)
                painted = _measure_first_rows(chromium, address, run, paints)
                result.add_sample(f"{name}: painted", painted)
    return result


def _layouts(counts: tuple[int, ...]) -> Iterator[tuple[str, int, Callable[[int], str]]]:
    for count in counts:
        yield f"{count:,} in one folder", count, lambda number: f"output/{number}.txt"
    name = f"{counts[-1]:,}, {_FILES_PER_FOLDER} to a folder"
    yield name, counts[-1], lambda number: f"folder {number // _FILES_PER_FOLDER}/{number}.txt"


def _fill(workspace: Path, count: int, path: Callable[[int], str]) -> None:
    (workspace / "output" / "0.txt").write_text("0")
    for number in range(count):
        file = workspace / path(number)
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{number}")


def _measure_updates(chromium: Browser, address: str, run: RunFolder, marks: range) -> list[float]:
    """The first file is a warm-up. The newest file is sorted first, where its row is visible."""
    with BrowserTab(chromium) as tab:
        tab.page.goto(f"{address}/?run={run.id}")
        tab.page.get_by_role("treeitem", name=row_name("0.txt")).wait_for()
        written_at: list[float] = []
        for place, mark in enumerate(marks):
            written_at.append(time.time())
            (run.workspace / "output" / f"!{1000 - place} §{mark}§.txt").write_text("new")
            time.sleep(_PAUSE_SECONDS)
        shown_at = tab.wait_for_marks(marks)
    return [after - before for before, after in zip(written_at, shown_at, strict=True)][1:]


def _measure_first_rows(chromium: Browser, address: str, run: RunFolder, times: int) -> list[float]:
    seconds: list[float] = []
    for _ in range(times):
        with BrowserTab(chromium) as tab:
            tab.page.goto(f"{address}/?run={run.id}", wait_until="commit")
            seconds.append(tab.time_until(f"bench.inView({_ROW})"))
    return seconds
