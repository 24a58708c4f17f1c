"""Time from an event to the page in a growing run: the studio compared with a Gradio chat."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.context import BenchContext, print_progress
from tests.bench.page.browser import BrowserTab, PageMemory, launch_browser
from tests.bench.page.script import PACE_SECONDS, EventSource
from tests.bench.tables import Sample, Table, format_duration, format_megabytes
from tests.bench.wire import ByteCounter

_HEADINGS = (
    "40 thoughts and 4 KB of output a step, 100 a second", "event → page: median",
    "95th percentile", "n", "on the wire, an event", "main thread busy", "longest task",
    "elements", "JS heap", "page's process",
    "newest in view",
)  # fmt: skip

_TO_END = "document.querySelector('.latest')?.click()"
_AWAY = "document.querySelector('.latest')?.checkVisibility()"


@dataclass(frozen=True)
class _LengthResult:
    """Measurements of the last steps of a run of some length, and of the page after them.

    Attributes:
        busy_share: The share of the time in which the page's main thread was busy.
        bytes_per_event: Bytes that the server sent for one event.
        longest_task: Seconds of the page's longest task, 0 if under 50 ms.
        scrolled_away: Whether the newest step has left the view without user input; None if
            unknown.
    """

    steps: int
    latency: Sample
    busy_share: float
    bytes_per_event: float
    longest_task: float
    memory: PageMemory
    scrolled_away: bool | None

    def cells(self) -> tuple[str, ...]:
        return (
            format_duration(self.latency.median),
            format_duration(self.latency.p95),
            str(self.latency.n),
            f"{self.bytes_per_event:.0f} B",
            f"{self.busy_share:.0%}",
            format_duration(self.longest_task) if self.longest_task else "under 50 ms",
            f"{self.memory.elements:,}",
            format_megabytes(self.memory.heap_bytes),
            format_megabytes(self.memory.private_bytes),
            {None: "", False: "yes", True: "lost"}[self.scrolled_away],
        )


def table(
    context: BenchContext,
    *,
    lengths: tuple[int, ...] = (20, 300, 1000),
    gradio_lengths: tuple[int, ...] = (20, 100),
    window: int = 20,
) -> Table:
    """Measure growing runs: the last steps of each length arrive at the pace of a model."""
    result = Table("From an event to the page", _HEADINGS)
    result.notes = [
        "From when an event was made to when its text is in the document of an open page "
        f"(Chromium): the last {window} steps before each length, marked events only. What came "
        "before them was sent at once, and then the view was put to its end. Wire and main "
        "thread: of these steps. Bar: 100 ms for the 95th percentile, at any length. The chat is "
        f"fed {gradio_lengths[-1]:,} steps at most, so that the whole stays short."
    ]
    source, wire = EventSource(), ByteCounter()
    with launch_browser(context) as chromium:
        from tests.bench.page.pages import chat, studio

        with studio(context.folder / "page", source, wire) as address, BrowserTab(chromium) as tab:
            _start_run(tab, address, source)
            for each in _measure_lengths(tab, source, wire, lengths, window):
                result.add(f"studio, {each.steps:,} steps", *each.cells())
            result.notes.append(_measure_scrolling(tab))
        source, wire = EventSource(), ByteCounter()
        with chat(source, wire) as address, BrowserTab(chromium) as tab:
            _start_run(tab, address, source)
            for each in _measure_lengths(tab, source, wire, gradio_lengths, window):
                result.add(f"`gr.Chatbot` at 10 Hz, {each.steps:,} steps", *each.cells())
    return result


def _start_run(tab: BrowserTab, address: str, source: EventSource) -> None:
    """Send the task and wait for the first step."""
    tab.page.goto(address)
    tab.page.get_by_role("textbox", name="Task").fill("Measure.")
    tab.page.get_by_role("button", name="Run").click()
    tab.wait_for_marks(source.play(1))


def _measure_lengths(
    tab: BrowserTab, source: EventSource, wire: ByteCounter, lengths: tuple[int, ...], window: int
) -> Iterator[_LengthResult]:
    steps_so_far = 1
    for length in lengths:
        print_progress(f"{length:,} steps")
        window_steps = min(window, length - steps_so_far)
        if length - window_steps > steps_so_far:
            tab.wait_for_marks(source.play(length - window_steps - steps_so_far))
        tab.page.evaluate(_TO_END)
        yield _measure_last_steps(tab, source, wire, length, window_steps)
        steps_so_far = length


def _measure_last_steps(
    tab: BrowserTab, source: EventSource, wire: ByteCounter, length: int, steps: int
) -> _LengthResult:
    start_time, busy, sent, events = (
        tab.now_ms(),
        tab.busy_seconds(),
        wire.bytes,
        source.script.event_count,
    )
    marks = source.play(steps, PACE_SECONDS)
    busy_seconds, elapsed = tab.busy_seconds() - busy, (tab.now_ms() - start_time) / 1000
    shown_at = tab.wait_for_marks(marks)
    result = source.script.created_at
    return _LengthResult(
        steps=length,
        latency=Sample.from_seconds(
            [at - result[mark] for mark, at in zip(marks, shown_at, strict=True)]
        ),
        busy_share=busy_seconds / elapsed,
        bytes_per_event=(wire.bytes - sent) / (source.script.event_count - events),
        longest_task=tab.longest_task(start_time),
        memory=tab.memory(),
        scrolled_away=tab.page.evaluate(_AWAY),
    )


def _measure_scrolling(tab: BrowserTab) -> str:
    gaps = tab.page.evaluate("bench.scrollUp(document.querySelector('.thread'), 0.25)")
    sample = Sample.from_seconds([gap / 1000 for gap in gaps])
    return (
        f"The longest run scrolled from its end to its beginning in {sample.n} frames: "
        f"{format_duration(sample.median)} a frame, 95th percentile "
        f"{format_duration(sample.p95)}, the longest "
        f"{format_duration(max(sample.seconds))}."
    )
