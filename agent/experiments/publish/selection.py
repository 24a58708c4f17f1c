"""The runs that an appendix shows: of each domain the shortest, and the most different ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import dist
from statistics import fmean, pstdev

from agent.experiments.outcomes import SCORED
from agent.experiments.publish.run_row import RunRow

OF_A_KIND = 5  # runs of each kind of a domain
_FEATURES = (
    "score", "turns", "tokens_once", "model_seconds", "sandbox_seconds", "external", "files",
    "computation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run of the appendix, and why it was chosen."""

    row: RunRow
    why: str


def chosen_runs(rows: Sequence[RunRow]) -> dict[str, list[Chosen]]:
    """Return runs with a score by domain: the five shortest, then the five most different.

    The shortest have the fewest turns, then the fewest tokens. The most different are spread over
    score, turns, tokens, seconds and capability rates, each in standard deviations: the first is
    the farthest from the mean, each further one the farthest from all before it.
    """
    domains: dict[str, list[RunRow]] = {}
    for row in rows:
        if row.outcome in SCORED and row.state:  # not of a run that was deleted
            domains.setdefault(row.domain, []).append(row)
    found = {}
    for domain, each in domains.items():
        by_length = sorted(each, key=lambda row: (row.turns or 0, row.tokens_once or 0, row.run))
        short = by_length[:OF_A_KIND]
        others = _most_different([row for row in each if row not in short])
        found[domain] = [
            *(Chosen(row, "shortest") for row in short),
            *(Chosen(row, "most different") for row in others),
        ]
    return found


def _most_different(rows: Sequence[RunRow]) -> list[RunRow]:
    points = _points(rows)
    origin = [0.0] * len(_FEATURES)
    nearest, chosen = [dist(point, origin) for point in points], list[int]()
    for _ in range(min(OF_A_KIND, len(rows))):
        left = (at for at in range(len(rows)) if at not in chosen)
        farthest = max(left, key=lambda at: nearest[at])
        distances = [dist(point, points[farthest]) for point in points]
        first = not chosen
        nearest = distances if first else list(map(min, nearest, distances))
        chosen.append(farthest)
    return [rows[at] for at in chosen]


def _points(rows: Sequence[RunRow]) -> list[list[float]]:
    """Return the features of runs in standard deviations from their mean; 0 for unknown ones."""
    columns = []
    for name in _FEATURES:
        values = [getattr(row, name) for row in rows]
        known = [value for value in values if value is not None]
        mean, deviation = (fmean(known), pstdev(known)) if known else (0.0, 0.0)
        columns.append([
            (value - mean) / deviation if value is not None and deviation else 0.0
            for value in values
        ])  # fmt: skip
    return [list(point) for point in zip(*columns, strict=True)]
