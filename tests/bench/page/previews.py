"""Time from a click on a file to its preview, for small and huge files."""

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
    files: tuple[PreviewFile, ...] = PREVIEW_FILES,
    scale: float = 1,
    times: int = 10,
) -> Table:
    """Measure the preview of each file, alternately with that of a small text.

    Args:
        context: The context of the benchmark.
        files: The files to preview.
        scale: The fraction of their full size that the huge files have.
        times: Measurements per file.
    """
    result = Table(
        "From a click to the first screen of a file",
        ("file", "size", "first in the tab", *SAMPLE_HEADINGS),
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

        data = context.folder / "previews"
        with studio(data, EventSource(), ByteCounter()) as address:
            for file in files:
                print_progress(file.description)
                run = draft(data)
                size = _write_file(run.workspace / "output", file, scale)
                page = f"{address}/?run={run.id}"
                try:
                    first, *others = _measure_previews(chromium, page, file.name, times + 1)
                except PreviewNotShown:
                    result.add(
                        file.description,
                        format_megabytes(size),
                        "not shown",
                        *("" for _ in SAMPLE_HEADINGS),
                    )
                else:
                    cells = Sample.from_seconds(others).cells()
                    result.add(
                        file.description, format_megabytes(size), format_duration(first), *cells
                    )
                (run.workspace / "output" / file.name).unlink()
    return result


def _write_file(folder: Path, file: PreviewFile, scale: float) -> int:
    for each in (file, _OTHER_FILE):
        each.write(folder / each.name, scale if each.name.startswith("huge") else 1)
    return (folder / file.name).stat().st_size


def _measure_previews(chromium: Browser, address: str, name: str, times: int) -> list[float]:
    """Return the seconds of each preview of a file, alternating with another file."""
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
