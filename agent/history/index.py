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
from agent.titles import title_of

MAX_KEPT = 10_000
"""Maximum summaries cached in memory; those of further runs are read each time."""

_LINE = 120
_BEFORE = 40
BROKEN = "Its record cannot be read."


@dataclass(frozen=True, slots=True)
class Entry:
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
        found: The text around a search match outside the title; empty without one.
        owner: The run's owner; empty for the operator.
    """

    run: str
    title: str
    renamed: bool
    at: float
    summary: Summary | None
    problem: str = ""
    found: str = ""
    owner: str = ""
    pinned: bool = False
    sandbox: str = ""

    @property
    def cursor(self) -> str:
        """The list cursor after this run."""
        return f"{self.at!r}:{self.run}"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the list.

    Attributes:
        entries: The runs.
        next: The cursor of the next page; empty at the list's end.
        total: The number of matching runs on all pages.
        size: Their bytes on disk, without file versions.
        versions: The bytes of their file versions, as in ``Summary``.
    """

    entries: list[Entry]
    next: str
    total: int
    size: int
    versions: int


class History:
    """The runs of one data folder. Thread-safe.

    Args:
        data: The data folder.
        live: Returns the summaries of active runs by id; None for one that is starting.
    """

    def __init__(self, data: Path, live: Callable[[], Mapping[str, Summary | None]] = dict) -> None:
        self._data = data
        self._live = live
        self._known: dict[str, tuple[tuple[int, ...], Entry]] = {}

    def page(
        self,
        words: str = "",
        before: str = "",
        most: int = 50,
        owner: str | None = None,
        *,
        pinned: bool = False,
    ) -> Page:
        """Return a page of runs that have begun (no drafts), newest first.

        Args:
            words: Search words. Each must occur in the title, task, messages, answer, model
                name or a file name; of long texts the first 2,000 characters are searched.
            before: ``next`` of the previous page; empty for the first page.
            most: Maximum number of entries.
            owner: Only this user's runs; None for all users'.
            pinned: Only pinned runs.

        Raises:
            StudioError: ``before`` is not a cursor.
        """
        wanted = [_plain(word) for word in words.split()]
        entries = [entry for entry in self.entries(owner) if entry.pinned or not pinned]
        if wanted:
            whole = (self._derived(entry) for entry in entries)
            entries = [found for entry in whole if (found := _searched(entry, wanted))]
        known = [entry.summary for entry in entries if entry.summary]
        versions = sum(each.versions for each in known)
        size = sum(each.size for each in known) - versions
        rest = [entry for entry in entries if not before or _place(entry) < _parsed(before)]
        shown = [self._derived(entry) for entry in rest[:most]]
        following = rest[most - 1].cursor if len(rest) > most else ""
        return Page(shown, following, len(entries), size, versions)

    def entries(self, owner: str | None = None) -> list[Entry]:
        """Return all begun runs, or one user's, newest first; derive no summaries."""
        theirs = (each for each in self._entries() if owner is None or each.owner == owner)
        return sorted(theirs, key=_place, reverse=True)

    def title(self, folder: RunFolder) -> str:
        """Return a run's title in the list."""
        entry = self._entry(folder.id)
        return self._derived(entry).title if entry else folder.title

    def unreadable(self) -> dict[str, int]:
        """Return the number of unreadable journal lines by run id, without zeros.

        Only runs whose summaries are cached count; nothing is read from disk.
        """
        known = [entry for _, entry in list(self._known.values())]
        return {
            entry.run: entry.summary.unreadable
            for entry in known
            if entry.summary and entry.summary.unreadable
        }

    def fill(self) -> Iterator[str]:
        """Derive missing summaries, newest first; yield the id of each such run."""
        for entry in self.entries():
            if entry.summary is None and not entry.problem:
                self._derived(entry)
                yield entry.run

    def _entries(self) -> Iterator[Entry]:
        live, ids = self._live(), RunFolder.ids(self._data)
        for gone in self._known.keys() - set(ids):
            self._known.pop(gone, None)
        for run in ids:
            entry = self._at_work(run, live[run]) if run in live else self._entry(run)
            if entry is not None:
                yield entry

    def _at_work(self, run: str, summary: Summary | None) -> Entry | None:
        try:
            return _entry_of(RunFolder.open(self._data, run), summary) if summary else None
        except RunError:
            return None

    def _entry(self, run: str) -> Entry | None:
        """Return a run's entry without reading its whole journal; None for a draft."""
        stamp = _stamp(self._data / "runs" / run)
        if stamp is None:
            return None
        known = self._known.get(run)
        if known is not None and known[0] == stamp:
            return known[1]
        entry = self._read(run, stamp)
        self._keep(stamp, entry)
        return entry

    def _read(self, run: str, stamp: tuple[int, ...]) -> Entry:
        try:
            folder = RunFolder.open(self._data, run)
        except RunError:
            return Entry(run, "", False, stamp[1] / 1e9, None, BROKEN)
        summary = summaries.load(folder)
        if summary is None:
            return _entry(folder, folder.title, _last(folder, stamp[1]))
        return _entry_of(folder, summary)

    def _derived(self, entry: Entry) -> Entry:
        """Return the entry with its summary, derived from the journal if missing."""
        if entry.summary is not None or entry.problem:
            return entry
        stamp = _stamp(self._data / "runs" / entry.run)
        try:
            folder = RunFolder.open(self._data, entry.run)
            summary = summaries.derive(folder)
        except (RunError, OSError):
            return replace(entry, problem=BROKEN)
        made = _entry_of(folder, summary) if summary else replace(entry, problem=BROKEN)
        if stamp is not None:
            self._keep(stamp, made)
        return made

    def _keep(self, stamp: tuple[int, ...], entry: Entry) -> None:
        if len(self._known) < MAX_KEPT or entry.run in self._known:
            self._known[entry.run] = stamp, entry


