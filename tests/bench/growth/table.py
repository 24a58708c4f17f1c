"""What one more costs at each size, and the exponent by which that grows."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from tests.bench.context import BenchContext, print_progress
from tests.bench.growth import history, live_page, long_runs, workspace
from tests.bench.tables import Table, format_duration

Costs = Mapping[str, float]
"""Seconds of CPU by what they are spent on."""
FLAT, LINEAR = 0.2, 1.0
SUBJECTS: Mapping[str, tuple[Callable[[BenchContext, int], Costs], float]] = {
    "runs": (history.measure, FLAT),
    "steps": (long_runs.measure_loop, FLAT),
    "steps on the page": (live_page.measure, FLAT),
    "recorded steps": (long_runs.measure_reading, LINEAR),
    "files": (workspace.measure, LINEAR),
}
"""By what the sizes count: what measures the costs at a size, and the exponent they may have."""
_MAY_GROW = {
    "start of the application", "start and first list", "storage of all runs", history.ERASURE,
}  # fmt: skip
"""What may grow in proportion to the history."""
_SIZES = {
    "runs": (500, 5_000, 50_000),
    "steps": (100, 1_000, 10_000),
    "steps on the page": (100, 650, 5_000),
    "recorded steps": (100, 1_000, 10_000),
    "files": (500, 5_000, 50_000),
}


def table(context: BenchContext, *, sizes: Mapping[str, Sequence[int]] = _SIZES) -> Table:
    result = Table(
        "Growth",
        ("size", "CPU of", "at each size", "exponent", "bar"),
        notes=[
            "Exponent: the slope of the logarithm of the cost over that of the size; 0 is flat, 1 "
            "in proportion. History: runs of one user, in the application's process, over its "
            "routes. Steps: the process that carries out the run, of the last steps. Steps on the "
            "page: the main thread of Chromium. Files: all are new."
        ],
    )
    for subject, counts in sizes.items():
        measure, bar = SUBJECTS[subject]
        measured = []
        for size in counts:
            print_progress(f"growth: {size:,} {subject}")
            measured += [(what, size, cost) for what, cost in measure(context, size).items()]
        measured.sort(key=lambda each: each[0])  # stable: sizes ascend
        for what, group in groupby(measured, key=lambda each: each[0]):
            costs = {size: cost for _, size, cost in group}
            result.add(
                " / ".join(f"{size:,}" for size in costs) + f" {subject}",
                what,
                " / ".join(map(format_duration, costs.values())),
                format_exponent(costs),
                f"{LINEAR if what in _MAY_GROW else bar}",
            )
    return result


def format_exponent(costs: Mapping[int, float]) -> str:
    """Return the slope of log cost over log size by least squares; – where a cost is not known."""
    if len(costs) < 2 or min(costs.values()) <= 0:
        return "–"
    xs, ys = list(map(math.log, costs)), list(map(math.log, costs.values()))
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return f"{slope / sum((a - x) ** 2 for a in xs):.2f}"
