"""From a file that is written to its row in the page's tree."""

import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser

from tests.bench.browsing import Tab, browser
from tests.bench.figures import SAMPLED, Sample, Table
from tests.bench.place import Place
from tests.bench.script import Source
from tests.bench.wire import Wire

_FOLDER = 100


def table(
    place: Place, *, few: int = 10, many: int = 10_000, times: int = 30, pause: float = 0.2
) -> Table:
    """Files written one after the other, with few and with many files beside them."""
    made = Table(
        "From a file to its row in the page",
        ("a file written into `output/`, among", *SAMPLED),
        notes=[
            f"The page lists the first 1,000 names of a folder. A file each {pause:g} s. "
            "Bar: 250 ms."
        ],
    )
    data = place.folder / "tree"
    layouts: dict[str, tuple[int, Callable[[int], str]]] = {
        f"{few:,} files": (few, lambda number: f"output/{number}.txt"),
        f"{many:,} files, {_FOLDER} to a folder": (
            many, lambda number: f"folder {number // _FOLDER}/{number}.txt",
        ),
        f"{many:,} files in the same folder": (many, lambda number: f"output/{number}.txt"),
    }  # fmt: skip
    with browser(place) as chromium:
        from tests.bench.shows import draft, studio

        with studio(data, Source(), Wire()) as address:
            for name, (count, path) in layouts.items():
                run = draft(data)
                _fill(run.workspace, count, path)
                sample = _rows(chromium, f"{address}/?run={run.id}", run.workspace, times, pause)
                made.add(name, *sample.cells())
    return made


def _fill(workspace: Path, count: int, path: Callable[[int], str]) -> None:
    for number in range(count):
        file = workspace / path(number)
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{number}")


def _rows(chromium: Browser, address: str, workspace: Path, times: int, pause: float) -> Sample:
    with Tab(chromium) as tab:
        tab.page.goto(address)
        tab.page.get_by_role("treeitem", name="0.txt").or_(
            tab.page.get_by_role("treeitem", name="folder 0", exact=True)
        ).first.wait_for()
        written: list[float] = []
        for number in range(times + 1):
            written.append(time.time())
            (workspace / "output" / f"!§{number}§.txt").write_text("new")
            time.sleep(pause)
        seen = tab.seen(range(times + 1))
        return Sample.of([after - before for before, after in zip(written, seen, strict=True)][1:])
