"""SQLite databases, opened read-only: the list of tables and their first rows."""

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from sandbox_ui.preview.base import Preview, PreviewError, PreviewRequest
from sandbox_ui.preview.tables import sqlite_schema
from sandbox_ui.preview.tables.grid import (
    MAX_CELL_LENGTH,
    MAX_COLUMNS,
    MAX_ROWS,
    Grid,
    copied_columns,
    grid_response,
    requested_cell,
    rows_needed,
)
from sandbox_ui.preview.tables.sqlite_schema import SchemaTable, quote_identifier
from sandbox_ui.preview.tables.sqlite_wal import WriteAheadLog

READ_TIMEOUT_SECONDS = 5.0
COUNT_TIMEOUT_SECONDS = 0.12  # in the first request
LONG_COUNT_TIMEOUT_SECONDS = 6.0  # on request
_OPCODES_PER_CHECK = 5000
_MAX_VALUE_BYTES = 64 * 1024**2
_MAX_COPY_BYTES = 512 * 1024**2
_ALLOWED_ACTIONS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_FUNCTION}
)
_PRAGMAS = ("table_xinfo", "table_list", "index_list", "foreign_key_list", "data_version")
_FORBIDDEN_FUNCTIONS = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}
)
_WAL = b"\2\2"
_NO_LOG = b"\1\1"
_TOO_LARGE = (
    "This database is larger than 512 MB, too large for this studio to read. Download it, or ask "
    "the model for what is in it."
)
_NO_TABLES = "This database has no tables."
_LOG_MISSING = (
    f"{_NO_TABLES} A program may still have it open: then its content is in the file next to it "
    "whose name ends in -wal, which belongs to it."
)
_LOG_UNREAD = (
    "The database or its write-ahead log is too large to read both: the newest rows may be missing."
)


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return rows of a ``table``, at first with a list of all; ``count`` returns their number."""
    head = file.read(100)
    log = request.second_file
    if not head and log is None:
        return {"tables": [], "notes": ["This file is empty (a database without tables)."]}
    if head and not head.startswith(b"SQLite format 3\0"):
        raise PreviewError("This is not an SQLite database, or it is encrypted.")
    notes: list[str] = []
    try:
        connection = _open_with_log(file, log, notes) if log else open_read_only(file)
        with _TimeLimit(connection, READ_TIMEOUT_SECONDS):
            tables = sqlite_schema.list_tables(connection)
        if not tables:
            notes.append(_LOG_MISSING if head[18:20] == _WAL and not log else _NO_TABLES)
        return _respond(connection, tables, request, notes)
    except sqlite3.DatabaseError as error:
        raise PreviewError(_error_message(error)) from None


def _respond(
    connection: sqlite3.Connection,
    tables: list[SchemaTable],
    request: PreviewRequest,
    notes: list[str],
) -> dict[str, Any]:
    name = request.options.get("table")
    chosen = next((each for each in tables if each.name == name), None) or _default_table(tables)
    if "count" in request.options and chosen:
        return {"rows": _count_rows(connection, chosen, LONG_COUNT_TIMEOUT_SECONDS)}
    overview = {} if name is not None else _describe_tables(connection, tables, notes)
    if chosen is None:
        return overview
    try:
        with _TimeLimit(connection, READ_TIMEOUT_SECONDS):
            if "cell" in request.options:
                return _cell(connection, chosen, request)
            grid = _grid(connection, chosen, request, _known_count(overview, chosen.name))
    except sqlite3.DatabaseError as error:
        if name is not None:
            raise
        return {**overview, "table": chosen.name, "error": _error_message(error)}
    return {**grid_response(grid, request), "table": chosen.name, **overview}


def _default_table(tables: list[SchemaTable]) -> SchemaTable | None:
    return next((each for each in tables if each.kind == "table"), tables[0] if tables else None)


def open_read_only(file: BinaryIO) -> sqlite3.Connection:
    """Open a read-only connection that can access this database only."""
    try:
        address = f"file:/proc/self/fd/{file.fileno()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
    except (sqlite3.OperationalError, OSError):  # no permission, or not a regular file
        connection = _open_copy(_read_copy(file))
    return _restrict(connection)


def _open_with_log(file: BinaryIO, log_file: BinaryIO, notes: list[str]) -> sqlite3.Connection:
    """Open a copy of a database with the pages of its write-ahead log, or note that it cannot."""
    try:
        log = WriteAheadLog.read(log_file)
        if not log.pages:
            return open_read_only(file)
        content = _read_copy(file)
    except (OverflowError, PreviewError):
        notes.append(_LOG_UNREAD)
        return open_read_only(file)
    log.apply(content)
    return _restrict(_open_copy(content))


def _restrict(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Restrict a connection to reading its database."""
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    connection.set_authorizer(_authorize)
    return connection


