"""What the history's database holds of one run: its list entry, its text, and its stamp."""

import logging
import os
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from pydantic import TypeAdapter

from agent.errors import RecordNotAFile, RunError
from agent.events import Event
from agent.history.search import Passage, normalize, passages_of
from agent.owned_folder import MAX_TITLE
from agent.runs import journal, summary
from agent.runs.folder import Parent, RunFolder, parent_adapter
from agent.runs.state import RunState
from agent.runs.summary import Summary
from agent.titles import title_for_task
from agent.util.state_files import open_record
from agent.util.text import replace_surrogates

UNKNOWN_CONTENTS = "0" * 64  # of a run whose manifests cannot be read
RECORD_UNREADABLE = "Its record cannot be read."
_COLUMNS = (
    "run, journal_stamp, record_stamp, owner, sandbox, at, title, title_key, renamed, pinned, "
    "problem, running, unreadable, size, workspace, versions, comparison, parent, parent_run, "
    "imported"
)
_HASH = re.compile(rb"[0-9a-f]{64}")
_log = logging.getLogger(__name__)
Stamp = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Record:
    """A run as it is stored; ``folder`` is None if unreadable, ``contents`` are hashes."""

    run: str
    stamp: Stamp
    folder: RunFolder | None
    summary: Summary | None = None
    passages: list[Passage] = field(default_factory=list)
    contents: set[str] = field(default_factory=set)

    @property
    def title(self) -> str:
        """The title that the user gave it, an example's title, or its task's first line."""
        title = self.folder.title if self.folder else ""
        if not title and self.summary:
            title = title_for_task(self.summary.task)
        return replace_surrogates(title)[:MAX_TITLE]

    @property
    def at(self) -> float:
        """When its last round ended (began, if it runs), or a later import; in epoch seconds."""
        at = self.summary.at if self.summary else int(self.stamp[0].split()[1]) / 1e9
        return max(at, self.folder.created) if self.folder and self.folder.imported else at


@cache
def _summary_adapter() -> TypeAdapter[Summary]:
    return TypeAdapter(Summary)


@cache
def _passages_adapter() -> TypeAdapter[list[Passage]]:
    return TypeAdapter(list[Passage])


def stamp(run: Path | str) -> Stamp | None:
    """Return values that change with journal and manifests, and ``run.json``; None for a draft."""
    events = _stat(f"{run}/journal.jsonl")
    if events is None:
        return None
    versions, about = _stat(f"{run}/manifests.jsonl"), _stat(f"{run}/run.json")
    size = versions.st_size if versions else 0
    return (
        f"{events.st_size} {events.st_mtime_ns} {size}",
        f"{about.st_mtime_ns} {about.st_ino}" if about else "",
    )


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - of all runs at a start
    except OSError:
        return None


def content_hashes(run: Path) -> Iterator[str]:
    """Yield the content hashes in a run's manifests, even in damaged ones. Raises ``OSError``."""
    with (
        suppress(FileNotFoundError, NotADirectoryError, RecordNotAFile),
        open_record(run / "manifests.jsonl") as file,
    ):
        for line in file:
            for found in _HASH.findall(line):
                yield found.decode()


def read(data: Path, run: str, known: "Record | None") -> Record | None:
    """Return a run's record, None if it has not begun; its journal is read only if it changed."""
    at = stamp(data / "runs" / run)
    if at is None:
        return None
    folder = None
    try:
        contents = set(content_hashes(data / "runs" / run))
    except OSError:
        contents = {UNKNOWN_CONTENTS}
    try:
        folder = RunFolder.open(data, run)
        if known is not None and known.summary and known.stamp[0] == at[0]:
            return Record(run, at, folder, known.summary, known.passages, contents)
        state, passages = RunState(run=run), list[Passage]()
        passages += passages_of(_applied(folder, state))
        if state.rounds:
            about = summary.measured(folder, state)
            return Record(run, at, folder, about, passages, contents)
    except (RunError, OSError):
        pass
    except Exception:  # noqa: BLE001 - boundary: one record must not prevent the others from being listed
        _log.exception("The record of run %s cannot be read", run)
    return Record(run, at, folder, contents=contents)


def summaries(data: Path, runs: Iterable[str]) -> dict[str, Summary | None]:
    """Return the summaries of runs that exist, from their journals without writing anything."""
    existing = (run for run in runs if (data / "runs" / run).is_dir())
    found = ((run, read(data, run, None)) for run in existing)
    return {run: record.summary if record else None for run, record in found}


