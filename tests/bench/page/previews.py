"""From a click on a file to its first screen: small files, and the largest that one meets."""

from pathlib import Path

from playwright.sync_api import Browser

from tests.bench.context import BenchContext, print_progress
from tests.bench.page.browser import BrowserTab, PreviewNotShown, launch_browser
from tests.bench.page.preview_files import PREVIEW_FILES, PreviewFile, text_file
from tests.bench.page.script import EventSource
from tests.bench.tables import SAMPLE_HEADINGS, Sample, Table, format_duration, format_megabytes
from tests.bench.wire import ByteCounter

_OTHER_FILE = PreviewFile("between.txt", "", text_file("Looked at between the others.\n"))


def table(
    context: BenchContext,
    *,
    sights: tuple[PreviewFile, ...] = PREVIEW_FILES,
    part: float = 1,
    times: int = 10,
) -> Table:
    """Each file alone beside a small text, looked at again and again by turns.

    Args:
        context: Where to measure.
        sights: What is looked at.
        part: How much of their full size the huge files have.
        times: Looks at each.
    """
    made = Table(
        "From a click to the first screen of a file",
        ("what is looked at", "its size", "the first in the tab", *SAMPLE_HEADINGS),
        notes=[
            "From the click on a file's row to the first frame in which its preview is laid out: "
            "text, or pictures that have come, or a film's first frame. Nothing is in the "
            "browser's cache but, after the first look in a tab, the programs of the page. "
            "Bar: 300 ms for what is read by offset (text, JSON lines, pictures' previews, PDF, "
            "csv, sound, film, sqlite); the others say what was not read."
        ],
    )
    with launch_browser(context) as chromium:
        from tests.bench.page.pages import draft, studio

        data = context.folder / "looks"
        with studio(data, EventSource(), ByteCounter()) as address:
            for sight in sights:
                print_progress(sight.description)
                run = draft(data)
                size = _write_file(run.workspace / "output", sight, part)
                page = f"{address}/?run={run.id}"
                try:
                    first, *others = _measure_previews(chromium, page, sight.name, times + 1)
                except PreviewNotShown:
                    made.add(
                        sight.description,
                        format_megabytes(size),
                        "not shown",
                        *("" for _ in SAMPLE_HEADINGS),
                    )
                else:
                    cells = Sample.from_seconds(others).cells()
                    made.add(
                        sight.description, format_megabytes(size), format_duration(first), *cells
                    )
                (run.workspace / "output" / sight.name).unlink()
    return made


def _write_file(folder: Path, sight: PreviewFile, part: float) -> int:
    for each in (sight, _OTHER_FILE):
        each.write(folder / each.name, part if each.name.startswith("huge") else 1)
    return (folder / sight.name).stat().st_size


def _measure_previews(chromium: Browser, address: str, name: str, times: int) -> list[float]:
    """Seconds that each look at a file took; between them another one is looked at."""
    with BrowserTab(chromium) as tab:
        tab.disable_cache()
        tab.page.goto(address)
        for each in (name, _OTHER_FILE.name):
            tab.page.get_by_role("treeitem", name=each).wait_for()
        seconds = []
        for _ in range(times):
            seconds.append(tab.time_preview(name))
            tab.time_preview(_OTHER_FILE.name)
        return seconds