def _read_copy(file: BinaryIO) -> bytearray:
    file.seek(0)
    content = bytearray(file.read(_MAX_COPY_BYTES))
    if len(content) == _MAX_COPY_BYTES:
        raise PreviewError(_TOO_LARGE)
    return content


def _open_copy(content: bytearray) -> sqlite3.Connection:
    content[18:20] = _NO_LOG
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(content)
    return connection


def _authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
    """Authorize reads only (SQLite authorizer callback)."""
    if action == sqlite3.SQLITE_PRAGMA:
        allowed = first in _PRAGMAS
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = second not in _FORBIDDEN_FUNCTIONS
    elif action == sqlite3.SQLITE_UPDATE:  # sqlite3_declare_vtab, which writes nothing
        allowed = first == "sqlite_master"
    else:
        allowed = action in _ALLOWED_ACTIONS
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


class _TimeLimit:
    """Time limit that interrupts a connection; another limit may follow it."""

    def __init__(
        self, connection: sqlite3.Connection, seconds: float, afterwards: float = 0
    ) -> None:
        self._connection, self._seconds, self._afterwards = connection, seconds, afterwards
        self._timer = threading.Timer(seconds, connection.interrupt)  # COUNT is one opcode
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._set_deadline(self._seconds)
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._set_deadline(self._afterwards)

    def _set_deadline(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        late: Callable[[], int] = lambda: time.monotonic() > end  # noqa: E731
        self._connection.set_progress_handler(late if seconds else None, _OPCODES_PER_CHECK)


def _describe_tables(
    connection: sqlite3.Connection, tables: list[SchemaTable], notes: list[str]
) -> dict[str, Any]:
    end = time.monotonic() + COUNT_TIMEOUT_SECONDS
    described = []
    for table in tables:
        left = end - time.monotonic()
        rows = _count_rows(connection, table, left) if table.kind == "table" else None
        described.append({**table.describe(), "rows": rows})
    return {"tables": described, "notes": notes}


def _count_rows(
    connection: sqlite3.Connection, table: SchemaTable, seconds: float
) -> list[Any] | None:
    """Return ``[rows, whether the number is an estimate]``; None if the time limit is reached."""
    if seconds <= 0:
        return _estimate_rows(connection, table)
    try:
        with _TimeLimit(connection, seconds, READ_TIMEOUT_SECONDS):
            return [_first_value(connection, f"SELECT count(*) FROM {table.quoted}"), False]
    except sqlite3.DatabaseError:
        return _estimate_rows(connection, table)


def _estimate_rows(connection: sqlite3.Connection, table: SchemaTable) -> list[Any] | None:
    """Return the highest row id as an estimate if counting takes too long."""
    if not table.has_rowid:
        return None
    try:
        with _TimeLimit(connection, READ_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS):
            last = _first_value(connection, f"SELECT max(rowid) FROM {table.quoted}")
    except sqlite3.DatabaseError:
        return None
    return [last, True] if isinstance(last, int) and last > 0 else None


def _first_value(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(query).fetchone()[0]


def _known_count(overview: dict[str, Any], name: str) -> list[Any] | None:
    return next((each["rows"] for each in overview.get("tables", ()) if each["name"] == name), None)


def _grid(
    connection: sqlite3.Connection,
    table: SchemaTable,
    request: PreviewRequest,
    counted: list[Any] | None = None,
) -> Grid:
    """Load the first rows of a table; for a copy, its columns are not truncated."""
    columns = table.columns[:MAX_COLUMNS]
    left, right = copied_columns(request)
    names = [quote_identifier(column.name) for column in columns]
    selected = ", ".join(
        name if left <= at <= right else _truncated_value_sql(name) for at, name in enumerate(names)
    )
    query = f"SELECT {selected or 'NULL'} FROM {table.quoted} LIMIT ?"
    rows = connection.execute(query, (rows_needed(request),)).fetchall()
    if right < 0:
        rows = [tuple(map(_BlobSize.from_value, row)) for row in rows]
    if counted is None and "start" not in request.options:
        counted = _count_rows(connection, table, COUNT_TIMEOUT_SECONDS)
    displayable = _count_displayable(connection, table, len(rows), rows_needed(request))
    total, estimated = counted or (displayable, displayable == MAX_ROWS)
    return Grid(
        names=[c.name for c in columns],
        rows=rows,
        format_name=table.kind,
        total=max(total, displayable),
        total_is_estimate=estimated,
        column_count=len(table.columns),
        column_types=[c.declared_type for c in columns],
        max_rows=displayable,
    )


def _count_displayable(
    connection: sqlite3.Connection, table: SchemaTable, read: int, wanted: int
) -> int:
    """Return how many rows can be shown."""
    if read < wanted or read == MAX_ROWS:
        return read
    query = f"SELECT count(*) FROM (SELECT 1 FROM {table.quoted} LIMIT {MAX_ROWS})"
    return int(_first_value(connection, query))


def _cell(
    connection: sqlite3.Connection, table: SchemaTable, request: PreviewRequest
) -> dict[str, Any]:
    """Return one untruncated cell, selected by its row's position in the table."""
    options = {
        key: value for key, value in request.options.items() if key in ("sort", "descending")
    }
    row, column = requested_cell(request)
    if options:
        row_request = PreviewRequest(request.name, request.size, {**options, "start": str(row)})
        shown = grid_response(_grid(connection, table, row_request), row_request)["rows"]
        row = shown[0][0] - 1 if shown else row
    if column >= len(table.columns):
        raise PreviewError("This cell no longer exists.")
    name = quote_identifier(table.columns[column].name)
    query = f"SELECT {name} FROM {table.quoted} LIMIT 1 OFFSET ?"
    found = connection.execute(query, (row,)).fetchall()
    grid = Grid(names=[""], rows=[tuple(row) for row in found])
    return grid_response(grid, PreviewRequest(request.name, request.size, {"cell": "0,0"}))


def _truncated_value_sql(name: str) -> str:
    """Return the SQL for a grid value: the start of a text, the size of a blob."""
    return (
        f"CASE typeof({name}) WHEN 'blob' THEN CAST(length({name}) AS BLOB)"
        f" WHEN 'text' THEN substr({name}, 1, {MAX_CELL_LENGTH + 1}) ELSE {name} END"
    )


class _BlobSize(bytes):
    """A blob of which only the size was read."""

    size = 0

    @classmethod
    def from_value(cls, value: Any) -> Any:
        if not isinstance(value, bytes):
            return value
        blob = cls()
        blob.size = int(value)
        return blob

    def __len__(self) -> int:
        return self.size


def _error_message(error: sqlite3.DatabaseError) -> str:
    text = str(error)
    if "interrupted" in text:
        return f"Reading the rows takes longer than {READ_TIMEOUT_SECONDS:.0f} seconds."
    if "not a database" in text:
        return "This is not an SQLite database, or it is encrypted."
    if "prohibited" in text or "not authorized" in text or "unsafe use" in text:
        return "This query does more than read and was not executed."
    return f"This database cannot be read: {text[:200]}."
