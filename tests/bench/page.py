"""From an event to the page, while a run grows: the studio's page beside a Gradio chat."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.browsing import Holdings, Tab, browser
from tests.bench.figures import Sample, Table, megabytes, shown
from tests.bench.place import Place, progress_line
from tests.bench.script import PACE, Source
from tests.bench.wire import Wire

_HEADS = (
    "40 thoughts and 4 KB of output a step, 100 a second", "event → page: median",
    "95th percentile", "n", "on the wire, an event", "main thread busy", "longest task",
    "elements", "JS heap", "page's process",
    "newest in view",
)  # fmt: skip

_TO_END = "document.querySelector('.latest')?.click()"
_AWAY = "document.querySelector('.latest')?.checkVisibility()"


@dataclass(frozen=True)
class _Length:
    """A run of so many steps: what the last of them took, and what the page holds then.

    Attributes:
        busy: The share of the time in which the page's main thread worked.
        wire: Bytes that the server sent for one event.
        longest: Seconds of the page's longest task, 0 if under 50 ms.
        away: Whether the view has left the newest, though nobody touched the page; None where
            it is not known.
    """

    steps: int
    latency: Sample
    busy: float
    wire: float
    longest: float
    holdings: Holdings
    away: bool | None

    def cells(self) -> tuple[str, ...]:
        return (
            shown(self.latency.median),
            shown(self.latency.p95),
            str(self.latency.n),
            f"{self.wire:.0f} B",
            f"{self.busy:.0%}",
            shown(self.longest) if self.longest else "under 50 ms",
            f"{self.holdings.elements:,}",
            megabytes(self.holdings.heap),
            megabytes(self.holdings.private),
            {None: "", False: "yes", True: "lost"}[self.away],
        )


def table(
    place: Place,
    *,
    lengths: tuple[int, ...] = (20, 300, 1000),
    rivals: tuple[int, ...] = (20, 100),
    window: int = 20,
) -> Table:
    """Runs that grow: all at once up to the last steps of a length, those at a model's pace."""
    made = Table("From an event to the page", _HEADS)
    made.notes = [
        "From when an event was made to when its text is in the document of an open page "
        f"(Chromium): the last {window} steps before each length, marked events only. What came "
        "before them was sent at once, and then the view was put to its end. Wire and main "
        "thread: of these steps. Bar: 100 ms for the 95th percentile, at any length. The chat is "
        f"fed {rivals[-1]:,} steps at most, so that the whole stays short."
    ]
    source, wire = Source(), Wire()
    with browser(place) as chromium:
        from tests.bench.shows import chat, studio

        with studio(place.folder / "page", source, wire) as address, Tab(chromium) as tab:
            _begin(tab, address, source)
            for each in _grown(tab, source, wire, lengths, window):
                made.add(f"studio, {each.steps:,} steps", *each.cells())
            made.notes.append(_scrolled(tab))
        source, wire = Source(), Wire()
        with chat(source, wire) as address, Tab(chromium) as tab:
            _begin(tab, address, source)
            for each in _grown(tab, source, wire, rivals, window):
                made.add(f"`gr.Chatbot` at 10 Hz, {each.steps:,} steps", *each.cells())
    return made


def _begin(tab: Tab, address: str, source: Source) -> None:
    """Send the task, and see the first step."""
    tab.page.goto(address)
    tab.page.get_by_role("textbox", name="Task").fill("Measure.")
    tab.page.get_by_role("button", name="Run").click()
    tab.seen(source.play(1))


def _grown(
    tab: Tab, source: Source, wire: Wire, lengths: tuple[int, ...], window: int
) -> Iterator[_Length]:
    done = 1
    for length in lengths:
        progress_line(f"{length:,} steps")
        last = min(window, length - done)
        if length - last > done:
            tab.seen(source.play(length - last - done))
        tab.page.evaluate(_TO_END)
        yield _last(tab, source, wire, length, last)
        done = length


def _last(tab: Tab, source: Source, wire: Wire, length: int, steps: int) -> _Length:
    began, busy, sent, events = tab.now(), tab.busy(), wire.bytes, source.script.events
    marks = source.play(steps, PACE)
    worked, took = tab.busy() - busy, (tab.now() - began) / 1000
    seen = tab.seen(marks)
    made = source.script.made
    return _Length(
        steps=length,
        latency=Sample.of([at - made[mark] for mark, at in zip(marks, seen, strict=True)]),
        busy=worked / took,
        wire=(wire.bytes - sent) / (source.script.events - events),
        longest=tab.longest(began),
        holdings=tab.holdings(),
        away=tab.page.evaluate(_AWAY),
    )


def _scrolled(tab: Tab) -> str:
    gaps = tab.page.evaluate("bench.scrollUp(document.querySelector('.thread'), 0.25)")
    sample = Sample.of([gap / 1000 for gap in gaps])
    return (
        f"The longest run scrolled from its end to its beginning in {sample.n} frames: "
        f"{shown(sample.median)} a frame, 95th percentile {shown(sample.p95)}, the longest "
        f"{shown(max(sample.seconds))}."
    )