def _applied(folder: RunFolder, state: RunState) -> Iterator[Event]:
    """Yield a run's events, each after it was applied to the state."""
    for cursor, event in journal.read(folder.journal):
        state.apply(event, cursor)
        yield event


def load(database: sqlite3.Connection, run: str) -> Record | None:
    """Return a stored record, without its folder."""
    row = database.execute(
        "SELECT id, journal_stamp, record_stamp FROM runs WHERE run = ?", (run,)
    ).fetchone()
    if row is None:
        return None
    number, *at = row
    about, passages = load_summary(database, number), load_passages(database, number)
    return Record(run, (at[0], at[1]), None, about, passages)


def load_summary(database: sqlite3.Connection, number: int) -> Summary | None:
    """Return the summary of the run in this row; None if it has none."""
    blob = _load(database, "summary", number)
    return _summary_adapter().validate_json(blob) if blob else None


def load_passages(database: sqlite3.Connection, number: int) -> list[Passage]:
    """Return the text of the run in this row."""
    blob = _load(database, "passages", number)
    return _passages_adapter().validate_json(blob) if blob else []


def _load(database: sqlite3.Connection, column: str, number: int) -> bytes:
    row = database.execute(f"SELECT {column} FROM contents WHERE id = ?", (number,)).fetchone()
    return zlib.decompress(row[0]) if row else b""


def store(database: sqlite3.Connection, record: Record) -> None:
    """Store a record; replace the run's earlier one."""
    number = delete(database, record.run)
    folder, about = record.folder, record.summary
    title = record.title
    values = (
        record.run, *record.stamp,
        folder.owner if folder else "", folder.sandbox if folder else "",
        record.at, title, normalize(title),
        bool(folder and folder.title), bool(folder and folder.pinned),
        "" if about else RECORD_UNREADABLE,
        *((about.running, about.unreadable, about.size, about.workspace, about.versions)
          if about else (False, 0, 0, 0, 0)),
        folder.comparison if folder else "",
        encode_parent(folder.parent if folder else None),
        folder.parent.run if folder and folder.parent else "",
        folder.imported if folder else "",
    )  # fmt: skip
    marks = ", ".join("?" * (len(values) + 1))
    number = (
        database.execute(
            f"INSERT INTO runs (id, {_COLUMNS}) VALUES ({marks})", (number, *values)
        ).lastrowid
        or 0
    )
    database.executemany(
        "INSERT OR IGNORE INTO named_contents VALUES (?, ?)",
        [(content_number(each), number) for each in record.contents],
    )
    if about is not None:
        blobs = _summary_adapter().dump_json(about), _passages_adapter().dump_json(record.passages)
        database.execute(
            "INSERT INTO contents VALUES (?, ?, ?)", (number, *map(zlib.compress, blobs))
        )
        database.execute(
            "INSERT INTO words (rowid, text) VALUES (?, ?)",
            (number, _indexed_text(title, about, record.passages)),
        )


def content_number(digest: str) -> int:
    """Return what the database holds of a content hash: its first eight bytes."""
    return int.from_bytes(bytes.fromhex(digest[:16]), signed=True)


def encode_parent(parent: Parent | None) -> str:
    """Return a parent as the database holds it; empty for none."""
    return parent_adapter().dump_json(parent).decode() if parent else ""


def decode_parent(text: str) -> Parent | None:
    """Return what ``encode_parent`` wrote."""
    return parent_adapter().validate_json(text) if text else None


def delete(database: sqlite3.Connection, run: str) -> int | None:
    """Delete a run's record and its text; return its row's number, None if there is none."""
    row = database.execute("SELECT id, title FROM runs WHERE run = ?", (run,)).fetchone()
    if row is None:
        return None
    number, title = row
    about = load_summary(database, number)
    if about is not None:
        text = _indexed_text(title, about, load_passages(database, number))
        database.execute(
            "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (number, text)
        )
    for condition in ("contents WHERE id", "runs WHERE id", "named_contents WHERE run"):
        database.execute(f"DELETE FROM {condition} = ?", (number,))
    return int(number)


def _indexed_text(title: str, about: Summary, passages: Sequence[Passage]) -> str:
    """Return the text to index, which must be the same at deletion; padded for trigrams."""
    names = (unquote(name) for name in about.files)
    texts = (title, about.model, *names, *(text for *_, text in passages), "\n\n")
    return normalize("\n".join(texts))
