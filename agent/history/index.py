"""The list of all runs in a data folder, newest first, with full-text search."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from agent.errors import RunError, StudioError
from agent.history import records, search
from agent.history.database import HistoryUnavailable
from agent.history.indexing import Indexer, OwnChanges
from agent.history.records import Record
from agent.runs.disk_usage import sandbox_bytes_on_disk
from agent.runs.folder import Parent, RunFolder
from agent.runs.summary import Summary

_ENTRY = (
    "id, run, title, renamed, at, problem, owner, pinned, sandbox, comparison, parent, imported"
)
_SHORT_SECONDS = 0.1
_REFILLED = 50
_MAX_CHILDREN = 100
_T = TypeVar("_T")
_SIZED = "run, title, owner, at, pinned, running, problem, sandbox, size, workspace, versions"
_ACTIVE = """
WITH active AS (SELECT value FROM json_each(:active)),
known AS (
    SELECT {columns} FROM active WHERE json_array_length(value) > 1
)
""".format(
    columns=", ".join(
        f"json_extract(value, '$[{at}]') AS {name}" for at, name in enumerate(_SIZED.split(", "))
    )
)
_ALL_RUNS = f"""
{_ACTIVE}, all_runs AS (
    SELECT {_SIZED} FROM runs
    WHERE run NOT IN (SELECT json_extract(value, '$[0]') FROM active) {{mine}}
    UNION ALL
    SELECT * FROM known
)
SELECT {{columns}} FROM all_runs WHERE (:owner IS NULL OR owner = :owner) {{rest}}
"""
_SUMS = f"""
{_ACTIVE}, parts AS (
    SELECT * FROM sums
    UNION ALL
    SELECT owner, -1, -(problem != ''), -pinned, -running, -size, -workspace, -versions FROM runs
    WHERE run IN (SELECT json_extract(value, '$[0]') FROM active)
    UNION ALL
    SELECT owner, 1, problem != '', pinned, running, size, workspace, versions FROM known
)
SELECT owner, sum(runs), sum(unknown), sum(pinned), sum(running), sum(size), sum(workspace),
    sum(versions)
