"""The SQLite preview: read-only, bounded, and without running code of the database."""

import io
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.base import JsonPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.tables import sqlite
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import preview_data, process_bytes_read

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
    assert [(t["name"], t["kind"], t["rows"]) for t in data["tables"]] == [
        ("a", "table", [2, False]),
        ("b", "table", [0, False]),
        ("v", "view", None),
    ]
    assert data["tables"][0]["columns"] == [
        ["id", "INTEGER", ["key"]],
        ["name", "TEXT", ["not null"]],
    ]
    assert data["tables"][1]["columns"] == [
        ["a", "INTEGER", ["→ a.id"]],
        ["twice", "", ["generated"]],
    ]
    assert (data["table"], data["rows"]) == ("a", [[1, 1, "x"], [2, 2, ""]])
    assert sqlite_data(database, table="v")["rows"] == [[1, "x"], [2, ""]]


def test_values_keep_their_types() -> None:
    database = make_database(
        "CREATE TABLE t(v); INSERT INTO t VALUES (NULL), (''), (1.5), (x'00ff'), ('é');"
    )
    assert [row[1] for row in sqlite_data(database)["rows"]] == [None, "", 1.5, {"blob": 2}, "é"]


def test_a_long_value_can_be_requested_completely() -> None:
    database = make_database(
        "CREATE TABLE t(v, w); INSERT INTO t VALUES (x'00ff', printf('%5000s', 'end'));"
    )
    assert sqlite_data(database)["rows"][0][2]["text"] == " " * 300
    assert sqlite_data(database, table="t", cell="0,0")["text"] == "00 ff"
    assert sqlite_data(database, table="t", cell="0,1")["text"] == "end".rjust(5000)
    assert sqlite_data(database, table="t", area="0,1,0,1")["text"] == "end".rjust(5000)


def test_the_first_5000_rows_are_paged_and_sorted() -> None:
    database = make_database(numbered_rows(6000))
    data = sqlite_data(database)
    assert (
        data["total"],
        data["displayed_rows"],
        data["total_is_estimate"],
        len(data["rows"]),
    ) == (
        6000,
        5000,
        False,
        500,
    )
    assert sqlite_data(database, table="t", start="4999")["rows"] == [[5000, 5000, "row 5000"]]
    assert sqlite_data(database, table="t", start="5000")["rows"] == []
    last = sqlite_data(database, table="t", start="0", sort="0", descending="1")["rows"][0]
    assert last == [5000, 5000, "row 5000"]
    assert (
        sqlite_data(database, table="t", cell="0,1", sort="0", descending="1")["text"] == "row 5000"
    )


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
    assert [each["name"] for each in data["tables"]] == ["v"]
    assert data["table"] == "v"
    with pytest.raises(PreviewError, match=message):
        sqlite_data(database, table="v")


def test_the_database_is_opened_read_only(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(make_database(numbered_rows(10)))
    with path.open("rb") as file:
        connection = sqlite.open_read_only(file, path.read_bytes()[:100])
        for change in ("DELETE FROM t", "CREATE TABLE u(x)", "PRAGMA query_only=OFF", "VACUUM"):
            with pytest.raises(sqlite3.DatabaseError):
                connection.execute(change)
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute("ATTACH '/etc/hostname' AS other")


def test_a_missing_write_ahead_log_is_reported() -> None:
    database = mark_as_wal(make_database("CREATE TABLE t(x); INSERT INTO t VALUES (1);"))
    data = sqlite_data(database)
    assert "write-ahead log" in data["notes"][0]
    assert data["rows"] == [[1, 1]]


def test_full_text_tables_are_read() -> None:
    database = make_database(
        "CREATE VIRTUAL TABLE d USING fts5(title); INSERT INTO d VALUES ('Hello');"
    )
    assert [each["name"] for each in sqlite_data(database)["tables"]] == ["d"]
    assert sqlite_data(database)["rows"] == [[1, "Hello"]]


def test_a_file_without_a_path_is_copied() -> None:
    content = io.BytesIO(mark_as_wal(make_database(numbered_rows(3))))
    answer = sqlite.view(content, PreviewRequest("t.db", 0))
    assert isinstance(answer, JsonPreview)
    assert answer.data["total"] == 3


def test_names_containing_sql_are_quoted() -> None:
    database = make_database(
        'CREATE TABLE "a""; DROP TABLE b; --"("x"" y" INT); CREATE TABLE b(z);'
        'INSERT INTO "a""; DROP TABLE b; --" VALUES (7);'
    )
    data = sqlite_data(database)
    assert data["rows"] == [[1, 7]]
    assert data["names"] == ['x" y']


def test_damaged_pages_are_reported() -> None:
    database = make_database(numbered_rows(20_000))
    damaged = database[: 4096 * 3] + b"\xff" * (len(database) - 4096 * 3)
    assert "cannot be read" in sqlite_data(damaged)["error"]
    with pytest.raises(PreviewError, match="cannot be read"):
        sqlite_data(damaged[:5000])


def test_tables_are_selected_and_their_schema_is_shown(viewer: FileViewer) -> None:
    script = f"""{numbered_rows(6000)} CREATE TABLE "{HOSTILE}"(a, b TEXT);
        INSERT INTO "{HOSTILE}" VALUES (NULL, '{HOSTILE}');"""
    canvas = viewer.view("t.db", make_database(script))
    canvas.get_by_role("tab", name="t 6k").click()
    expect(canvas).to_contain_text("6,000 rows × 2 columns; first 5,000 shown")
    canvas.get_by_role("tab", name=HOSTILE).click()
    expect(canvas.get_by_role("gridcell", name="NULL")).to_be_visible()
    expect(canvas.get_by_role("gridcell", name=HOSTILE)).to_be_visible()
    canvas.get_by_text("Schema").click()
    expect(canvas.locator(".schema pre")).to_contain_text("CREATE TABLE")


def test_an_endless_view_does_not_block_the_page(viewer: FileViewer) -> None:
    database = make_database(
        f"CREATE TABLE t(x); INSERT INTO t VALUES (42); CREATE VIEW v AS {ENDLESS_QUERY};"
    )
    canvas = viewer.view("t.db", database)
    canvas.get_by_role("tab", name="v view").click()
    canvas.get_by_role("tab", name="t 1").click()
    expect(canvas.get_by_role("gridcell", name="42")).to_be_visible()


def test_a_changed_database_keeps_the_selected_table(viewer: FileViewer) -> None:
    script = "CREATE TABLE a(x); CREATE TABLE b(y); INSERT INTO b VALUES (1);"
    canvas = viewer.view("t.db", make_database(script))
    canvas.get_by_role("tab", name="b").click()
    expect(canvas.get_by_role("gridcell", name="1", exact=True)).to_be_visible()
    viewer.write("t.db", make_database(f"{script} INSERT INTO b VALUES (77);"))
    expect(canvas.get_by_role("gridcell", name="77")).to_be_visible(timeout=30_000)
