"""The list of runs, comparisons and evaluations: one row each, newest first."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from agent.errors import RunError
from agent.experiments.description import title_of
from agent.experiments.experiment import MAX_MEMBERS, MAX_REPETITIONS
from agent.history import search
from agent.history.index import HistoryEntry, HistoryPage, cursor_after, parse_cursor
from sandbox_ui.experiments.live_experiment import LiveExperiment
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.history.catalog import Catalog

_MAX_RUNS = MAX_MEMBERS * MAX_REPETITIONS
_COMPUTED_SECONDS = 0.3
"""Seconds of one request in which verdicts and results are computed that are not yet known."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """One comparison or evaluation of the list, by the time of its last run."""

    live: LiveExperiment
    title: str
    at: float
    in_title: bool = False

    @property
    def sort_key(self) -> tuple[bool, float, str]:
        """The list is in descending order of this, like that of runs."""
        return self.in_title, self.at, self.live.folder.id


class RunListing:
    """The list of runs, comparisons and evaluations."""

    def __init__(self, catalog: Catalog, experiments: ExperimentManager) -> None:
        self._catalog = catalog
        self._experiments = experiments

    def page(
        self, words: str, before: str, limit: int, *, pinned: bool, owner: str | None
    ) -> tuple[HistoryPage, list[dict[str, Any]]]:
        """Return a page: runs, and comparisons and evaluations as JSON values, newest first.

        Runs of comparisons and evaluations are on it only if words are searched. ``before`` is the
        cursor of the page, empty for the first; ``owner`` None for all users.
        """
        known = self._experiments.registry.all(owner)
        folded = [each.folder.id for each in known if not each.folder.definition.from_runs]
        page = self._catalog.list(words, before, limit, pinned=pinned, owner=owner, folded=folded)
        found = [
            listed
            for each in known
            if (each.folder.pinned or not pinned) and (listed := self._found(each, words))
        ]
        page, shown = _merge_into_page(page, found, before, limit)
        end = time.monotonic() + _COMPUTED_SECONDS
        return page, [self._row(each, end) for each in shown]

    def runs_of(self, experiment: str, owner: str | None) -> HistoryPage:
        """Return the existing runs of an experiment, in the order of their ends."""
        runs = self._experiments.registry.run_ids(experiment)
        page = self._catalog.list(limit=_MAX_RUNS, owner=owner, only=runs)
        return replace(page, entries=page.entries[::-1])

    @staticmethod
    def _found(live: LiveExperiment, words: str) -> _Listed | None:
        """Return an experiment if all words are in the texts that it is known by."""
        wanted = search.query_words(words)
        title, definition = title_of(live.folder), live.folder.definition
        text = search.normalize("\n".join([
            title, definition.task, *(each.path for each in definition.inputs),
            *(text for each in definition.suites for text in (each.title, each.domain)),
            *(text for each in definition.members for text in (each.label, each.model)),
        ]))  # fmt: skip
        if not all(word in text for word in wanted):
            return None
        named = search.normalize(title)
        in_title = bool(wanted) and all(word in named for word in wanted)
        return _Listed(live, title, live.latest, in_title)

    def _row(self, listed: _Listed, end: float) -> dict[str, Any]:
        """Return a row; until ``end``, on the monotonic clock, unknown results are computed."""
        live, folder = listed.live, listed.live.folder
        described: Mapping[str, Any] = {}
        if time.monotonic() < end:
            with suppress(RunError):  # it was deleted
                described = self._experiments.overview(folder.id, fresh=False, listed=True)
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
            "suites": [suite.title for suite in folder.definition.suites_by_name],
            "counts": live.counts() if described else None,
            "runs": len(live.run_ids()),
        }


def _merge_into_page(
    page: HistoryPage, listed: Sequence[_Listed], before: str, limit: int
) -> tuple[HistoryPage, list[_Listed]]:
    """Return a page without the runs for which there is no room, and what else belongs on it."""
    after = parse_cursor(before)
    rows: list[HistoryEntry | _Listed] = [
        *page.entries,
        *(each for each in listed if after is None or each.sort_key < after),
    ]
    rows.sort(key=lambda each: each.sort_key, reverse=True)
    shown = rows[:limit]
    following = cursor_after(shown[-1].sort_key) if page.next or len(rows) > limit else ""
    entries = [each for each in shown if isinstance(each, HistoryEntry)]
    others = [each for each in shown if isinstance(each, _Listed)]
    return replace(page, entries=entries, next=following), others
