"""From a click on a file to its first screen: small files, and the largest that one meets."""

from pathlib import Path

from playwright.sync_api import Browser

from tests.bench.browsing import NotShown, Tab, browser
from tests.bench.figures import SAMPLED, Sample, Table, megabytes, shown
from tests.bench.place import Place, progress_line
from tests.bench.script import Source
from tests.bench.sights import SIGHTS, Sight, small
from tests.bench.wire import Wire

_BETWEEN = Sight("between.txt", "", small("Looked at between the others.\n"))


def table(
    place: Place, *, sights: tuple[Sight, ...] = SIGHTS, part: float = 1, times: int = 10
) -> Table:
    """Each file alone beside a small text, looked at again and again by turns.

    Args:
        place: Where to measure.
        sights: What is looked at.
        part: How much of their full size the huge files have.
        times: Looks at each.
    """
    made = Table(
        "From a click to the first screen of a file",
        ("what is looked at", "its size", "the first in the tab", *SAMPLED),
        notes=[
            "From the click on a file's row to the first frame in which its preview is laid out: "
            "text, or pictures that have come, or a film's first frame. Nothing is in the "
            "browser's cache but, after the first look in a tab, the programs of the page. "
            "Bar: 300 ms for what is read by offset (text, JSON lines, pictures' previews, PDF, "
            "csv, sound, film, sqlite); the others say what was not read."
        ],
    )
    with browser(place) as chromium:
        from tests.bench.shows import draft, studio

        data = place.folder / "looks"
        with studio(data, Source(), Wire()) as address:
            for sight in sights:
                progress_line(sight.about)
                run = draft(data)
                size = _written(run.workspace / "output", sight, part)
                page = f"{address}/?run={run.id}"
                try:
                    first, *others = _looked(chromium, page, sight.name, times + 1)
                except NotShown:
                    made.add(sight.about, megabytes(size), "not shown", *("" for _ in SAMPLED))
                else:
                    cells = Sample.of(others).cells()
                    made.add(sight.about, megabytes(size), shown(first), *cells)
                (run.workspace / "output" / sight.name).unlink()
    return made


def _written(folder: Path, sight: Sight, part: float) -> int:
    for each in (sight, _BETWEEN):
        each.make(folder / each.name, part if each.name.startswith("huge") else 1)
    return (folder / sight.name).stat().st_size


def _looked(chromium: Browser, address: str, name: str, times: int) -> list[float]:
    """Seconds that each look at a file took; between them another one is looked at."""
    with Tab(chromium) as tab:
        tab.forget()
        tab.page.goto(address)
        for each in (name, _BETWEEN.name):
            tab.page.get_by_role("treeitem", name=each).wait_for()
        seconds = []
        for _ in range(times):
            seconds.append(tab.look(name))
            tab.look(_BETWEEN.name)
        return seconds
