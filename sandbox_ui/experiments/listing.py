"""The list of runs, comparisons and evaluations: one row each, newest first."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from agent.errors import RunError
from agent.experiments.description import title_of
from agent.experiments.experiment import MAX_MEMBERS, MAX_REPETITIONS
from agent.experiments.folder import ExperimentFolder
from agent.history import search
from agent.history.index import HistoryPage, cursor_after, parse_cursor
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.experiments.registry import ExperimentRegistry
from sandbox_ui.history.catalog import Catalog

_MAX_RUNS = MAX_MEMBERS * MAX_REPETITIONS
_COMPUTED_SECONDS = 0.3
"""Seconds of one request in which verdicts and results are computed that are not yet known."""
SortKey = tuple[bool, float, str]


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """One comparison or evaluation of the list.

    Attributes:
        at: When its last run was started, in seconds since the epoch.
        in_title: Whether all searched words are in the title; such rows come first.
    """

    folder: ExperimentFolder
    title: str
    at: float
    in_title: bool = False

    @property
    def sort_key(self) -> SortKey:
        """The list is in descending order of this, like that of runs."""
        return self.in_title, self.at, self.folder.id


def merge_into_page(
    page: HistoryPage, listed: Sequence[ListedGroup], before: str, limit: int
) -> tuple[HistoryPage, list[ListedGroup]]:
    """Return a page of the list with the comparisons that belong on it.

    Returns:
        The page, without the runs for which there is no room, and its comparisons.

    Raises:
        StudioError: if ``before`` is not a cursor.
    """
    after = parse_cursor(before)
    last = page.entries[-1].sort_key if page.next and page.entries else None
    candidates = [
        each
        for each in listed
        if (after is None or each.sort_key < after) and (last is None or each.sort_key > last)
    ]
    keys = [*(each.sort_key for each in page.entries), *(each.sort_key for each in candidates)]
    kept = sorted(keys, reverse=True)[:limit]
    if not kept:
        return page, []
    end = kept[-1]
    shown = sorted(
        (each for each in candidates if each.sort_key >= end),
        key=lambda each: each.sort_key,
        reverse=True,
    )
    entries = [entry for entry in page.entries if entry.sort_key >= end]
    more = bool(page.next) or len(keys) > limit
    return replace(page, entries=entries, next=cursor_after(end) if more else ""), shown


def list_experiments(
    registry: ExperimentRegistry, words: str, owner: str | None, *, pinned: bool
) -> list[ListedGroup]:
    """Return the experiments that contain all words, unordered.

    Args:
        words: Search words; each must occur in the title, the task, a suite, a label, a model's
            name or an input's name.
        owner: Only this user's; None for all users'.
    """
    wanted, found = search.query_words(words), []
    for folder in registry.all(owner):
        if pinned and not folder.pinned:
            continue
        title, definition = title_of(folder), folder.definition
        text = search.normalize("\n".join([
            title, definition.task, *(each.path for each in definition.inputs),
            *(text for each in definition.suites for text in (each.title, each.domain)),
            *(text for each in definition.members for text in (each.label, each.model)),
        ]))  # fmt: skip
        if all(word in text for word in wanted):
            named = search.normalize(title)
            in_title = bool(wanted) and all(word in named for word in wanted)
            latest = registry.cells(folder.id).latest
            found.append(ListedGroup(folder, title, latest, in_title))
    return found


class RunListing:
    """The list of runs, comparisons and evaluations."""

    def __init__(
        self, catalog: Catalog, comparisons: ExperimentManager, evaluations: ExperimentManager
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
            _row(
                self._evaluations if each.folder.definition.suites else self._comparisons, each, end
            )
            for each in listed
        ]

    def runs_of(self, comparison: str, owner: str | None) -> HistoryPage:
        """Return the existing runs of a comparison, in the order of their ends."""
        runs = self._comparisons.registry.run_ids(comparison)
        page = self._catalog.list(limit=_MAX_RUNS, owner=owner, only=runs)
        return replace(page, entries=page.entries[::-1])


def _row(manager: ExperimentManager, listed: ListedGroup, end: float) -> dict[str, Any]:
    """Return an experiment's row.

    Args:
        end: Until then, on the monotonic clock, results may be computed that are not known.
    """
    folder, registry = listed.folder, manager.registry
    described: Mapping[str, Any] = {}
    if time.monotonic() < end:
        with suppress(RunError):  # it was deleted
            described = manager.overview(folder.id, fresh=False, listed=True)
    row = {
        "kind": folder.kind,
        "id": folder.id,
        "title": listed.title,
        "renamed": bool(folder.title),
        "pinned": folder.pinned,
        "at": listed.at,
        "members": [member.label for member in folder.definition.members],
        "in_title": listed.in_title,
        "state": described.get("state", ""),
    }
    if folder.kind == "comparison":
        return row | {
            "runs": [entry.run for entry in folder.runs()],
            "repetitions": folder.definition.repetitions,
            "verdict": described["verdict"]["text"] if described else "",
        }
    return row | {
        "suites": [suite.title for suite in folder.definition.suites],
        "counts": registry.cells(folder.id).counts() if described else None,
        "runs": len(registry.run_ids(folder.id)),
    }
