"""Samples, their statistics, and tables in Markdown."""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sample:
    """Repeated measurements of one duration, in seconds."""

    seconds: Sequence[float]

    @property
    def n(self) -> int:
        return len(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % interval for the median, by order statistics: no distribution is assumed."""
        ranked = sorted(self.seconds)
        half_width = 0.98 * math.sqrt(self.n)  # 1.96 standard deviations of Binomial(n, 1/2)
        low = max(0, math.floor(self.n / 2 - half_width))
        high = min(self.n - 1, math.ceil(self.n / 2 + half_width))
        return ranked[low], ranked[high]

    @property
    def p95(self) -> float:
        ranked = sorted(self.seconds)
        return ranked[min(self.n - 1, math.ceil(0.95 * self.n) - 1)]

    def cells(self, unit: str = "ms") -> tuple[str, str, str, str, str]:
        """Cells for ``SAMPLE_HEADINGS``; below 20 samples, the 95th percentile is the maximum."""
        low, high = (format_duration(value, unit) for value in self.interval)
        smallest, p95 = format_duration(min(self.seconds), unit), format_duration(self.p95, unit)
        return format_duration(self.median, unit), f"{low} … {high}", smallest, p95, str(self.n)


SAMPLE_HEADINGS = ("median", "95 % interval of it", "smallest", "95th percentile", "n")


def format_duration(seconds: float, unit: str = "ms") -> str:
    """Format a duration with three significant digits, without an exponent."""
    value = seconds * {"ms": 1000.0, "s": 1.0}[unit]
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f} {unit}"


def format_megabytes(size: float) -> str:
    """Format a size in MB (10^6 bytes)."""
    return f"{size / 1e6:.0f} MB" if size >= 20e6 else f"{size / 1e6:.2f} MB"


@dataclass
class Table:
    """One table of measurements, with notes on how they were made."""

    title: str
    headings: Sequence[str]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        self.rows.append(cells)

    def add_sample(self, name: str, seconds: Sequence[float], unit: str = "ms") -> None:
        """Add the statistics of a duration, to a table from ``sample_table``."""
        self.add(name, *Sample(seconds).cells(unit))

    def markdown(self) -> str:
        lines = [f"### {self.title}", "", _row(self.headings), _row(["---"] * len(self.headings))]
        lines += map(_row, self.rows)
        return "\n".join([*lines, "", *self.notes, ""]).rstrip() + "\n"


def sample_table(title: str, what: str, *notes: str) -> Table:
    """Return a table of durations: a name and its statistics in each row."""
    return Table(title, (what, *SAMPLE_HEADINGS), notes=list(notes))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


@contextmanager
def record_duration(durations: list[float]) -> Iterator[None]:
    start_time = time.perf_counter()
    yield
    durations.append(time.perf_counter() - start_time)


def measure(work: Callable[[], object], times: int, *, warm_up: int = 1) -> list[float]:
    """Measure repeated calls, without the warm-up calls."""
    seconds: list[float] = []
    for _ in range(warm_up + times):
        with record_duration(seconds):
            work()
    return seconds[warm_up:]