FROM parts WHERE (:owner IS NULL OR owner = :owner) GROUP BY owner HAVING sum(runs)
"""
_KEPT_TOTALS = """
SELECT coalesce(sum(runs), 0), total(size - versions), total(versions) FROM (
    SELECT runs, size, versions FROM sums WHERE {mine}
    UNION ALL
    SELECT -1, -size, -versions FROM runs
    WHERE {mine} AND run IN (SELECT value FROM json_each(:hidden))
)
"""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One run of the list; in a search, its ``match`` and the text around it (``excerpt``)."""

    run: str
    title: str  # the user's, an example's, or the task's first line
    renamed: bool  # by the user
    at: float  # when its last round ended, or began if it is running
    summary: Summary | None  # None if unreadable
    problem: str = ""  # what is wrong with its record
    owner: str = ""
    pinned: bool = False
    sandbox: str = ""  # its id, if readable
    comparison: str = ""  # that started it
    parent: Parent | None = None
    imported: str = ""  # the name of the format that it was imported from
    in_title: bool = False  # all searched words are; such runs come first
    excerpt: str = ""
    match: search.SearchMatch | None = None
    word: str = ""

    @property
    def sort_key(self) -> tuple[bool, float, str]:
        """The list is in descending order of this."""
        return self.in_title, self.at, self.run

    @property
    def cursor(self) -> str:
        """The list cursor after this run."""
        return cursor_after(self.sort_key)


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of the list."""

    entries: list[HistoryEntry]
    next: str  # its cursor; empty at the list's end
    total: int  # on all pages
    size: int  # bytes on disk of all, without file versions
    versions: int  # bytes of file versions, as in ``Summary``
    indexing: bool = False  # some runs are not indexed yet; ``total`` has them


@dataclass(frozen=True, slots=True)
class SizedRun:
    """What a run takes on disk; see ``HistoryEntry`` and ``Summary``."""

    run: str
    title: str
    owner: str
    at: float
    pinned: bool
    running: bool
    problem: str
    sandbox: str
    size: int
    workspace: int
    versions: int

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> "SizedRun":
        """Return the run in a row of the database, which has no booleans."""
        run = cls(*row)
        return replace(run, pinned=bool(run.pinned), running=bool(run.running))


@dataclass(frozen=True, slots=True)
class HistoryTotals:
    """Sums over runs: their number, of it unreadable, pinned and running, and their bytes."""

    count: int
    unknown: int
    pinned: int
    running: int
    size: int
    workspace: int
    versions: int


class History:
    """The runs of a data folder. Thread-safe; ``active_summaries`` has None for a starting run."""

    def __init__(
        self,
        data: Path,
        active_summaries: Callable[[], Mapping[str, Summary | None]] = dict,
        own: OwnChanges | None = None,
        end_round: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._data = data
        self._active_summaries = active_summaries
        self.indexer = Indexer(data, lambda: self._active_summaries().keys(), own, end_round)
        self._database = self.indexer.database

    def page(
        self,
        query: str = "",
        cursor: str = "",
        limit: int = 50,
        owner: str | None = None,
        *,
        pinned: bool = False,
        folded: Collection[str] = (),
        only: Collection[str] | None = None,
    ) -> HistoryPage:
        """Return a page of runs that have begun (no drafts), newest first.

        Each searched word must occur in the title, the conversation, an output, the model name or
        a file name. ``owner`` None stands for all users. Runs of ``folded`` comparisons are listed
        only with search words, though they count in the total.
        """
        words = search.query_words(query)
        hidden = frozenset() if words else frozenset(folded)
        chosen = None if only is None else frozenset(only)
        asked = _Query(words, parse_cursor(cursor), limit, owner, pinned, hidden, chosen)
        active = self._active_summaries()
        self.indexer.update(runs=limit)
        page, stale = self._read(lambda rows: self._page(rows, asked, self._entries(active)))
        if stale:
            self.indexer.changed(*stale)
            self.indexer.update(runs=limit)
            page, _ = self._read(lambda rows: self._page(rows, asked, self._entries(active)))
        backlog = self.indexer.backlog
        everything = not asked.words and owner is None and not pinned and only is None
        total = page.total + (backlog if everything else 0)
        return replace(page, total=total, indexing=backlog > 0)

    def title(self, folder: RunFolder) -> str:
        """Return a run's title in the list."""
        self.indexer.changed(folder.id)
        self.indexer.update()
        row = self._read(
            lambda rows: rows.execute(
                "SELECT title FROM runs WHERE run = ?", (folder.id,)
            ).fetchone()
        )
        return str(row[0]) if row else folder.title

    def children(self, run: str, owner: str | None = None) -> list[HistoryEntry]:
        """Return the first 100 runs made from a run (which may be deleted), newest first."""
        entries = self.made_from([run], _MAX_CHILDREN)
        mine = [entry for entry in entries if owner is None or entry.owner == owner]
        return sorted(mine, key=lambda entry: entry.sort_key, reverse=True)[:_MAX_CHILDREN]

    def made_from(self, runs: Collection[str], limit: int) -> list[HistoryEntry]:
        """Return the runs made from some runs, which may be deleted; at most ``limit``."""
        wanted = frozenset(runs)
        return self._find(
            "parent_run IN (SELECT value FROM json_each(:wanted)) AND parent_run != ''",
            wanted,
            lambda entry: entry.parent is not None and entry.parent.run in wanted,
            limit,
        )

    def entries(self, runs: Collection[str]) -> list[HistoryEntry]:
        """Return the entries of those of some runs that exist and have begun."""
        wanted = frozenset(runs)
        condition = "run IN (SELECT value FROM json_each(:wanted))"
        return self._find(condition, wanted, lambda entry: entry.run in wanted, len(wanted))

    def forked(self, runs: Collection[str], owner: str | None = None) -> set[str]:
        """Return the given runs that have forks or replays; ``owner`` limits whose forks count."""
        query = (
            "SELECT DISTINCT parent_run FROM runs WHERE parent_run != '' "
            "AND parent_run IN (SELECT value FROM json_each(:wanted)) "
            "AND (:owner IS NULL OR owner = :owner)"
        )
        values = {"wanted": _json(runs), "owner": owner}
        found = self._read(lambda rows: {row[0] for row in rows.execute(query, values)})
        active = [entry for entry in self._entries(self._active_summaries()).values() if entry]
        return found | {
            entry.parent.run
            for entry in active
            if entry.parent and entry.parent.run in runs and owner in (None, entry.owner)
        }

    def _find(
        self,
        condition: str,
        wanted: Collection[str],
        matches: Callable[[HistoryEntry], bool],
        limit: int,
    ) -> list[HistoryEntry]:
        """Return entries by a condition on ``:wanted``, active ones as they are now."""
        query = f"SELECT {_ENTRY} FROM runs WHERE {condition} ORDER BY at DESC LIMIT {limit:d}"
        active = self._entries(self._active_summaries())
        self.indexer.update(_SHORT_SECONDS)
        stored = self._read(lambda rows: _stored_entries(rows, query, {"wanted": _json(wanted)}))
        found = [entry for entry in stored if entry.run not in active]
        return found + [entry for entry in active.values() if entry and matches(entry)]

    def summaries(self, runs: Collection[str]) -> dict[str, Summary | None]:
        """Return summaries by id; None if not begun or unreadable, missing if deleted."""
        active = self._active_summaries()
        wanted = [run for run in runs if run not in active]
        self.indexer.update(_SHORT_SECONDS, at_once=False)
        stored, stale = self._read(lambda rows: self._stored_summaries(rows, wanted))
        if stale:
            self.indexer.changed(*stale)
            self.indexer.update(runs=len(stale))
            stored, _ = self._read(lambda rows: self._stored_summaries(rows, wanted))
        stored |= {run: active[run] for run in runs if run in active}
        stored |= {record.run: record.summary for record in self.indexer.unsaved()}
        return {
            run: stored.get(run)
            for run in runs
            if run in stored or (self._data / "runs" / run / "run.json").is_file()
        }

    def _stored_summaries(
        self, rows: sqlite3.Connection, runs: Sequence[str]
    ) -> tuple[dict[str, Summary | None], list[str]]:
        """Return the stored summaries of existing runs, and the runs to be indexed again."""
        found: dict[str, Summary | None] = {}
        stamps = {run: records.stamp(self._data / "runs" / run) for run in runs}
        query = (
            "SELECT id, run, journal_stamp, record_stamp FROM runs "
            "WHERE run IN (SELECT value FROM json_each(?))"
        )
        for number, run, *stamp in rows.execute(query, (json.dumps(list(runs)),)):
            if stamps[run] == (*stamp,):
                found[run] = records.load_summary(rows, number)
        return found, [run for run in runs if stamps[run] is not None and run not in found]

    def replays_of(self, run: str) -> list[str]:
        """Return the ids of the replays of a run, latest first."""
        self.indexer.update(_SHORT_SECONDS)
        query = (
            "SELECT run FROM runs WHERE parent_run = ? AND parent_run != '' "
            "AND json_extract(parent, '$.kind') = 'replay' ORDER BY at DESC LIMIT 100"
        )
        return self._read(lambda rows: [each for (each,) in rows.execute(query, (run,))])

    def unreadable(self) -> dict[str, int]:
        """Return the number of unreadable journal lines by run id, without zeros."""
        return self._read(
            lambda rows: dict(rows.execute("SELECT run, unreadable FROM runs WHERE unreadable"))
        )

    def shared_contents(
        self, contents: Collection[str], runs: Collection[str]
    ) -> tuple[set[str], set[str]]:
        """Return those contents that runs other than these name, and runs that may name more."""
        self.indexer.update(_SHORT_SECONDS)
        try:
            unknown = self.indexer.pending()
            shared = self._read(lambda rows: self._named_elsewhere(rows, contents, runs, unknown))
        except HistoryUnavailable:
            shared, unknown = set(), set(RunFolder.ids(self._data))
        return shared, unknown.difference(runs)

    def _named_elsewhere(
        self,
        rows: sqlite3.Connection,
        contents: Collection[str],
        runs: Collection[str],
        unknown: set[str],
    ) -> set[str]:
        """Return the contents that another run names; add runs whose contents are not known."""
        query = "SELECT runs.run FROM named_contents AS named JOIN runs ON runs.id = named.run "
        query += "WHERE named.content = ?"

        def naming(content: str) -> Iterator[str]:
            number = records.content_number(content)
            found = (run for (run,) in rows.execute(query, (number,)) if run not in runs)
            return (run for run in found if (self._data / "runs" / run).is_dir())

        unknown.update(naming(records.UNKNOWN_CONTENTS))
        return {content for content in contents if any(naming(content))}

    def totals(self, owner: str | None = None, *, measured: bool = False) -> HistoryTotals:
        """Return the sums over begun runs; active runs' disk usage only if ``measured``."""
        none = [0] * len(fields(HistoryTotals))
        rows = [sums for _, *sums in self._select(_SUMS, owner, measured=measured)]
        return HistoryTotals(*map(sum, zip(none, *rows, strict=True)))

    def largest(self, limit: int, owner: str | None = None) -> list[SizedRun]:
        """Return the runs that use the most disk space, largest first."""
        rows = self._sized(_SIZED, owner, f"ORDER BY size DESC LIMIT {limit:d}", measured=True)
        return [SizedRun.from_row(row) for row in rows]

    def size_by_owner(self) -> dict[str, tuple[int, int]]:
        """Return the number of runs and their bytes by owner, largest first."""
        sums = {owner: HistoryTotals(*row) for owner, *row in self._select(_SUMS)}
        by_size = sorted(sums.items(), key=lambda each: each[1].size, reverse=True)
        return {owner: (each.count, each.size) for owner, each in by_size}

    def deletable(self, before: float) -> list[SizedRun]:
        """Return the intact, unpinned, ended runs whose last round ended before, oldest first."""
        rest = f"AND NOT pinned AND NOT running AND problem = '' AND at < {before!r} ORDER BY at"
        return [SizedRun.from_row(row) for row in self._sized(_SIZED, None, rest)]

    def owned_sandboxes(self, sandboxes: Iterable[str], owner: str | None) -> set[str]:
        """Return those of some sandbox ids that belong to runs, or to one user's runs."""
        wanted = json.dumps(list(sandboxes))
        rest = "AND sandbox IN (SELECT value FROM json_each(:sandboxes))"
        return {row[0] for row in self._sized("sandbox", owner, rest, sandboxes=wanted)}

    def _sized(
        self,
        columns: str,
        owner: str | None,
        rest: str = "",
        *,
        measured: bool = False,
        sandboxes: str = "",
    ) -> list[tuple[Any, ...]]:
        """Select columns of ``_SIZED`` for all runs; ``rest`` ends the statement."""
        mine = "" if owner is None else "AND owner = :owner"
        sql = _ALL_RUNS.format(mine=mine, columns=columns, rest=rest)
        return self._select(sql, owner, measured=measured, sandboxes=sandboxes)

    def _select(
        self,
        sql: str,
        owner: str | None = None,
        *,
        measured: bool = False,
        sandboxes: str = "",
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a statement that begins with ``_ACTIVE``."""
        active = [
            [run, *(self._sized_values(entry, measured=measured) if entry else ())]
            for run, entry in self._entries(self._active_summaries()).items()
        ]
        values = {"active": json.dumps(active), "owner": owner, "sandboxes": sandboxes}
        self.indexer.update(_SHORT_SECONDS, at_once=False)
        return self._read(lambda rows: rows.execute(sql, values).fetchall())

    def _sized_values(self, entry: HistoryEntry, *, measured: bool) -> tuple[Any, ...]:
        summary = entry.summary
        size, workspace, versions = (
            (summary.size, summary.workspace, summary.versions) if summary else (0, 0, 0)
        )
        if measured and summary and not size and entry.sandbox:
            size = workspace = sandbox_bytes_on_disk(self._data / "sandboxes" / entry.sandbox)
        return (
            entry.title, entry.owner, entry.at, entry.pinned, bool(summary and summary.running),
            entry.problem, entry.sandbox, size, workspace, versions,
        )  # fmt: skip

    def _read(self, query: Callable[[sqlite3.Connection], _T]) -> _T:
        """Return what a query returns; fill a database that was replaced first."""
        replaced = self._database.replaced
        answer = self._database.read(query)
        if self._database.replaced == replaced:
            return answer
        self.indexer.update(runs=_REFILLED)
        return self._database.read(query)

    def _entries(self, summaries: Mapping[str, Summary | None]) -> dict[str, HistoryEntry | None]:
        """Return the entries of active runs, and of runs that could not be stored."""
        active: dict[str, HistoryEntry | None] = {
            record.run: _entry_of(record) for record in self.indexer.unsaved()
        }
        for run, summary in summaries.items():
            try:
                record = Record(run, ("", ""), RunFolder.open(self._data, run), summary)
                active[run] = _entry_of(record) if summary else None
            except RunError:
                active[run] = None
        return active

    def _page(
        self, rows: sqlite3.Connection, asked: "_Query", active: Mapping[str, HistoryEntry | None]
    ) -> tuple[HistoryPage, list[str]]:
        """Return a page, and the runs on it that have changed since they were indexed."""
        others = [
            found
            for entry in active.values()
            if entry and (asked.owner is None or entry.owner == asked.owner)
            if entry.pinned or not asked.pinned
            if asked.only is None or entry.run in asked.only
            if (found := _match_words(entry, asked.words))
        ]
        total, size, versions, stored, stale = 0, 0, 0, list[HistoryEntry](), list[str]()
        selection = asked.selection(rows, active)
        if selection is not None:
            total, size, versions = rows.execute(*selection.totals).fetchone()
            for number, *values, journal, about, in_title in rows.execute(*selection.page):
                entry = _entry_of_row(values, in_title, records.load_summary(rows, number))
                if records.stamp(self._data / "runs" / entry.run) != (journal, about):
                    stale.append(entry.run)
                stored.append(_with_excerpt(rows, number, entry, asked.words))
        known = [entry.summary for entry in others if entry.summary]
        total += len(others)
        versions += sum(each.versions for each in known)
        size += sum(each.size - each.versions for each in known)
        rest = [
            each
            for each in others
            if each.comparison not in asked.folded
            if asked.after is None or each.sort_key < asked.after
        ]
        entries = sorted((*stored, *rest), key=lambda each: each.sort_key, reverse=True)
        following = entries[asked.limit - 1].cursor if len(entries) > asked.limit else ""
        page = HistoryPage(entries[: asked.limit], following, total, int(size), int(versions))
        return page, stale


@dataclass(frozen=True, slots=True)
class _Selection:
    """The statements of a page: its totals, and its rows."""

    totals: tuple[str, dict[str, Any]]
    page: tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Query:
    """A page that is asked for; ``after`` is the sort key of the run before it."""

    words: list[str]
    after: tuple[bool, float, str] | None
    limit: int
    owner: str | None
    pinned: bool
    folded: frozenset[str]
    only: frozenset[str] | None

    def selection(self, rows: sqlite3.Connection, hidden: Collection[str]) -> _Selection | None:
        """Return the statements, without the hidden runs; None if nothing can match."""
        source = "runs"
        values: dict[str, Any] = {"hidden": json.dumps(list(hidden)), "limit": self.limit + 1}
        conditions = ["run NOT IN (SELECT value FROM json_each(:hidden))"] if hidden else ["1"]
        if self.owner is not None:
            conditions.append("owner = :owner")
            values["owner"] = self.owner
        if self.pinned:
            conditions.append("pinned")
        if self.only is not None:
            conditions.append("run IN (SELECT value FROM json_each(:only))")
            values["only"] = json.dumps(list(self.only))
        in_title = "0"
        if self.words:
            values |= {f"word{number}": word for number, word in enumerate(self.words)}
            title = [f"instr(title_key, :word{number}) > 0" for number in range(len(self.words))]
            in_title = f"({' AND '.join(title)})"
            conditions += [
                each for word, each in zip(self.words, title, strict=True) if search.is_common(word)
            ]
            expression = search.match_expression(rows, self.words)
            if expression is None:
                return None
            if expression:
                source = "words CROSS JOIN runs ON runs.id = words.rowid"
                conditions.append("words MATCH :match")
                values["match"] = expression
        where = f"FROM {source} WHERE {' AND '.join(conditions)}"
        totals = self._totals(where)
        if self.folded:
            where += " AND comparison NOT IN (SELECT value FROM json_each(:folded))"
            values["folded"] = json.dumps(list(self.folded))
        keys = ["at", "run"]
        if self.words:
            keys.insert(0, in_title)
        if self.after is not None:
            values |= {"in_title": self.after[0], "at": self.after[1], "run": self.after[2]}
            before = "(:in_title, :at, :run)" if self.words else "(:at, :run)"
            where += f" AND ({', '.join(keys)}) < {before}"
        order = f"ORDER BY {', '.join(f'{key} DESC' for key in keys)}"
        columns = f"{_ENTRY}, journal_stamp, record_stamp, {in_title}"
        return _Selection(
            (totals, values), (f"SELECT {columns} {where} {order} LIMIT :limit", values)
        )

    def _totals(self, where: str) -> str:
        """Return the statement of the totals; those of all runs, or of one user's, are kept."""
        if self.words or self.pinned or self.only is not None:
            return f"SELECT count(*), total(size - versions), total(versions) {where}"
        return _KEPT_TOTALS.format(mine="1" if self.owner is None else "owner = :owner")


def _entry_of(record: Record) -> HistoryEntry:
    """Return the entry of a run that is not in the database."""
    folder, summary = record.folder, record.summary
    return HistoryEntry(
        record.run,
        record.title,
        bool(folder and folder.title),
        record.at,
        summary,
        "" if summary else records.RECORD_UNREADABLE,
        folder.owner if folder else "",
        bool(folder and folder.pinned),
        folder.sandbox if folder else "",
        folder.comparison if folder else "",
        folder.parent if folder else None,
        folder.imported if folder else "",
    )


def _entry_of_row(values: Sequence[Any], in_title: int, summary: Summary | None) -> HistoryEntry:
    run, title, renamed, at, problem, owner, pinned, sandbox, comparison, parent, imported = values
    return HistoryEntry(
        run, title, bool(renamed), at, summary, problem, owner, bool(pinned), sandbox, comparison,
        records.decode_parent(parent), imported, bool(in_title),
    )  # fmt: skip


def _stored_entries(
    rows: sqlite3.Connection, query: str, values: Mapping[str, Any]
) -> list[HistoryEntry]:
    return [
        _entry_of_row(row, 0, records.load_summary(rows, number))
        for number, *row in rows.execute(query, values)
    ]


def _json(runs: Iterable[str]) -> str:
    return json.dumps(list(runs))


def cursor_after(sort_key: tuple[bool, float, str]) -> str:
    """Return the list cursor after an entry with this sort key."""
    in_title, at, entry = sort_key
    return f"{at!r}:{entry}{':title' if in_title else ''}"


def parse_cursor(cursor: str) -> tuple[bool, float, str] | None:
    """Return the sort key in a cursor of the list; None for the beginning."""
    if not cursor:
        return None
    at, _, rest = cursor.partition(":")
    run, _, section = rest.partition(":")
    try:
        return section == "title", float(at), run
    except ValueError as error:
        raise StudioError("This is not a cursor of the list of runs.") from error


def _match_words(entry: HistoryEntry, words: Sequence[str]) -> HistoryEntry | None:
    """Return the entry of a run that is not in the database, if it contains all words."""
    title, about = search.normalize(entry.title), entry.summary
    if all(word in title for word in words):
        return replace(entry, in_title=bool(words))
    if about is None:
        return None
    texts = [about.task, about.messages, about.answer, about.model, *map(unquote, about.files)]
    everything = search.normalize("\n".join((title, *texts)))
    if any(word not in everything for word in words):
        return None
    return _excerpted(entry, words, (_about_run(text) for text in texts))


def _with_excerpt(
    rows: sqlite3.Connection, number: int, entry: HistoryEntry, words: Sequence[str]
) -> HistoryEntry:
    """Return the entry of a stored run with the text around a match outside its title."""
    if not words or entry.in_title or entry.summary is None:
        return entry
    about = entry.summary
    names = map(_about_run, (about.model, *map(unquote, about.files)))
    return _excerpted(entry, words, chain(records.load_passages(rows, number), names))


def _about_run(text: str) -> search.Passage:
    return "run", 0, 0, text


def _excerpted(
    entry: HistoryEntry, words: Sequence[str], passages: Iterable[search.Passage]
) -> HistoryEntry:
    title = search.normalize(entry.title)
    missing = [word for word in words if word not in title]
    found = search.first_match(passages, missing)
    return replace(entry, excerpt=found[0].line, match=found[0], word=found[1]) if found else entry
