"""The list of all runs in a data folder, newest first, with search.

The list is built from the summaries next to the journals. A journal is read only if its summary
is missing, and only for the runs that are shown or searched.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from agent.errors import RunError, StudioError
from agent.runs import journal
from agent.runs import summary as summaries
from agent.runs.folder import MAX_TITLE, RunFolder
from agent.runs.summary import Summary
from agent.titles import title_for_task

MAX_CACHED = 10_000
"""Maximum summaries cached in memory; those of further runs are read each time."""

_EXCERPT_CHARS = 120
_CHARS_BEFORE_MATCH = 40
RECORD_UNREADABLE = "Its record cannot be read."


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One run of the list.

    Attributes:
        run: Its id.
        title: The title that the user gave it, an example's title, or its task's first line.
        renamed: Whether the user gave it a title.
        pinned: Whether it is pinned.
        at: When its last round ended, or began if it is running; the list's sort key.
        sandbox: The id of its sandbox, if readable.
        summary: Its summary; None if unreadable or not yet derived.
        problem: What is wrong with its record; empty if nothing is.
        excerpt: The text around a search match outside the title; empty without one.
        owner: The run's owner; empty for the operator.
    """

    run: str
    title: str
    renamed: bool
    at: float
    summary: Summary | None
    problem: str = ""
    excerpt: str = ""
    owner: str = ""
    pinned: bool = False
    sandbox: str = ""

    @property
    def cursor(self) -> str:
        """The list cursor after this run."""
        return f"{self.at!r}:{self.run}"


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of the list.

    Attributes:
        entries: The runs.
        next: The cursor of the next page; empty at the list's end.
        total: The number of matching runs on all pages.
        size: Their bytes on disk, without file versions.
        versions: The bytes of their file versions, as in ``Summary``.
    """

    entries: list[HistoryEntry]
    next: str
    total: int
    size: int
    versions: int


class History:
    """The runs of one data folder. Thread-safe.

    Args:
        data: The data folder.
        active_summaries: Returns the summaries of active runs by id; None for one that is starting.
    """

    def __init__(
        self, data: Path, active_summaries: Callable[[], Mapping[str, Summary | None]] = dict
    ) -> None:
        self._data = data
        self._active_summaries = active_summaries
        self._cache: dict[str, tuple[tuple[int, ...], HistoryEntry]] = {}

    def page(
        self,
        query: str = "",
        cursor: str = "",
        limit: int = 50,
        owner: str | None = None,
        *,
        pinned: bool = False,
    ) -> HistoryPage:
        """Return a page of runs that have begun (no drafts), newest first.

        Args:
            query: Search words. Each must occur in the title, task, messages, answer, model
                name or a file name; of long texts the first 2,000 characters are searched.
            cursor: ``next`` of the previous page; empty for the first page.
            limit: Maximum number of entries.
            owner: Only this user's runs; None for all users'.
            pinned: Only pinned runs.

        Raises:
            StudioError: ``cursor`` is not a cursor.
        """
        words = [_normalize(word) for word in query.split()]
        entries = [entry for entry in self.entries(owner) if entry.pinned or not pinned]
        if words:
            whole = (self._with_summary(entry) for entry in entries)
            entries = [found for entry in whole if (found := _match_words(entry, words))]
        known = [entry.summary for entry in entries if entry.summary]
        versions = sum(each.versions for each in known)
        size = sum(each.size for each in known) - versions
        rest = [
            entry for entry in entries if not cursor or _sort_key(entry) < _parse_cursor(cursor)
        ]
        shown = [self._with_summary(entry) for entry in rest[:limit]]
        following = rest[limit - 1].cursor if len(rest) > limit else ""
        return HistoryPage(shown, following, len(entries), size, versions)

    def entries(self, owner: str | None = None) -> list[HistoryEntry]:
        """Return all begun runs, or one user's, newest first; derive no summaries."""
        theirs = (each for each in self._entries() if owner is None or each.owner == owner)
        return sorted(theirs, key=_sort_key, reverse=True)

    def title(self, folder: RunFolder) -> str:
        """Return a run's title in the list."""
        entry = self._entry(folder.id)
        return self._with_summary(entry).title if entry else folder.title

    def unreadable(self) -> dict[str, int]:
        """Return the number of unreadable journal lines by run id, without zeros.

        Only runs whose summaries are cached count; nothing is read from disk.
        """
        known = [entry for _, entry in list(self._cache.values())]
        return {
            entry.run: entry.summary.unreadable
            for entry in known
            if entry.summary and entry.summary.unreadable
        }

    def derive_missing(self) -> Iterator[str]:
        """Derive missing summaries, newest first; yield the id of each such run."""
        for entry in self.entries():
            if entry.summary is None and not entry.problem:
                self._with_summary(entry)
                yield entry.run

    def _entries(self) -> Iterator[HistoryEntry]:
        live, ids = self._active_summaries(), RunFolder.ids(self._data)
        for gone in self._cache.keys() - set(ids):
            self._cache.pop(gone, None)
        for run in ids:
            entry = self._active_entry(run, live[run]) if run in live else self._entry(run)
            if entry is not None:
                yield entry

    def _active_entry(self, run: str, summary: Summary | None) -> HistoryEntry | None:
        try:
            return (
                _entry_from_summary(RunFolder.open(self._data, run), summary) if summary else None
            )
        except RunError:
            return None

    def _entry(self, run: str) -> HistoryEntry | None:
        """Return a run's entry without reading its whole journal; None for a draft."""
        stamp = _fingerprint(self._data / "runs" / run)
        if stamp is None:
            return None
        known = self._cache.get(run)
        if known is not None and known[0] == stamp:
            return known[1]
        entry = self._read(run, stamp)
        self._cache_entry(stamp, entry)
        return entry

    def _read(self, run: str, stamp: tuple[int, ...]) -> HistoryEntry:
        try:
            folder = RunFolder.open(self._data, run)
        except RunError:
            return HistoryEntry(run, "", False, stamp[1] / 1e9, None, RECORD_UNREADABLE)
        summary = summaries.load(folder)
        if summary is None:
            return _create_entry(folder, folder.title, _last_event_time(folder, stamp[1]))
        return _entry_from_summary(folder, summary)

    def _with_summary(self, entry: HistoryEntry) -> HistoryEntry:
        """Return the entry with its summary, derived from the journal if missing."""
        if entry.summary is not None or entry.problem:
            return entry
        stamp = _fingerprint(self._data / "runs" / entry.run)
        try:
            folder = RunFolder.open(self._data, entry.run)
            summary = summaries.derive(folder)
        except (RunError, OSError):
            return replace(entry, problem=RECORD_UNREADABLE)
        entry = (
            _entry_from_summary(folder, summary)
            if summary
            else replace(entry, problem=RECORD_UNREADABLE)
        )
        if stamp is not None:
            self._cache_entry(stamp, entry)
        return entry

    def _cache_entry(self, stamp: tuple[int, ...], entry: HistoryEntry) -> None:
        if len(self._cache) < MAX_CACHED or entry.run in self._cache:
            self._cache[entry.run] = stamp, entry


