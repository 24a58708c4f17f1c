"""The history's database: summaries and a full-text index of all runs, in one SQLite file.

It is a cache of the journals: a file that is damaged, locked by another program or written by
another version is deleted and filled again. The index has trigrams, which find any part of a word,
also in languages without spaces; the file takes two to five times the indexed text.
"""

import logging
import os
import sqlite3
import threading
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from agent.errors import StudioError

_SCHEMA = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, journal_stamp TEXT NOT NULL,
    record_stamp TEXT NOT NULL, owner TEXT NOT NULL, sandbox TEXT NOT NULL, at REAL NOT NULL,
    title TEXT NOT NULL, title_key TEXT NOT NULL, renamed INTEGER NOT NULL,
    pinned INTEGER NOT NULL, problem TEXT NOT NULL, running INTEGER NOT NULL,
    unreadable INTEGER NOT NULL, size INTEGER NOT NULL, workspace INTEGER NOT NULL,
    versions INTEGER NOT NULL, comparison TEXT NOT NULL, parent TEXT NOT NULL,
    parent_run TEXT NOT NULL, imported TEXT NOT NULL
);
CREATE INDEX runs_by_time ON runs (at, run);
CREATE INDEX runs_by_owner ON runs (owner, at, run);
CREATE INDEX runs_damaged ON runs (run, unreadable) WHERE unreadable;
CREATE INDEX runs_unsettled ON runs (run) WHERE running OR problem != '';
CREATE INDEX runs_by_parent ON runs (parent_run) WHERE parent_run != '';
CREATE INDEX runs_pinned ON runs (at, run) WHERE pinned;
CREATE TABLE sums (
    owner TEXT PRIMARY KEY, runs INTEGER NOT NULL, unknown INTEGER NOT NULL,
    pinned INTEGER NOT NULL, running INTEGER NOT NULL, size INTEGER NOT NULL,
    workspace INTEGER NOT NULL, versions INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER run_added AFTER INSERT ON runs BEGIN
    INSERT INTO sums VALUES (
        new.owner, 1, new.problem != '', new.pinned, new.running,
        new.size, new.workspace, new.versions
    ) ON CONFLICT DO UPDATE SET
        runs = runs + 1, unknown = unknown + excluded.unknown, pinned = pinned + excluded.pinned,
        running = running + excluded.running, size = size + excluded.size,
        workspace = workspace + excluded.workspace, versions = versions + excluded.versions;
END;
CREATE TRIGGER run_deleted AFTER DELETE ON runs BEGIN
    UPDATE sums SET
        runs = runs - 1, unknown = unknown - (old.problem != ''), pinned = pinned - old.pinned,
        running = running - old.running, size = size - old.size,
        workspace = workspace - old.workspace, versions = versions - old.versions
    WHERE owner = old.owner;
    DELETE FROM sums WHERE owner = old.owner AND runs = 0;
END;
CREATE TABLE contents (id INTEGER PRIMARY KEY, summary BLOB NOT NULL, passages BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'trigram');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
CREATE TABLE named_contents (
    content INTEGER NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (content, run)
) WITHOUT ROWID;
CREATE INDEX named_contents_by_run ON named_contents (run);
CREATE TABLE erasing (first INTEGER NOT NULL);
"""
_SUMMARIES = "5: figures for comparisons, copied steps, passports, pictures"
"""The contents of the summaries; change it to have them made again from the journals."""

_VERSION_TEXT = f"{_SCHEMA} {unicodedata.unidata_version} {_SUMMARIES}"
_VERSION = zlib.crc32(_VERSION_TEXT.encode()) & 0x7FFFFFFF
_LOCK_SECONDS = 2.0
_MERGED_PAGES = 500
_DAMAGE = frozenset((
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT,
))  # fmt: skip
# UnicodeDecodeError: of a message that quotes a damaged schema
_ERRORS = (sqlite3.Error, zlib.error, ValidationError, UnicodeDecodeError)
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class HistoryUnavailable(StudioError):
    """The database can neither be used nor replaced now, for example on a full disk."""


class Database:
    """The database file, of one process, created on first use. Thread-safe.

    ``lock`` is held while it is written.

    ``on_replaced`` is called, in any thread, when the database has become empty; ``replaced``
    counts how often its contents were the reason.
    """

    def __init__(self, path: Path, on_replaced: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self._path = path
        self._on_replaced = on_replaced
        self._writer: sqlite3.Connection | None = None
        self.replaced = 0

    def read(self, query: Callable[[sqlite3.Connection], _T]) -> _T:
        """Return what a query returns; of a damaged database, what it returns of an empty one."""
        writer = self._writer or self._open()  # without waiting for a thread that writes
        try:
            return self._read(query)
        except _ERRORS as error:
            with self.lock:
                if self._writer is writer:  # no other thread has replaced it meanwhile
                    self._replace(error)
        self._open()
        try:
            return self._read(query)
        except _ERRORS as error:
            raise HistoryUnavailable(f"The history cannot be read: {error}.") from error

    def _read(self, query: Callable[[sqlite3.Connection], _T]) -> _T:
        with closing(self._connect()) as connection:
            connection.execute("PRAGMA query_only = 1")
            return query(connection)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block that writes, locked; after ``HistoryUnavailable``, it wrote nothing."""
        with self.lock:
            writer = self._open()
            try:
                writer.execute("BEGIN IMMEDIATE")
                yield writer
                writer.execute("COMMIT")
            except _ERRORS as error:
                _roll_back(writer)
                self._replace(error)
                raise HistoryUnavailable(f"The history cannot be written: {error}.") from error
            except BaseException:
                _roll_back(writer)
                raise

    @staticmethod
    def erase_later(writer: sqlite3.Connection) -> None:
        """Let ``erase_deleted`` erase what was deleted, if SQLite has not done so at once."""
        writer.execute(
            "INSERT INTO erasing SELECT 1 WHERE NOT EXISTS "
            "(SELECT * FROM words_config WHERE k = 'secure-delete' AND v = 1)"
        )

    def erase_deleted(self) -> bool:
        """Erase some of the text that SQLite before 3.42 keeps; return whether more may be left."""
        with self.transaction() as writer:
            (first,) = writer.execute("SELECT max(first) FROM erasing").fetchone()
            if first is None:
                return False
            writer.execute("UPDATE erasing SET first = 0")
            changes = writer.total_changes
            pages = -_MERGED_PAGES if first else _MERGED_PAGES
            writer.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
            if writer.total_changes - changes < 2:  # all is merged, as documented for FTS5
                writer.execute("DELETE FROM erasing")
        self.truncate_log()
        return True

    def truncate_log(self) -> None:
        """Move the write-ahead log into the file and empty it, unless a reader uses it."""
        with self.lock, suppress(sqlite3.Error):
            self._open().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file; it is opened again when it is used."""
        with self.lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def _open(self) -> sqlite3.Connection:
        """Return the writer's connection; create or replace the file if necessary."""
        with self.lock:
            if self._writer is not None:
                return self._writer
            try:
                try:
                    self._writer = self._connect_writer()
                except _ERRORS as error:
                    self._replace(error)
                    self._writer = self._connect_writer()
            except (OSError, *_ERRORS) as error:
                raise HistoryUnavailable(f"The history cannot be opened: {error}.") from error
            return self._writer

    def _connect_writer(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = self._connect()
        try:
            for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON"):
                connection.execute(f"PRAGMA {pragma}")
            if connection.execute("PRAGMA user_version").fetchone() != (_VERSION,):
                if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() != (0,):
                    raise sqlite3.DatabaseError("it was written by another version")
                connection.executescript(f"{_SCHEMA} PRAGMA user_version = {_VERSION};")
                with suppress(sqlite3.Error):  # before SQLite 3.42
                    connection.execute(
                        "INSERT INTO words (words, rank) VALUES ('secure-delete', 1)"
                    )
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self._path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )

    def _replace(self, error: Exception) -> None:
        """Delete the file after an error that another file would not have."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if code & 0xFF not in _DAMAGE and "no such" not in str(error):
            return  # such as a full disk
        _log.warning("The history is indexed again, because of its database: %s", error)
        self.close()
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                self._path.with_name(self._path.name + suffix).unlink()
        self.replaced += 1
        self._on_replaced()


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        connection.execute("ROLLBACK")
