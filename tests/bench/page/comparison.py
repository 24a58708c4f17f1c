"""A comparison of growing runs beside one growing run: what an event costs server and page."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.context import TIMEOUT_SECONDS, BenchContext, print_progress
from tests.bench.page.browser import BrowserTab, launch_browser
from tests.bench.page.script import PACE_SECONDS, EventSource
from tests.bench.tables import Sample, Table, format_duration
from tests.support import httpx

_HEADINGS = (
    "40 thoughts and 4 KB of output a step, 100 a second and member", "event → client: median",
    "95th percentile", "n", "main thread busy",
)  # fmt: skip


@dataclass(frozen=True)
class _Followed:
    """What is followed: the page's address, the address of its stream, and its runs' events."""

    page: str
    stream: str
    sources: Sequence[EventSource]


def table(
    context: BenchContext,
    *,
    lengths: tuple[int, ...] = (20, 300, 1000),
    members: tuple[int, ...] = (1, 2),
    window: int = 20,
) -> Table:
    result = Table("Comparisons of growing runs", _HEADINGS)
    result.notes = [
        f"One run, and comparisons of live members, open in Chromium: the last {window} steps "
        "before each length; what came before them was sent at once. The client follows the same "
        "stream as the page. Bars: two members cost the page's main thread no more than twice one; "
        "the cost of an event does not grow with the runs."
    ]
    with launch_browser(context) as chromium:
        for count in members:
            name = "one run" if count == 1 else f"{count} members"
            data = context.folder / f"comparison-{count}"
            with _serve(data, count) as followed, BrowserTab(chromium) as tab:
                tab.page.goto(followed.page)
                with _Client(followed.stream) as client:
                    for cells in _measure(tab, client, followed.sources, lengths, window):
                        result.add(f"{name}, {cells[0]} steps", *cells[1:])
    return result


@contextmanager
def _serve(data: Path, count: int) -> Iterator[_Followed]:
    """Serve the studio with a run, or with a comparison of several; each has taken a step."""
    from tests.bench.page.pages import studio

    sources = [EventSource() for _ in range(count)]
    with studio(data, *sources) as address:
        if count == 1:
            body: dict[str, Any] = {"data": ["Measure.", "", "general"]}
            run = _post(f"{address}/gradio_api/run/start", body)["data"][0]
            page, stream = f"{address}/?run={run}", f"{address}/api/runs/{run}/events"
        else:
            members = [{"mode": "sandbox", "temperature": at / 10} for at in range(count)]
            body = {"task": "Measure.", "members": members}
            comparison = _post(f"{address}/api/comparisons", body)["id"]
            page = f"{address}/?compare={comparison}"
            stream = f"{address}/api/comparisons/{comparison}/events"
        _play(sources, 1)
        yield _Followed(page, stream, sources)


def _post(url: str, body: dict[str, Any]) -> Any:
    return httpx.post(url, json=body, timeout=TIMEOUT_SECONDS).raise_for_status().json()


def _play(sources: Sequence[EventSource], steps: int, pace: float = 0.0) -> None:
    with ThreadPoolExecutor(len(sources)) as threads:
        list(threads.map(lambda source: source.play(steps, pace), sources))


class _Client:
    """Follows a stream in a thread; records how old each marked event is when it arrives."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._arrived = threading.Condition()
        self._closing = False
        self.ages: list[float] = []
        self._thread = threading.Thread(target=self._follow)

    def __enter__(self) -> "_Client":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self._thread.join(TIMEOUT_SECONDS)

    def wait_for(self, count: int) -> None:
        """Wait until so many events with marks have arrived in all."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.ages) >= count, TIMEOUT_SECONDS):
                raise RuntimeError(f"Only {len(self.ages)} of {count} events arrived.")

    def _follow(self) -> None:
        with httpx.stream("GET", self._stream, timeout=TIMEOUT_SECONDS) as response:
            for line in response.iter_lines():
                if self._closing:
                    return
                if line.startswith("data: ") and '"events":[' in line:
                    self._record(json.loads(line.removeprefix("data: ")), time.time())

    def _record(self, message: dict[str, Any], now: float) -> None:
        events = message.get("data", message).get("events", ())
        ages = [
            now - event["at"]
            for event in events
            if event["kind"] in ("reasoning_delta", "tool_output")
        ]
        with self._arrived:
            self.ages += ages
            self._arrived.notify_all()


def _measure(
    tab: BrowserTab,
    client: _Client,
    sources: Sequence[EventSource],
    lengths: tuple[int, ...],
    window: int,
) -> Iterator[tuple[str, ...]]:
    steps_so_far = 1
    for length in lengths:
        print_progress(f"{len(sources)} × {length:,} steps")
        steps = min(window, length - steps_so_far)
        if length - steps > steps_so_far:
            _play(sources, length - steps - steps_so_far)
        _wait_until_idle(tab)
        arrived = len(client.ages)
        began, busy = time.monotonic(), tab.busy_seconds()
        _play(sources, steps, PACE_SECONDS)
        elapsed = time.monotonic() - began
        busy = tab.busy_seconds() - busy
        client.wait_for(arrived + steps * len(sources))
        sample = Sample(client.ages[arrived:])
        yield (
            f"{length:,}",
            format_duration(sample.median),
            format_duration(sample.p95),
            str(sample.n),
            f"{busy / elapsed:.0%}",
        )
        steps_so_far = length


def _wait_until_idle(tab: BrowserTab, seconds: float = 1.5) -> None:
    """Wait until the page has worked off what it has received."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < end:
        busy = tab.busy_seconds()
        tab.page.wait_for_timeout(seconds * 1000)
        if tab.busy_seconds() - busy < seconds / 5:
            return
    raise RuntimeError("The page does not become idle.")
