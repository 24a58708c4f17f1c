"""Comparisons in the list of runs: one row each, in the same order as the runs."""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from agent.compare.comparison import MAX_MEMBERS, MAX_REPETITIONS, Member
from agent.compare.folder import ComparisonFolder
from agent.errors import RunError
from agent.history import search
from agent.history.index import HistoryPage, cursor_after, parse_cursor
from agent.titles import title_for_task
from sandbox_ui.compare.manager import ComparisonManager
from sandbox_ui.compare.registry import ComparisonRegistry
from sandbox_ui.history.catalog import Catalog

_MAX_RUNS = MAX_MEMBERS * MAX_REPETITIONS
_VERDICT_SECONDS = 0.3
"""Seconds of one request in which verdicts are computed that are not yet known."""

SortKey = tuple[bool, float, str]


class GroupFolder(Protocol):
    """The folder of a comparison or an evaluation."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def title(self) -> str:
        """The title that the user gave it."""

    @property
    def pinned(self) -> bool:
        """Whether it is pinned."""


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """One comparison or evaluation of the list.

    Attributes:
        folder: Its folder.
        title: Its title.
        text: What is searched.
        at: When its last run was started, in seconds since the epoch.
        in_title: Whether all searched words are in the title; such rows come first.
    """

    folder: GroupFolder
    title: str
    text: str
    at: float
    in_title: bool = False

    @property
    def sort_key(self) -> SortKey:
        """The list is in descending order of this, like that of runs."""
        return self.in_title, self.at, self.folder.id


class Groups(Protocol):
    """Another kind of groups of runs in the list."""

    def ids(self, owner: str | None, /) -> list[str]:
        """Return the ids of all groups, or of one user's."""

    def find(self, words: str, owner: str | None, /, *, pinned: bool) -> list[ListedGroup]:
        """Return the groups that contain all words, in no order."""

    def row(self, listed: ListedGroup, end: float, /) -> dict[str, Any]:
        """Return a group's row; what takes long only until ``end`` on the monotonic clock."""


class ComparisonListing:
    """The list of runs and comparisons.

    Args:
        comparisons: The comparisons.
        catalog: The catalog of all runs.
        evaluations: The evaluations, which are listed with them.
    """

    def __init__(
        self, comparisons: ComparisonManager, catalog: Catalog, evaluations: Groups
    ) -> None:
        self._evaluations = evaluations
        self._comparisons = comparisons
        self._registry = comparisons.registry
        self._catalog = catalog

    def page(
        self, words: str, before: str, limit: int, *, pinned: bool, owner: str | None
    ) -> tuple[HistoryPage, list[dict[str, Any]]]:
        """Return a page; runs of comparisons are on it only if words are searched.

        Args:
            words: See ``Catalog.list`` and ``list_comparisons``.
            before: The cursor of the page; empty for the first one.
            limit: The maximum number of rows.
            pinned: Only pinned ones.
            owner: Only this user's; None for all users'.

        Returns:
            The page with its runs, and its comparisons and evaluations as JSON values, newest
            first; their ``kind`` tells them apart.

        Raises:
            StudioError: if ``before`` is not a cursor.
        """
        folded = [each.id for each in self._registry.all(owner) if not each.definition.from_runs]
        folded += self._evaluations.ids(owner)
        page = self._catalog.list(words, before, limit, pinned=pinned, owner=owner, folded=folded)
        found = list_comparisons(self._registry, words, owner, pinned=pinned)
        evaluations = self._evaluations.find(words, owner, pinned=pinned)
        page, listed = merge_into_page(page, [*found, *evaluations], before, limit)
        end = time.monotonic() + _VERDICT_SECONDS
        known = {each.folder.id for each in evaluations}
        return page, [
            self._evaluations.row(each, end) if each.folder.id in known else self._row(each, end)
            for each in listed
        ]

    def runs_of(self, comparison: str, owner: str | None) -> HistoryPage:
        """Return the existing runs of a comparison, in the order of their ends.

        Raises:
            RunError: if the comparison does not exist.
        """
        runs = self._registry.run_ids(comparison)
        page = self._catalog.list(limit=_MAX_RUNS, owner=owner, only=runs)
        return replace(page, entries=page.entries[::-1])

    def _row(self, listed: ListedGroup, end: float) -> dict[str, Any]:
        """Return a comparison's row; its verdict only if that is known, or there is time left."""
        folder = self._registry.folder(listed.folder.id)
        if self._comparisons.last_verdict(folder.id) is None and time.monotonic() < end:
            with suppress(RunError):  # it was deleted
                self._comparisons.describe(folder.id)
        state, verdict = self._comparisons.last_verdict(folder.id) or ("", "")
        return {
            "kind": "comparison",
            "id": folder.id,
            "title": listed.title,
            "renamed": bool(folder.title),
            "pinned": folder.pinned,
            "at": listed.at,
            "state": state,
            "members": [member.label for member in folder.definition.members],
            "runs": [entry.run for entry in folder.runs()],
            "repetitions": folder.definition.repetitions,
            "verdict": verdict,
            "in_title": listed.in_title,
        }


def merge_into_page(
    page: HistoryPage, listed: Sequence[ListedGroup], before: str, limit: int
) -> tuple[HistoryPage, list[ListedGroup]]:
    """Return a page of the list with the comparisons that belong on it.

    Args:
        page: The page of runs.
        listed: All comparisons that match.
        before: The cursor of the page.
        limit: The maximum number of rows on it.

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


def list_comparisons(
    registry: ComparisonRegistry, words: str, owner: str | None, *, pinned: bool
) -> list[ListedGroup]:
    """Return the comparisons that contain all words, in no order.

    Args:
        registry: The comparisons.
        words: Search words; each must occur in the title, the task, a label, a model's name or an
            input's name.
        owner: Only this user's comparisons; None for all users'.
        pinned: Only pinned comparisons.
    """
    return select(map(_listed, registry.all(owner)), words, pinned=pinned)


def _listed(folder: ComparisonFolder) -> ListedGroup:
    times = (entry.at for entry in folder.runs())
    at = max(times, default=folder.definition.created)
    title = folder.title or title_for_task(folder.definition.task)
    texts = [folder.definition.task, *(each.path for each in folder.definition.inputs)]
    return ListedGroup(folder, title, "\n".join([*texts, *names_of(folder.definition.members)]), at)


def names_of(members: Iterable[Member]) -> list[str]:
    """Return the labels and the models of members, which are searched."""
    return [text for member in members for text in (member.label, member.model)]


def select(groups: Iterable[ListedGroup], words: str, *, pinned: bool) -> list[ListedGroup]:
    """Return the groups of runs that contain all words, in no order.

    Args:
        groups: Comparisons or evaluations.
        words: Search words; each must occur in the title or the text.
        pinned: Only pinned ones.
    """
    wanted = search.query_words(words)
    found = []
    for listed in groups:
        if listed.folder.pinned or not pinned:
            text = search.normalize(f"{listed.title}\n{listed.text}")
            in_title = all(word in search.normalize(listed.title) for word in wanted)
            if in_title or all(word in text for word in wanted):
                found.append(replace(listed, in_title=in_title and bool(wanted)))
    return found