def _fingerprint(run: Path) -> tuple[int, ...] | None:
    """Return a value that changes with the run's record; None if it has not begun."""
    try:
        events = (run / "journal.jsonl").stat()
    except OSError:
        return None
    try:
        about = (run / "run.json").stat()
    except OSError:
        return events.st_size, events.st_mtime_ns
    return events.st_size, events.st_mtime_ns, about.st_mtime_ns, about.st_ino


def _last_event_time(folder: RunFolder, modified: int) -> float:
    """Return when a run ended, reading only the end of its journal."""
    try:
        event = journal.last_event(folder.journal)
    except OSError:
        event = None
    return event.at if event else modified / 1e9


def _entry_from_summary(folder: RunFolder, summary: Summary) -> HistoryEntry:
    return _create_entry(folder, folder.title or title_for_task(summary.task), summary.at, summary)


def _create_entry(
    folder: RunFolder, title: str, at: float, summary: Summary | None = None
) -> HistoryEntry:
    return HistoryEntry(
        folder.id,
        title[:MAX_TITLE],
        bool(folder.title),
        at,
        summary,
        owner=folder.owner,
        pinned=folder.pinned,
        sandbox=folder.sandbox,
    )


def _sort_key(entry: HistoryEntry) -> tuple[float, str]:
    return entry.at, entry.run


def _parse_cursor(cursor: str) -> tuple[float, str]:
    at, _, run = cursor.partition(":")
    try:
        return float(at), run
    except ValueError as error:
        raise StudioError("This is not a cursor of the list of runs.") from error


def _normalize(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _match_words(entry: HistoryEntry, words: list[str]) -> HistoryEntry | None:
    """Return the entry with a line that contains a word; None if any word is missing."""
    title = _normalize(entry.title)
    missing = [word for word in words if word not in title]
    summary = entry.summary
    if summary is None:
        return entry if not missing else None
    files = [unquote(name) for name in summary.files]
    texts = [summary.task, summary.messages, summary.answer, summary.model, *files]
    everything = _normalize("\n".join(texts))
    if any(word not in everything for word in missing):
        return None
    return replace(entry, excerpt=_excerpt(texts, missing[0]) if missing else "")


def _excerpt(texts: Iterable[str], word: str) -> str:
    """Return the text around the first match of a word."""
    for text in texts:
        at = _normalize(text).find(word)
        if at >= 0:
            start = max(0, at - _CHARS_BEFORE_MATCH)
            line = " ".join(text[start : at + _EXCERPT_CHARS].split())
            return f"…{line}" if start else line
    return ""