def _stamp(run: Path) -> tuple[int, ...] | None:
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


def _last(folder: RunFolder, modified: int) -> float:
    """Return when a run ended, reading only the end of its journal."""
    try:
        event = journal.last(folder.journal)
    except OSError:
        event = None
    return event.at if event else modified / 1e9


def _entry_of(folder: RunFolder, summary: Summary) -> Entry:
    return _entry(folder, folder.title or title_of(summary.task), summary.at, summary)


def _entry(folder: RunFolder, title: str, at: float, summary: Summary | None = None) -> Entry:
    return Entry(
        folder.id,
        title[:MAX_TITLE],
        bool(folder.title),
        at,
        summary,
        owner=folder.owner,
        pinned=folder.pinned,
        sandbox=folder.sandbox,
    )


def _place(entry: Entry) -> tuple[float, str]:
    return entry.at, entry.run


def _parsed(cursor: str) -> tuple[float, str]:
    at, _, run = cursor.partition(":")
    try:
        return float(at), run
    except ValueError as error:
        raise StudioError("This is no place in the list of runs.") from error


def _plain(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _searched(entry: Entry, words: list[str]) -> Entry | None:
    """Return the entry with a line that contains a word; None if any word is missing."""
    title = _plain(entry.title)
    missing = [word for word in words if word not in title]
    summary = entry.summary
    if summary is None:
        return entry if not missing else None
    files = [unquote(name) for name in summary.files]
    texts = [summary.task, summary.messages, summary.answer, summary.model, *files]
    everything = _plain("\n".join(texts))
    if any(word not in everything for word in missing):
        return None
    return replace(entry, found=_line(texts, missing[0]) if missing else "")


def _line(texts: Iterable[str], word: str) -> str:
    """Return the text around the first match of a word."""
    for text in texts:
        at = _plain(text).find(word)
        if at >= 0:
            start = max(0, at - _BEFORE)
            line = " ".join(text[start : at + _LINE].split())
            return f"…{line}" if start else line
    return ""
