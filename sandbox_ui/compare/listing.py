"""Comparisons in the list of runs: one row each, in the same order as the runs."""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from agent.errors import RunError
from agent.experiments.description import title_of
from agent.experiments.experiment import Kind, Member
from agent.experiments.folder import ExperimentFolder
from agent.history import search
from agent.history.index import HistoryPage, cursor_after, parse_cursor
from sandbox_ui.compare.manager import ComparisonManager
from sandbox_ui.compare.registry import ComparisonRegistry

SortKey = tuple[bool, float, str]


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

    folder: ExperimentFolder
    title: str
    text: str
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
    """Return the comparisons that contain all words, unordered.

    Args:
        registry: The comparisons.
        words: Search words; each must occur in the title, the task, a label, a model's name or an
            input's name.
        owner: Only this user's comparisons; None for all users'.
        pinned: Only pinned comparisons.
    """
    return select(map(_listed, registry.all(owner)), words, pinned=pinned)


def comparison_row(
    comparisons: ComparisonManager, listed: ListedGroup, end: float
) -> dict[str, Any]:
    """Return a comparison's row.

    Args:
        comparisons: The comparisons.
        listed: The comparison.
        end: Until then, on the monotonic clock, a verdict may be computed that is not known.
    """
    folder = comparisons.registry.folder(listed.folder.id)
    if comparisons.last_verdict(folder.id) is None and time.monotonic() < end:
        with suppress(RunError):  # it was deleted
            comparisons.describe(folder.id)
    state, verdict = comparisons.last_verdict(folder.id) or ("", "")
    return group_row("comparison", listed) | {
        "state": state,
        "runs": [entry.run for entry in folder.runs()],
        "repetitions": folder.definition.repetitions,
        "verdict": verdict,
    }


def group_row(kind: Kind, listed: ListedGroup) -> dict[str, Any]:
    """Return what the rows of comparisons and of evaluations have in common."""
    folder = listed.folder
    return {
        "kind": kind,
        "id": folder.id,
        "title": listed.title,
        "renamed": bool(folder.title),
        "pinned": folder.pinned,
        "at": listed.at,
        "members": [member.label for member in folder.definition.members],
        "in_title": listed.in_title,
    }


def _listed(folder: ExperimentFolder) -> ListedGroup:
    times = (entry.at for entry in folder.runs())
    at = max(times, default=folder.definition.created)
    title = title_of(folder)
    texts = [folder.definition.task, *(each.path for each in folder.definition.inputs)]
    return ListedGroup(folder, title, "\n".join([*texts, *names_of(folder.definition.members)]), at)


def names_of(members: Iterable[Member]) -> list[str]:
    """Return the labels and the models of members, which are searched."""
    return [text for member in members for text in (member.label, member.model)]


def select(groups: Iterable[ListedGroup], words: str, *, pinned: bool) -> list[ListedGroup]:
    """Return the groups of runs that contain all words, unordered.

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
