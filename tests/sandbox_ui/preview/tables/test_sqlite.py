"""The SQLite preview: read-only, bounded, and without running code of the database."""

import io
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.tables import sqlite, sqlite_wal
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import preview_data, process_bytes_read

NO_TABLES = "This database has no tables."
HOSTILE = "<img src=x onerror=window.hacked=1>"
ENDLESS_QUERY = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT sum(n) AS s FROM r"
)


def make_database(script: str) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        return connection.serialize()


def sqlite_data(database: bytes, **options: str) -> dict[str, Any]:
    return preview_data(sqlite.view, database, **options)


def mark_as_wal(database: bytes) -> bytes:
    """Mark the database header as using a write-ahead log."""
    return database[:18] + b"\2\2" + database[20:]


def numbered_rows(rows: int) -> str:
    return f"""CREATE TABLE t(n INTEGER PRIMARY KEY, s TEXT);
        WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {rows})
        INSERT INTO t SELECT n, 'row ' || n FROM r;"""


def test_tables_are_listed_with_columns_and_rows() -> None:
    database = make_database(
        """CREATE TABLE a(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE b(a INTEGER REFERENCES a(id), twice AS (a * 2));
        CREATE VIEW v AS SELECT name FROM a;
        INSERT INTO a VALUES (1, 'x'), (2, '');"""
    )
    data = sqlite_data(database)
    named = {table.pop("name"): table for table in data["tables"]}
    assert named["a"].items() >= {"kind": "table", "rows": [2, False]}.items()
    assert named["b"].items() >= {"kind": "table", "rows": [0, False]}.items()
    assert named["v"].items() >= {"kind": "view", "rows": None}.items()
    assert named["a"]["columns"] == [["id", "INTEGER", ["key"]], ["name", "TEXT", ["not null"]]]
    assert named["b"]["columns"] == [["a", "INTEGER", ["→ a.id"]], ["twice", "", ["generated"]]]
    assert (data["table"], data["rows"]) == ("a", [[1, 1, "x"], [2, 2, ""]])
    assert sqlite_data(database, table="v")["rows"] == [[1, "x"], [2, ""]]


def test_values_keep_their_types_and_a_long_one_can_be_requested_completely() -> None:
    database = make_database(
        """CREATE TABLE t(v, w);
        INSERT INTO t VALUES (x'00ff', printf('%5000s', 'end')), (NULL, ''), (1.5, 'é');"""
    )
    first, *others = sqlite_data(database)["rows"]
    assert (first[1], first[2]["text"]) == ({"blob": 2}, " " * 300)
    assert others == [[2, None, ""], [3, 1.5, "é"]]
    assert sqlite_data(database, table="t", cell="0,0")["text"] == "00 ff"
    assert sqlite_data(database, table="t", cell="0,1")["text"] == "end".rjust(5000)
    assert sqlite_data(database, table="t", area="0,1,0,1")["text"] == "end".rjust(5000)


def test_the_first_5000_rows_are_paged_and_sorted() -> None:
    database = make_database(numbered_rows(6000))
    data = sqlite_data(database)
    assert (data["total"], data["displayed_rows"], len(data["rows"])) == (6000, 5000, 500)
    assert not data["total_is_estimate"]
    last = [5000, 5000, "row 5000"]
    assert sqlite_data(database, table="t", start="4999")["rows"] == [last]
    assert sqlite_data(database, table="t", start="5000")["rows"] == []
    descending = {"table": "t", "sort": "0", "descending": "1"}
    assert sqlite_data(database, start="0", **descending)["rows"][0] == last
    assert sqlite_data(database, cell="0,1", **descending)["text"] == "row 5000"


def test_a_slow_row_count_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    database = make_database(numbered_rows(300_000))
    monkeypatch.setattr(sqlite, "COUNT_TIMEOUT_SECONDS", 0.0)
    table = sqlite_data(database)["tables"][0]
    assert table["rows"] == [300_000, True]
    assert sqlite_data(database, table="t", count="1")["rows"] == [300_000, False]


def test_a_huge_database_is_read_only_partially() -> None:
    database = make_database(
        "CREATE TABLE t(n, b);"
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 200)"
        "INSERT INTO t SELECT n, zeroblob(1000000) FROM r;"
    )
    before = process_bytes_read()
    assert len(sqlite_data(database)["rows"]) == 200
    assert process_bytes_read() - before < 20_000_000 < len(database)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (ENDLESS_QUERY, "longer than"),
        ("SELECT load_extension('/tmp/x')", "more than read"),
        ("SELECT writefile('/tmp/x', 'y')", "cannot be read|more than read"),
        ("SELECT * FROM pragma_database_list", "more than read"),
        ("SELECT missing FROM nowhere", "cannot be read"),
    ],
)
def test_a_hostile_view_is_not_run(
    monkeypatch: pytest.MonkeyPatch, view: str, message: str
) -> None:
    database = make_database(f"CREATE VIEW v AS {view};")
    monkeypatch.setattr(sqlite, "READ_TIMEOUT_SECONDS", 0.2)
    data = sqlite_data(database)
    assert ([each["name"] for each in data["tables"]], data["table"]) == (["v"], "v")
    with pytest.raises(PreviewError, match=message):
        sqlite_data(database, table="v")


