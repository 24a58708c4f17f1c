"""The scores of a comparison: means, pass@k and pass^k, paired differences."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from agent.experiments.experiment import Experiment
from agent.experiments.figures.cells import NONE, Cell, make_cell, make_row, mark_best
from agent.experiments.figures.statistics import (
    PairedDifference,
    estimate,
    paired_difference,
    pass_at_k,
    pass_hat_k,
)
from agent.experiments.outcomes import Outcome
from agent.grading.checks import CHECKS
from agent.grading.grade import is_right

Members = Sequence[Sequence[Outcome]]
_PASS_K = 3


def score_rows(comparison: Experiment, members: Members) -> list[dict[str, Any]]:
    """Return the rows about scores of a comparison with an expected answer."""
    binary, cells, counts = is_binary(comparison), list[Cell](), list[tuple[int, int]]()
    for runs in members:
        ended = [run for run in runs if run.counts]
        known = [value for run in ended if (value := score_of(comparison, run)) is not None]
        counts.append((len(known), round(sum(known))))
        found = estimate(known, binary=binary)
        if found is None:
            cells.append(make_cell("not scored" if ended else NONE, note=_unscored(ended)))
            continue
        note = f"right {sum(known):.0f} of {len(known)}" if binary else ""
        if len(ended) > len(known):
            note += f"; {len(ended) - len(known)} not scored"
        interval = f"{found.method} interval" if found.method else ""
        cells.append(make_cell(
            f"{found.mean:.2f}", value=found.mean, low=found.low, high=found.high, n=found.n,
            note=note, bar=found.mean, method=interval,
        ))  # fmt: skip
    n = max((count for count, _ in counts), default=0)
    label = f"Score, mean of {n}" if n > 1 else "Score"
    mark_best(
        cells, comparison.baseline, "higher", differences=True,
        is_above=partial(_is_above, comparison, members),
    )  # fmt: skip
    rows = [make_row("score", label, cells, "Of answers compared with the expected one.", "higher")]
    if binary:
        rows += _pass_rows(comparison, counts)
    if n > 1:
        rows.append(_difference_row(comparison, members))
    return rows


def _unscored(ended: Sequence[Outcome]) -> str:
    reasons = (run.grade.reason if run.grade else run.reason for run in ended)
    return next(filter(None, reasons), "")


def _pass_rows(comparison: Experiment, counts: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    k = min([_PASS_K, *(count for count, _ in counts if count)])
    if k < 2:
        return []
    rows = []
    for key, label, formula, help_ in (
        ("pass_at_k", f"At least one of {k} right (pass@{k})", pass_at_k, "Chen et al. 2021"),
        ("pass_hat_k", f"All of {k} right (pass^{k})", pass_hat_k, "Yao et al. 2024"),
    ):
        cells = [
            make_cell(f"{value:.2f}", value=value, n=count, bar=value)
            if count and (value := formula(count, right, k)) is not None
            else make_cell(NONE)
            for count, right in counts
        ]
        mark_best(cells, comparison.baseline, "higher", differences=True)
        text = f"Probability, estimated without bias from all runs ({help_})."
        rows.append(make_row(key, label, cells, text, "higher"))
    return rows


def _difference_row(comparison: Experiment, members: Members) -> dict[str, Any]:
    cells = []
    for index in range(len(members)):
        found = None
        if index != comparison.baseline:
            found = score_difference(comparison, members, index, comparison.baseline)
        if found is None:
            cells.append(make_cell("baseline" if index == comparison.baseline else NONE))
            continue
        mean = found.difference
        note = f"{found.test}: p = {found.p:.3g}"
        cells.append(make_cell(
            f"{mean.mean:+.2f}", value=mean.mean, low=mean.low, high=mean.high, n=mean.n,
            note=note, method=f"{mean.method} interval",
        ))  # fmt: skip
    help_ = "Score minus the baseline’s, paired by repetition, with its interval."
    return make_row("difference", "Paired difference", cells, help_)


def _is_above(comparison: Experiment, members: Members, one: int, other: int) -> bool:
    found = score_difference(comparison, members, one, other)
    return found is not None and found.difference.low is not None and found.difference.low > 0


def score_difference(
    comparison: Experiment, members: Members, one: int, other: int
) -> PairedDifference | None:
    """Return a member's scores minus another's, paired by repetition."""
    scores = [
        {run.entry.repetition: value for run in members[at] if run.counts
         if (value := score_of(comparison, run)) is not None}
        for at in (one, other)
    ]  # fmt: skip
    both = sorted(scores[0].keys() & scores[1].keys())
    return paired_difference(
        [scores[0][at] for at in both], [scores[1][at] for at in both],
        binary=is_binary(comparison),
    )  # fmt: skip


def is_binary(comparison: Experiment) -> bool:
    """Whether answers are right or wrong, with nothing in between."""
    return comparison.expected is not None and not CHECKS[comparison.expected.kind].gradual


def score_of(comparison: Experiment, run: Outcome) -> float | None:
    """Return the score of a run: 1 or 0 if answers are right or wrong; None if it is unknown."""
    expected = comparison.expected
    right = is_right(expected.kind, run.score) if expected else None
    return run.score if right is None else float(right)
