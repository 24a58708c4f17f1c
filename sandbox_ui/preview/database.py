"""SQLite databases, opened for reading only: what tables there are, and their first rows."""

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from sandbox_ui.preview import schema
from sandbox_ui.preview.base import Ask, Unreadable, View
from sandbox_ui.preview.grid import CELL, COLUMNS, ROWS, Grid, answer, copied, needed, placed
from sandbox_ui.preview.schema import Table, quoted

SECONDS = 5.0
"""Seconds that the rows of a table or a view may take."""

COUNTING = 0.12
"""Seconds that counting a table's rows may take at the first look."""

COUNTING_LONG = 6.0
"""Seconds that it may take when it is asked for."""

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
    """One table's rows (see ``grid.answer``), and with the first look all tables.

    ``table`` is a table's name; ``count`` asks for its rows, with more time.

    Raises:
        Unreadable: it is no database, or it is broken or encrypted.
    """
    head = file.read(100)
    if not head:
        return View({"tables": [], "notes": ["This file is empty: a database without tables."]})
    if not head.startswith(b"SQLite format 3\0"):
        raise Unreadable("This is no SQLite database, or it is encrypted.")
    try:
        connection = connected(file, head)
        with _Clock(connection, SECONDS):
            tables = schema.tables_of(connection)
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
    """A connection that can only read, and only this database.

    Args:
        file: The database.
        head: Its first 100 bytes.

    Raises:
        Unreadable: it cannot be opened where it is, and it is too large to be copied. So it is
            for whoever looks at files as nobody: SQLite opens by name, and no folder on the way
            is theirs.
    """
    try:
        address = f"file:/proc/self/fd/{file.fileno()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
    except (sqlite3.OperationalError, OSError):  # only its owner may open it, or it is no file
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
    """Reading is allowed, and nothing else."""
    if action == sqlite3.SQLITE_PRAGMA:
        allowed = first in _PRAGMAS
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = second not in _REFUSED
    elif action == sqlite3.SQLITE_UPDATE:  # what a virtual table says of its columns, unwritten
        allowed = first == "sqlite_master"
    else:
        allowed = action in _ALLOWED
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


class _Clock:
    """Interrupts what a connection does after some seconds; afterwards there may be others."""

    def __init__(
        self, connection: sqlite3.Connection, seconds: float, afterwards: float = 0
    ) -> None:
        self._connection, self._seconds, self._afterwards = connection, seconds, afterwards
        self._timer = threading.Timer(seconds, connection.interrupt)  # counting has no steps
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
    """``[rows, whether there are more]``; None where it cannot be told in time."""
    if seconds <= 0:
        return _least(connection, table)
    try:
        with _Clock(connection, seconds, SECONDS):
            found = connection.execute(f"SELECT count(*) FROM {quoted(table.name)}").fetchone()
            return [found[0], False]
    except sqlite3.DatabaseError:
        return _least(connection, table)


def _least(connection: sqlite3.Connection, table: Table) -> list[Any] | None:
    """What the numbers of the rows say where counting them takes too long."""
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
    """The beginning of a table; where it is copied, the columns asked for are whole."""
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
    """How many rows can be looked at."""
    if read < wanted or read == ROWS:
        return read
    some = f"SELECT count(*) FROM (SELECT 1 FROM {quoted(table.name)} LIMIT {ROWS})"
    (found,) = connection.execute(some).fetchone()
    return int(found)


def _cell(connection: sqlite3.Connection, table: Table, ask: Ask) -> dict[str, Any]:
    """One cell whole: found by its row's place in the table, read alone."""
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
    """What is read of a value for the grid: a text's beginning, a blob's size."""
    return (
        f"CASE typeof({name}) WHEN 'blob' THEN CAST(length({name}) AS BLOB)"
        f" WHEN 'text' THEN substr({name}, 1, {CELL + 1}) ELSE {name} END"
    )


class _Blob(bytes):
    """Bytes of which only the size was read."""

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
