"""What a reader of a member's figures must know of its model, from the records of its runs."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from agent.runs.metrics.run_metrics import RunMetrics
from agent.util.text import plural


def provenance_of(of_runs: Iterable[RunMetrics | None]) -> dict[str, Any]:
    """Return the passport of a member's model and the marks of its runs, as JSON.

    ``passport`` is what was known when its last run began, None if nothing was. ``marks`` are
    short texts: settings that did not reach the model, and conversations that the server cut.
    """
    known = [metrics for metrics in of_runs if metrics is not None]
    counts = Counter(mark for metrics in known for mark in metrics.marks)
    passports = [metrics.passport for metrics in known if metrics.passport is not None]
    return {
        "passport": passports[-1] if passports else None,
        "marks": [
            mark if count == len(known) else f"{mark} in {count:,} of {plural(len(known), 'run')}"
            for mark, count in counts.items()
        ],
    }
