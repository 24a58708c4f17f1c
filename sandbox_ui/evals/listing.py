"""The list of runs, comparisons and evaluations."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from agent.errors import RunError
from agent.experiments.experiment import MAX_MEMBERS, MAX_REPETITIONS
from agent.history.index import HistoryPage
from sandbox_ui.compare.listing import (
    ListedGroup,
    comparison_row,
    group_row,
    list_experiments,
    merge_into_page,
)
from sandbox_ui.compare.manager import ComparisonManager
from sandbox_ui.evals.manager import EvaluationManager
from sandbox_ui.history.catalog import Catalog

_MAX_RUNS = MAX_MEMBERS * MAX_REPETITIONS
_COMPUTED_SECONDS = 0.3
"""Seconds of one request in which verdicts and results are computed that are not yet known."""


class RunListing:
    """The list of runs, comparisons and evaluations."""

    def __init__(
        self, catalog: Catalog, comparisons: ComparisonManager, evaluations: EvaluationManager
    ) -> None:
        self._catalog = catalog
        self._comparisons = comparisons
        self._evaluations = evaluations

    def page(
        self, words: str, before: str, limit: int, *, pinned: bool, owner: str | None
    ) -> tuple[HistoryPage, list[dict[str, Any]]]:
        """Return a page; runs of comparisons and evaluations are on it only if words are searched.

        Args:
            words: See ``Catalog.list`` and ``list_experiments``.
            before: The cursor of the page; empty for the first one.
            owner: Only this user's; None for all users'.

        Returns:
            The page with its runs, and its comparisons and evaluations as JSON values, newest
            first; their ``kind`` tells them apart.

        Raises:
            StudioError: if ``before`` is not a cursor.
        """
        comparisons, evaluations = self._comparisons.registry, self._evaluations.registry
        folded = [each.id for each in comparisons.all(owner) if not each.definition.from_runs]
        folded += [each.id for each in evaluations.all(owner)]
        page = self._catalog.list(words, before, limit, pinned=pinned, owner=owner, folded=folded)
        found = list_experiments(comparisons, words, owner, pinned=pinned)
        found += list_experiments(evaluations, words, owner, pinned=pinned)
        page, listed = merge_into_page(page, found, before, limit)
        end = time.monotonic() + _COMPUTED_SECONDS
        return page, [
            evaluation_row(self._evaluations, each, end)
            if each.folder.kind == "evaluation"
            else comparison_row(self._comparisons, each, end)
            for each in listed
        ]

    def runs_of(self, comparison: str, owner: str | None) -> HistoryPage:
        """Return the existing runs of a comparison, in the order of their ends."""
        runs = self._comparisons.registry.run_ids(comparison)
        page = self._catalog.list(limit=_MAX_RUNS, owner=owner, only=runs)
        return replace(page, entries=page.entries[::-1])


def evaluation_row(
    evaluations: EvaluationManager, listed: ListedGroup, end: float
) -> dict[str, Any]:
    """Return an evaluation's row.

    Args:
        end: Until then, on the monotonic clock, results may be computed that are not known.
    """
    evaluation, registry = listed.folder.id, evaluations.registry
    described: Mapping[str, Any] = {}
    if time.monotonic() < end:
        with suppress(RunError):  # it was deleted
            described = evaluations.overview(evaluation, fresh=False)
    return group_row("evaluation", listed) | {
        "state": described.get("state", ""),
        "suites": [suite.title for suite in registry.folder(evaluation).definition.suites],
        "counts": registry.cells(evaluation).counts() if described else None,
        "runs": len(registry.run_ids(evaluation)),
    }
