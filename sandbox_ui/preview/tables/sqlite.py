"""SQLite databases, opened read-only: the list of tables and their first rows."""

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from sandbox_ui.preview.base import Ask, Unreadable, View
from sandbox_ui.preview.tables import sqlite_schema
from sandbox_ui.preview.tables.grid import CELL, COLUMNS, ROWS, Grid, answer, copied, needed, placed
from sandbox_ui.preview.tables.sqlite_schema import Table, quoted

SECONDS = 5.0
"""Time limit for reading rows of a table or view, in seconds."""

COUNTING = 0.12
"""Time limit for counting rows in the first request, in seconds."""

COUNTING_LONG = 6.0
"""Time limit for counting rows on request, in seconds."""

_OPCODES = 5000
_MOST_VALUE = 64 * 1024**2
_COPIED = 512 * 1024**2
_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_FUNCTION}
)
_PRAGMAS = ("table_xinfo", "table_list", "index_list", "foreign_key_list", "data_version")
_REFUSED = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})
_WAL = 2
_TOO_LARGE = (
    "This database is larger than 512 MB, which this studio cannot look into. Download it, or ask "
    "the model for what is in it."
)
_NOTHING = "It holds no tables."


def view(file: BinaryIO, ask: Ask) -> View:
    """Return rows of one table (see ``grid.answer``).

    The first response also lists all tables. ``table`` is a table's name; ``count`` requests
    its row count, with a longer time limit.

    Raises:
        Unreadable: The file is not a database, or it is corrupt or encrypted.
    """
    head = file.read(100)
    if not head:
        return View({"tables": [], "notes": ["This file is empty: a database without tables."]})
    if not head.startswith(b"SQLite format 3\0"):
        raise Unreadable("This is no SQLite database, or it is encrypted.")
    try:
        connection = connected(file, head)
        with _Clock(connection, SECONDS):
            tables = sqlite_schema.tables_of(connection)
        return View(_answered(connection, tables, ask, head))
    except sqlite3.DatabaseError as error:
        raise Unreadable(_sentence(error)) from None


def _answered(
    connection: sqlite3.Connection, tables: list[Table], ask: Ask, head: bytes
) -> dict[str, Any]:
    name = ask.options.get("table")
    chosen = next((each for each in tables if each.name == name), None) or _first(tables)
    if "count" in ask.options and chosen:
        return {"rows": _count(connection, chosen, COUNTING_LONG)}
    about = {} if name is not None else _about(connection, tables, head)
    if chosen is None:
        return about
    try:
        with _Clock(connection, SECONDS):
            if "cell" in ask.options:
                return _cell(connection, chosen, ask)
            grid = _grid(connection, chosen, ask, _counted(about, chosen.name))
    except sqlite3.DatabaseError as error:
        if name is not None:
            raise
        return {**about, "table": chosen.name, "error": _sentence(error)}
    return {**answer(grid, ask), "table": chosen.name, **about}


def _first(tables: list[Table]) -> Table | None:
    return next((each for each in tables if each.kind == "table"), tables[0] if tables else None)


def connected(file: BinaryIO, head: bytes) -> sqlite3.Connection:
    """Open a read-only connection that can access this database only.

    Args:
        file: The database.
        head: Its first 100 bytes.

    Raises:
        Unreadable: The file cannot be opened in place and is too large to copy. This is usual
            for an unprivileged worker: SQLite opens by name, and the worker cannot traverse the
            folders of the path.
    """
    try:
        address = f"file:/proc/self/fd/{file.fileno()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
    except (sqlite3.OperationalError, OSError):  # no permission, or not a regular file
        connection = _copied(file, head)
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    connection.set_authorizer(_allow)
    return connection


def _copied(file: BinaryIO, head: bytes) -> sqlite3.Connection:
    file.seek(len(head))
    rest = file.read(_COPIED)
    if len(rest) == _COPIED:
        raise Unreadable(_TOO_LARGE)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(head[:18] + b"\1\1" + head[20:] + rest)
    return connection


def _allow(action: int, first: str | None, second: str | None, *_: Any) -> int:
    """Authorize reads only (SQLite authorizer callback)."""
    if action == sqlite3.SQLITE_PRAGMA:
        allowed = first in _PRAGMAS
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = second not in _REFUSED
    elif action == sqlite3.SQLITE_UPDATE:  # sqlite3_declare_vtab, which writes nothing
        allowed = first == "sqlite_master"
    else:
        allowed = action in _ALLOWED
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


