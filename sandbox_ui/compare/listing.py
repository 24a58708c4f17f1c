"""Comparisons in the list of runs: one row each, in the same order as the runs."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from agent.errors import RunError
from agent.experiments.description import title_of
from agent.experiments.experiment import Kind
from agent.experiments.folder import ExperimentFolder
from agent.history import search
from agent.history.index import HistoryPage, cursor_after, parse_cursor
from sandbox_ui.compare.manager import ComparisonManager
from sandbox_ui.compare.registry import ExperimentRegistry

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


def comparison_row(
    comparisons: ComparisonManager, listed: ListedGroup, end: float
) -> dict[str, Any]:
    """Return a comparison's row.

    Args:
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
