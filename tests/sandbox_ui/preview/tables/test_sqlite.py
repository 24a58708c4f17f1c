"""Databases are looked at without running what they bring along, and never changed."""

import io
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.base import JsonPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.tables import sqlite
from tests.sandbox_ui.preview.file_viewer import FileViewer, data_of

HOSTILE = "<img src=x onerror=window.hacked=1>"
ENDLESS = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT sum(n) AS s FROM r"
)

Make = Callable[[str], Path]


@pytest.fixture
def made(tmp_path: Path) -> Make:
    def make(script: str) -> Path:
        path = tmp_path / "t.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
        return path

    return make


def told(path: Path, **options: str) -> dict[str, Any]:
    return data_of(sqlite.view, path, **options)


def logged(path: Path) -> Path:
    """Say in its head that it keeps a log."""
    content = path.read_bytes()
    path.write_bytes(content[:18] + b"\2\2" + content[20:])
    return path


def numbered(rows: int) -> str:
    return f"""CREATE TABLE t(n INTEGER PRIMARY KEY, s TEXT);
        WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {rows})
        INSERT INTO t SELECT n, 'row ' || n FROM r;"""


def test_tables_with_their_columns_and_rows(made: Make) -> None:
    path = made(
        """CREATE TABLE a(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE b(a INTEGER REFERENCES a(id), twice AS (a * 2));
        CREATE VIEW v AS SELECT name FROM a;
        INSERT INTO a VALUES (1, 'x'), (2, '');"""
    )
    data = told(path)
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
    assert told(path, table="v")["rows"] == [[1, "x"], [2, ""]]


def test_values_keep_what_they_are(made: Make) -> None:
    path = made("CREATE TABLE t(v); INSERT INTO t VALUES (NULL), (''), (1.5), (x'00ff'), ('é');")
    assert [row[1] for row in told(path)["rows"]] == [None, "", 1.5, {"blob": 2}, "é"]


def test_a_blob_and_a_long_text_are_had_whole(made: Make) -> None:
    path = made("CREATE TABLE t(v, w); INSERT INTO t VALUES (x'00ff', printf('%5000s', 'end'));")
    assert told(path)["rows"][0][2]["cut"] == " " * 300
    assert told(path, table="t", cell="0,0")["text"] == "00 ff"
    assert told(path, table="t", cell="0,1")["text"] == "end".rjust(5000)
    assert told(path, table="t", area="0,1,0,1")["text"] == "end".rjust(5000)


def test_the_first_5000_rows_in_pages_and_in_order(made: Make) -> None:
    path = made(numbered(6000))
    data = told(path)
    assert (data["total"], data["held"], data["about"], len(data["rows"])) == (
        6000,
        5000,
        False,
        500,
    )
    assert told(path, table="t", start="4999")["rows"] == [[5000, 5000, "row 5000"]]
    assert told(path, table="t", start="5000")["rows"] == []
    last = told(path, table="t", start="0", sort="0", down="1")["rows"][0]
    assert last == [5000, 5000, "row 5000"]
    assert told(path, table="t", cell="0,1", sort="0", down="1")["text"] == "row 5000"


def test_rows_that_take_too_long_to_count_are_estimated(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(numbered(300_000))
    monkeypatch.setattr(sqlite, "COUNT_TIMEOUT_SECONDS", 0.0)
    table = told(path)["tables"][0]
    assert table["rows"] == [300_000, True]
    assert told(path, table="t", count="1")["rows"] == [300_000, False]


def test_a_huge_database_is_read_by_its_beginning_only(made: Make) -> None:
    path = made(
        "CREATE TABLE t(n, b);"
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 200)"
        "INSERT INTO t SELECT n, zeroblob(1000000) FROM r;"
    )
    before = read_so_far()
    assert len(told(path)["rows"]) == 200
    assert read_so_far() - before < 20_000_000 < path.stat().st_size


def read_so_far() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.parametrize(
    ("view", "says"),
    [
        (ENDLESS, "longer than"),
        ("SELECT load_extension('/tmp/x')", "more than read"),
        ("SELECT writefile('/tmp/x', 'y')", "cannot be read|more than read"),
        ("SELECT * FROM pragma_database_list", "more than read"),
        ("SELECT missing FROM nowhere", "cannot be read"),
    ],
)
def test_a_hostile_view_is_not_run(
    made: Make, monkeypatch: pytest.MonkeyPatch, view: str, says: str
) -> None:
    path = made(f"CREATE VIEW v AS {view};")
    monkeypatch.setattr(sqlite, "READ_TIMEOUT_SECONDS", 0.2)
    data = told(path)
    assert [each["name"] for each in data["tables"]] == ["v"]
    assert data["table"] == "v"
    with pytest.raises(PreviewError, match=says):
        told(path, table="v")