class _Clock:
    """Time limit that interrupts a connection; another limit may follow it."""

    def __init__(
        self, connection: sqlite3.Connection, seconds: float, afterwards: float = 0
    ) -> None:
        self._connection, self._seconds, self._afterwards = connection, seconds, afterwards
        self._timer = threading.Timer(seconds, connection.interrupt)  # COUNT is one opcode
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._within(self._seconds)
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._within(self._afterwards)

    def _within(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        late: Callable[[], int] = lambda: time.monotonic() > end  # noqa: E731
        self._connection.set_progress_handler(late if seconds else None, _OPCODES)


def _about(connection: sqlite3.Connection, tables: list[Table], head: bytes) -> dict[str, Any]:
    notes = []
    if head[18] == _WAL or head[19] == _WAL:
        notes.append(
            "It keeps a write-ahead log beside it, which is not read:"
            " the newest rows may be missing."
        )
    end = time.monotonic() + COUNTING
    described = []
    for table in tables:
        rows = _count(connection, table, end - time.monotonic()) if table.kind == "table" else None
        described.append({**table.described(), "rows": rows})
    if not tables:
        notes.append(_NOTHING)
    return {"tables": described, "notes": notes}


def _count(connection: sqlite3.Connection, table: Table, seconds: float) -> list[Any] | None:
    """Return ``[rows, whether there are more]``; None if the time limit is reached."""
    if seconds <= 0:
        return _least(connection, table)
    try:
        with _Clock(connection, seconds, SECONDS):
            found = connection.execute(f"SELECT count(*) FROM {quoted(table.name)}").fetchone()
            return [found[0], False]
    except sqlite3.DatabaseError:
        return _least(connection, table)


def _least(connection: sqlite3.Connection, table: Table) -> list[Any] | None:
    """Return the highest row id as an estimate if counting takes too long."""
    if not table.numbered:
        return None
    try:
        with _Clock(connection, SECONDS, SECONDS):
            last = connection.execute(f"SELECT max(rowid) FROM {quoted(table.name)}").fetchone()
    except sqlite3.DatabaseError:
        return None
    return [last[0], True] if last and isinstance(last[0], int) and last[0] > 0 else None


def _counted(about: dict[str, Any], name: str) -> list[Any] | None:
    return next((each["rows"] for each in about.get("tables", ()) if each["name"] == name), None)


def _grid(
    connection: sqlite3.Connection, table: Table, ask: Ask, counted: list[Any] | None = None
) -> Grid:
    """Load the first rows of a table; for a copy, its columns are not truncated."""
    columns = table.columns[:COLUMNS]
    left, right = copied(ask)
    chosen = ", ".join(
        quoted(c.name) if left <= at <= right else _brief(quoted(c.name))
        for at, c in enumerate(columns)
    )
    query = f"SELECT {chosen or 'NULL'} FROM {quoted(table.name)} LIMIT ?"
    rows = connection.execute(query, (needed(ask),)).fetchall()
    if right < 0:
        rows = [tuple(map(_Blob.of, row)) for row in rows]
    if counted is None and "start" not in ask.options:
        counted = _count(connection, table, COUNTING)
    held = _held(connection, table, len(rows), needed(ask))
    total, more = counted or (held, held == ROWS)
    return Grid(
        names=[c.name for c in columns],
        rows=rows,
        form=table.kind,
        total=max(total, held),
        about=more,
        columns=len(table.columns),
        types=[c.declared for c in columns],
        most=held,
    )


def _held(connection: sqlite3.Connection, table: Table, read: int, wanted: int) -> int:
    """Return how many rows can be shown."""
    if read < wanted or read == ROWS:
        return read
    some = f"SELECT count(*) FROM (SELECT 1 FROM {quoted(table.name)} LIMIT {ROWS})"
    (found,) = connection.execute(some).fetchone()
    return int(found)


def _cell(connection: sqlite3.Connection, table: Table, ask: Ask) -> dict[str, Any]:
    """Return one untruncated cell, selected by its row's position in the table."""
    options = {key: value for key, value in ask.options.items() if key == "sort" or key == "down"}
    row, column = placed(ask)
    if options:
        every = Ask(ask.name, ask.size, {**options, "start": str(row)})
        shown = answer(_grid(connection, table, every), every)["rows"]
        row = shown[0][0] - 1 if shown else row
    if column >= len(table.columns):
        raise Unreadable("This cell is not there any more.")
    name = quoted(table.columns[column].name)
    query = f"SELECT {name} FROM {quoted(table.name)} LIMIT 1 OFFSET ?"
    found = connection.execute(query, (row,)).fetchall()
    grid = Grid(names=[""], rows=[tuple(row) for row in found])
    return answer(grid, Ask(ask.name, ask.size, {"cell": "0,0"}))


def _brief(name: str) -> str:
    """Return the SQL for a grid value: the start of a text, the size of a blob."""
    return (
        f"CASE typeof({name}) WHEN 'blob' THEN CAST(length({name}) AS BLOB)"
        f" WHEN 'text' THEN substr({name}, 1, {CELL + 1}) ELSE {name} END"
    )


class _Blob(bytes):
    """A blob of which only the size was read."""

    size = 0

    @classmethod
    def of(cls, value: Any) -> Any:
        if not isinstance(value, bytes):
            return value
        blob = cls()
        blob.size = int(value)
        return blob

    def __len__(self) -> int:
        return self.size


def _sentence(error: sqlite3.DatabaseError) -> str:
    text = str(error)
    if "interrupted" in text:
        return f"Its rows take longer than {SECONDS:.0f} seconds to be found."
    if "not a database" in text:
        return "This is no SQLite database, or it is encrypted."
    if "prohibited" in text or "not authorized" in text or "unsafe use" in text:
        return "This asks for more than reading, and is not run."
    return f"This database cannot be read: {text[:200]}."
