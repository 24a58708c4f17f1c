"""Time from an event to the page in a growing run: the studio compared with a Gradio chat."""

from tests.bench.context import BenchContext, print_progress
from tests.bench.page.browser import BrowserTab, launch_browser
from tests.bench.page.script import PACE_SECONDS, EventSource
from tests.bench.tables import Sample, Table, format_duration, format_megabytes

_HEADINGS = (
    "40 thoughts and 4 KB of output a step, 100 a second", "event → page: median",
    "95th percentile", "n", "elements", "JS heap",
)  # fmt: skip
_TO_END = "document.querySelector('.latest')?.click()"


def table(
    context: BenchContext,
    *,
    lengths: tuple[int, ...] = (20, 300, 1000),
    gradio_lengths: tuple[int, ...] = (20, 100),
    window: int = 20,
) -> Table:
    result = Table("From an event to the page", _HEADINGS)
    result.notes = [
        "From when an event was made to when its text is in the document of an open page "
        f"(Chromium): the last {window} steps before each length, marked events only. What came "
        "before them was sent at once, and then the view was put to its end. Bar: 100 ms for the "
        f"95th percentile, at any length. The chat is fed {gradio_lengths[-1]:,} steps at most, so "
        "that the whole stays short."
    ]
    with launch_browser(context) as chromium:
        from tests.bench.page.pages import chat, studio

        source = EventSource()
        with studio(context.folder / "page", source) as address, BrowserTab(chromium) as tab:
            _measure(result, "studio", tab, address, source, lengths, window)
        source = EventSource()
        with chat(source) as address, BrowserTab(chromium) as tab:
            name = "`gr.Chatbot` at 10 Hz"
            _measure(result, name, tab, address, source, gradio_lengths, window)
    return result


def _measure(
    result: Table,
    name: str,
    tab: BrowserTab,
    address: str,
    source: EventSource,
    lengths: tuple[int, ...],
    window: int,
) -> None:
    """Start a run; add a row at each of the lengths."""
    tab.page.goto(address)
    tab.page.get_by_role("textbox", name="Task").fill("Measure.")
    tab.page.get_by_role("button", name="Run").click()
    tab.wait_for_marks(source.play(1))
    steps_so_far = 1
    for length in lengths:
        print_progress(f"{length:,} steps")
        steps = min(window, length - steps_so_far)
        if length - steps > steps_so_far:
            tab.wait_for_marks(source.play(length - steps - steps_so_far))
        tab.page.evaluate(_TO_END)
        marks = source.play(steps, PACE_SECONDS)
        created_at = source.script.created_at
        latency = Sample(
            [
                shown_at - created_at[mark]
                for mark, shown_at in zip(marks, tab.wait_for_marks(marks), strict=True)
            ]
        )
        result.add(
            f"{name}, {length:,} steps",
            format_duration(latency.median),
            format_duration(latency.p95),
            str(latency.n),
            f"{tab.page.locator('*').count():,}",
            format_megabytes(tab.heap_bytes()),
        )
        steps_so_far = length