def test_nothing_is_written(made: Make) -> None:
    path = made(numbered(10))
    with path.open("rb") as file:
        connection = sqlite.open_read_only(file, path.read_bytes()[:100])
        for change in ("DELETE FROM t", "CREATE TABLE u(x)", "PRAGMA query_only=OFF", "VACUUM"):
            with pytest.raises(sqlite3.DatabaseError):
                connection.execute(change)
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute("ATTACH '/etc/hostname' AS other")


def test_a_log_beside_it_is_said(made: Make) -> None:
    path = logged(made("CREATE TABLE t(x); INSERT INTO t VALUES (1);"))
    data = told(path)
    assert "write-ahead log" in data["notes"][0]
    assert data["rows"] == [[1, 1]]


def test_full_text_tables_are_read(made: Make) -> None:
    path = made("CREATE VIRTUAL TABLE d USING fts5(title); INSERT INTO d VALUES ('Hello');")
    assert [each["name"] for each in told(path)["tables"]] == ["d"]
    assert told(path)["rows"] == [[1, "Hello"]]


def test_what_cannot_be_opened_once_more_is_copied(made: Make) -> None:
    content = io.BytesIO(logged(made(numbered(3))).read_bytes())
    answer = sqlite.view(content, PreviewRequest("t.db", 0))
    assert isinstance(answer, JsonPreview)
    assert answer.data["total"] == 3


def test_names_that_are_sql_are_only_names(made: Make) -> None:
    path = made(
        'CREATE TABLE "a""; DROP TABLE b; --"("x"" y" INT); CREATE TABLE b(z);'
        'INSERT INTO "a""; DROP TABLE b; --" VALUES (7);'
    )
    data = told(path)
    assert data["rows"] == [[1, 7]]
    assert data["names"] == ['x" y']


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"SQLite format 3\x00" + bytes(200), "cannot be read|not an SQLite database"),
        (b"\x8a\x01" * 3000, "encrypted"),
        (b"no database at all", "not an SQLite database"),
    ],
)
def test_what_is_no_database_says_so(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(content)
    with pytest.raises(PreviewError, match=says):
        told(path)


def test_broken_pages_say_so(made: Make) -> None:
    path = made(numbered(20_000))
    content = bytearray(path.read_bytes())
    content[4096 * 3 :] = b"\xff" * (len(content) - 4096 * 3)
    path.write_bytes(content)
    assert "cannot be read" in told(path)["error"]
    path.write_bytes(content[:5000])
    with pytest.raises(PreviewError, match="cannot be read"):
        told(path)


@pytest.mark.browser
def test_tables_are_turned_to_and_their_schema_unfolded(viewer: FileViewer, made: Make) -> None:
    script = f"""{numbered(6000)} CREATE TABLE "{HOSTILE}"(a, b TEXT);
        INSERT INTO "{HOSTILE}" VALUES (NULL, '{HOSTILE}');"""
    viewer.upload("t.db", made(script).read_bytes())
    viewer.open()
    place = viewer.show("t.db")
    place.get_by_role("tab", name="t 6k").click()
    expect(place).to_contain_text("6,000 rows × 2 columns; first 5,000 shown")
    place.get_by_role("tab", name=HOSTILE).click()
    expect(place.get_by_role("gridcell", name="NULL")).to_be_visible()
    expect(place.get_by_role("gridcell", name=HOSTILE)).to_be_visible()
    place.get_by_text("Schema").click()
    expect(place.locator(".schema pre")).to_contain_text("CREATE TABLE")


@pytest.mark.browser
def test_an_endless_view_does_not_hold_the_page(viewer: FileViewer, made: Make) -> None:
    path = made(f"CREATE TABLE t(x); INSERT INTO t VALUES (42); CREATE VIEW v AS {ENDLESS};")
    viewer.upload("t.db", path.read_bytes())
    viewer.open()
    place = viewer.show("t.db")
    place.get_by_role("tab", name="v view").click()
    place.get_by_role("tab", name="t 1").click()
    expect(place.get_by_role("gridcell", name="42")).to_be_visible()


@pytest.mark.browser
def test_a_change_keeps_the_table(viewer: FileViewer, made: Make) -> None:
    path = made("CREATE TABLE a(x); CREATE TABLE b(y); INSERT INTO b VALUES (1);")
    viewer.upload("t.db", path.read_bytes())
    viewer.open()
    place = viewer.show("t.db")
    place.get_by_role("tab", name="b").click()
    expect(place.get_by_role("gridcell", name="1", exact=True)).to_be_visible()
    viewer.replace("t.db", made("INSERT INTO b VALUES (77);").read_bytes())
    expect(place.get_by_role("gridcell", name="77")).to_be_visible(timeout=30_000)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.db", b"", "without tables"),
        ("cut.db", b"SQLite format 3\x00" + bytes(50), "cannot be read|not an SQLite"),
        ("noise.sqlite", b"\x8a\x01" * 3000, "encrypted"),
    ],
)
def test_something_right_is_shown_of_everything(
    viewer: FileViewer, name: str, content: bytes, says: str
) -> None:
    viewer.upload(name, content)
    viewer.open()
    expect(viewer.show(name)).to_contain_text(re.compile(says))