def test_the_database_is_opened_read_only(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(make_database(numbered_rows(10)))
    with path.open("rb") as file:
        connection = sqlite.open_read_only(file)
        for change in ("DELETE FROM t", "CREATE TABLE u(x)", "PRAGMA query_only=OFF", "VACUUM"):
            with pytest.raises(sqlite3.DatabaseError):
                connection.execute(change)
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute("ATTACH '/etc/hostname' AS other")


def test_a_closed_database_is_complete_and_a_file_without_a_path_copied() -> None:
    database = mark_as_wal(make_database(numbered_rows(1)))
    assert sqlite_data(database)["notes"] == []
    answer = sqlite.view(io.BytesIO(database), PreviewRequest("t.db", 0))
    assert isinstance(answer, dict)
    assert answer["total"] == 1


@pytest.fixture
def open_database(tmp_path: Path) -> Iterator[tuple[bytes, bytes]]:
    """A database that a program has open, and its write-ahead log, to which it wrote two rows."""
    path = tmp_path / "open.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=wal")
        connection.execute("CREATE TABLE t(n)")
        for row in ("one", "two"):
            connection.execute("INSERT INTO t VALUES (?)", (row,))
        yield path.read_bytes(), (tmp_path / "open.db-wal").read_bytes()


def rows_with_log(database: bytes, log: bytes | bytearray) -> Any:
    request = PreviewRequest("t.db", len(database), {}, io.BytesIO(log))
    answer = sqlite.view(io.BytesIO(database), request)
    assert isinstance(answer, dict)
    return answer.get("rows", answer["notes"])


def test_committed_pages_of_the_write_ahead_log_are_read(
    open_database: tuple[bytes, bytes],
) -> None:
    database, log = open_database
    written = bytearray(log)
    written[-5] ^= 1
    stale = bytearray(log)
    stale[16] ^= 1
    assert rows_with_log(database, log) == [[1, "one"], [2, "two"]]
    assert rows_with_log(b"", log) == rows_with_log(database, log)
    assert rows_with_log(database, log[:-5]) == rows_with_log(database, written) == [[1, "one"]]
    assert rows_with_log(database, stale) == rows_with_log(database, b"") == [NO_TABLES]


def test_a_database_whose_content_is_in_a_missing_log_says_so(
    open_database: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    database, log = open_database
    assert "ends in -wal" in sqlite_data(database)["notes"][0]
    monkeypatch.setattr(sqlite_wal, "MAX_LOG_BYTES", 100)
    assert "too large to read both" in rows_with_log(database, log)[0]


def test_full_text_tables_are_read_and_names_containing_sql_quoted() -> None:
    database = make_database(
        "CREATE VIRTUAL TABLE d USING fts5(title); INSERT INTO d VALUES ('Hello');"
        'CREATE TABLE "a""; DROP TABLE d; --"("x"" y" INT);'
        'INSERT INTO "a""; DROP TABLE d; --" VALUES (7);'
    )
    quoted, full_text = sqlite_data(database), sqlite_data(database, table="d")
    assert [each["name"] for each in quoted["tables"]] == ['a"; DROP TABLE d; --', "d"]
    assert (quoted["names"], quoted["rows"]) == (['x" y'], [[1, 7]])
    assert full_text["rows"] == [[1, "Hello"]]


def test_damaged_pages_are_reported() -> None:
    database = make_database(numbered_rows(20_000))
    damaged = database[: 4096 * 3] + b"\xff" * (len(database) - 4096 * 3)
    assert "cannot be read" in sqlite_data(damaged)["error"]
    with pytest.raises(PreviewError, match="cannot be read"):
        sqlite_data(damaged[:5000])


def test_tables_are_selected_and_an_endless_view_does_not_block_the_page(
    viewer: FileViewer,
) -> None:
    script = f"""{numbered_rows(6000)} CREATE TABLE "{HOSTILE}"(a, b TEXT);
        INSERT INTO "{HOSTILE}" VALUES (NULL, '{HOSTILE}'); CREATE VIEW v AS {ENDLESS_QUERY};"""
    canvas = viewer.view("t.db", make_database(script))
    canvas.get_by_role("tab", name="v view").click()
    canvas.get_by_role("tab", name="t 6k").click()
    expect(canvas).to_contain_text("6,000 rows × 2 columns; first 5,000 shown")
    canvas.get_by_role("tab", name=HOSTILE).click()
    expect(canvas.get_by_role("gridcell", name="NULL")).to_be_visible()
    expect(canvas.get_by_role("gridcell", name=HOSTILE)).to_be_visible()
    canvas.get_by_text("Schema").click()
    expect(canvas.locator(".schema pre")).to_contain_text("CREATE TABLE")
    changed = f"""{script} INSERT INTO "{HOSTILE}" VALUES (77, '');"""
    viewer.write("t.db", make_database(changed))  # the selected table stays
    expect(canvas.get_by_role("gridcell", name="77")).to_be_visible(timeout=30_000)
