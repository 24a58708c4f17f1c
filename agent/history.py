"""All runs of a data folder as a list, newest first, and what is searched in it.

A list is made of the summaries beside the journals; a journal is only read where that is
missing, and for as many runs as are shown.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from agent import journal
from agent import summary as summaries
from agent.errors import RunError, StudioError
from agent.folder import MAX_TITLE, RunFolder
from agent.summary import Summary

MAX_KEPT = 10_000
"""Summaries that are held in memory; of more runs, the others are read each time."""

_LINE = 120
_BEFORE = 40
BROKEN = "Its record cannot be read."


@dataclass(frozen=True, slots=True)
class Entry:
    """One run of the list.

    Attributes:
        run: Its id.
        title: What a person called it, or the first line of its task.
        renamed: Whether a person called it so.
        pinned: Whether a person keeps it.
        at: When its last round ended, or began where it goes on; the list is in this order.
        sandbox: The id of its sandbox, where that can be read.
        summary: What is known of it; None where nothing can be read, or not yet.
        problem: What is wrong with its record; empty where nothing is.
        found: Where words that were searched stand, beside the title; empty without a search.
        owner: Whose the run is; empty for the operator's.
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
        """The place in the list behind this run."""
        return f"{self.at!r}:{self.run}"


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the list.

    Attributes:
        entries: The runs.
        next: What leads on; empty at the list's end.
        total: How many match in all.
        size: Bytes on disk of those, without the kept versions of their files.
        versions: What the versions take, as in ``Summary``.
    """

    entries: list[Entry]
    next: str
    total: int
    size: int
    versions: int


class History:
    """The runs of one data folder. Safe to use from many threads.

    Args:
        data: The data folder.
        live: The runs that are at work now, by their ids; None for one just about to begin.
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
        """Runs that have begun, newest first; drafts are none.

        Args:
            words: All of them are in the title, the task, a message, the answer, the model's
                name or a file's name; of long texts the first 2,000 characters count.
            before: ``next`` of the page before; empty for the first one.
            most: Entries at most.
            owner: Only this person's runs; None for everybody's.
            pinned: Only runs that a person keeps.

        Raises:
            StudioError: ``before`` is none.
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
        """All runs that have begun, or one person's, newest first, as much as is known of each."""
        theirs = (each for each in self._entries() if owner is None or each.owner == owner)
        return sorted(theirs, key=_place, reverse=True)

    def title(self, folder: RunFolder) -> str:
        """What a run is called in the list."""
        entry = self._entry(folder.id)
        return self._derived(entry).title if entry else folder.title

    def fill(self) -> Iterator[str]:
        """Make the summaries that are missing, newest first; yields each run that had none."""
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
        """What is known of a run without reading its journal; None for a draft."""
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
        """The entry with its summary, made from the journal where there was none."""
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
    """What tells that a run's record has changed; None where it has not begun."""
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
    """When a run came to its end, without reading more than the end of its journal."""
    try:
        event = journal.last(folder.journal)
    except OSError:
        event = None
    return event.at if event else modified / 1e9


def _entry_of(folder: RunFolder, summary: Summary) -> Entry:
    title = folder.title or next(iter(summary.task.strip().splitlines()), "")
    return _entry(folder, title, summary.at, summary)


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
    """The entry with a line in which a word stands; None where one of them does not."""
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
    """The words around the first place where one stands."""
    for text in texts:
        at = _plain(text).find(word)
        if at >= 0:
            start = max(0, at - _BEFORE)
            line = " ".join(text[start : at + _LINE].split())
            return f"…{line}" if start else line
    return ""
