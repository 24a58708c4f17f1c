"""The table preview: detection of dialect and header, sorting, paging and limits."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import openpyxl
import pyarrow as pa
import pytest
from playwright.sync_api import Locator, expect
from pyarrow.parquet import write_table

from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.tables import table
from sandbox_ui.preview.tables.csv import FIRST_READ_BYTES
from tests.sandbox_ui.preview.data.archives import change_members
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import CountingFile, preview_data
from tests.support.component.accessibility import violations
from tests.support.component.stage import Look
from tests.support.tab import NARROW

HOSTILE = "<img src=x onerror=window.hacked=1>"

TableData = dict[str, Any]


def table_data(content: bytes, name: str = "t.csv", **options: str) -> TableData:
    """The preview data of a table in memory."""
    return preview_data(table.view, content, name, **options)


def cells(content: bytes, **options: str) -> list[list[Any]]:
    return [row[1:] for row in table_data(content, **options)["rows"]]


def make_workbook(fill: Callable[[openpyxl.Workbook], None]) -> bytes:
    workbook = openpyxl.Workbook()
    fill(workbook)
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def fill_sheets(workbook: openpyxl.Workbook) -> None:
    sheet = workbook.worksheets[0]
    sheet.title = "Figures"
    for row in (["name", "value"], ["one", 1.5], ["two", None]):
        sheet.append(row)
    far = workbook.create_sheet("Far")
    far["C4"] = 7
    workbook.create_sheet("Nothing")
    hidden = workbook.create_sheet("Kept")
    hidden.sheet_state = "hidden"
    hidden["A1"] = HOSTILE


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a,b\n1,2\n3,4\n", "commas"),
        ("a;b\n1,5;2\n3,25;4\n", "semicolons"),
        ("a\tb\n1\t2\n3\t4\n", "tabs"),
        ("a|b\n1|2\n3|4\n", "bars"),
        ("a\n1\n2\n", "one column"),
        ("sep=~\r\na~b\r\n1~2\r\n", "delimiter ~"),
        ('"sep=;"\na;b,c\n1;2\n', "semicolons"),
    ],
)
def test_the_delimiter_is_detected(text: str, form: str) -> None:
    data = table_data(text.encode())
    assert (data["format"], data["encoding"], data["names"][0]) == (form, "utf-8", "a")


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("# made by a tool\n# on Monday\na,b\n1,2\n", ["a", "b"], [["1", "2"]]),
        ("##file=VCF\n#CHROM\tPOS\n1\t20\n2\t30\n", ["#CHROM", "POS"], [["1", "20"], ["2", "30"]]),
        ("#,name\n1,x\n2,y\n", ["#", "name"], [["1", "x"], ["2", "y"]]),
        ("#tag\nother\n", ["#tag"], [["other"]]),
        ("sep=;\n# note\na;b\n1;2\n", ["a", "b"], [["1", "2"]]),
        ("sep=;", [], []),
        ('a,b\n1,"say \\"hi, you\\" now"\n', ["a", "b"], [["1", 'say "hi, you" now']]),
        ('a,b\n"C:\\dir\\",2\n', ["a", "b"], [["C:\\dir\\", "2"]]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_before_the_table_and_escaped_quotes_are_recognised(
    text: str, names: list[str], rows: list[list[str]], encoding: str
) -> None:
    data = table_data(text.encode(encoding))
    assert data["names"] == names
    assert [row[1:] for row in data["rows"]] == rows
    assert table_data(text.encode(encoding), count="1")["rows"] == len(rows)


def test_the_encoding_of_a_short_table_is_assumed_by_language_and_can_be_chosen() -> None:
    content = "名前,東京\n1,2\n".encode("euc_jp")
    data = table_data(content, languages="ja en")
    assert (data["encoding"], data["names"]) == ("euc_jp", ["名前", "東京"])
    assert "EUC-JP is assumed" in data["notes"][0]
    chosen = table_data(content, languages="en", encoding="euc_jp")
    assert (chosen["names"], chosen["notes"]) == (["名前", "東京"], [])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_the_encoding_is_detected(encoding: str) -> None:
    text = "Größe,Straße\n" + "1,Köln über München\n" * 30
    data = table_data(text.encode(encoding))
    assert data["names"] == ["Größe", "Straße"]
    assert data["rows"][0] == [1, "1", "Köln über München"]


CYRILLIC = "Имя;Город\nАнна;Москва\nПётр;Казань\n"
RUSSIANS = [["Анна", "Москва"], ["Пётр", "Казань"]]
NUMBERS = b"n,t\n2,b\n,x\n10,B\n1,a\n"
ASCENDING = [["1", "a"], ["2", "b"], ["10", "B"], ["", "x"]]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a,é\nb,é\n".encode() * 50 + b"b,\xff\n", {}, [["b", "é"], ["a", "é"]]),
        (CYRILLIC.encode("koi8_r"), {}, RUSSIANS),
        (CYRILLIC.encode("cp1251"), {}, RUSSIANS),
        (b"a,b\n3,4\n", {"header": "0"}, [["a", "b"], ["3", "4"]]),
        (b"x;y\n10,5;a\n9,25;b\n", {"sort": "0", "start": "0"}, [["9,25", "b"], ["10,5", "a"]]),
        (NUMBERS, {"sort": "0", "start": "0"}, ASCENDING),
        (NUMBERS, {"sort": "0", "start": "0", "descending": "1"}, [*ASCENDING[2::-1], ["", "x"]]),
        (b'a,b\n1,"x\ny"\n2,z\n', {}, [["1", "x\ny"], ["2", "z"]]),
        (b'a,b\n1,"x\n2,y\n3,z\n', {}, [["1", '"x'], ["2", "y"], ["3", "z"]]),
        (b"a,b\n1,x\0y\n", {}, [["1", "x\0y"]]),
    ],
    ids=["invalid byte", "koi8", "cp1251", "without header", "decimal commas", "ascending",
         "descending", "line break", "unclosed quote", "NUL byte"],
)  # fmt: skip
def test_cells_are_decoded_and_sorted(
    content: bytes, options: dict[str, str], expected: list[list[str]]
) -> None:
    assert cells(content, **options)[: len(expected)] == expected


def test_headers_types_and_irregular_rows_are_detected() -> None:
    assert table_data(b"1,2\n3,4\n")["has_header"] is False
    assert table_data(b"a,b\n3,4\n")["has_header"] is True
    assert table_data(b"x;y\n10,5;a\n9,25;b\n100,0;c\n")["kinds"] == ["number", "text"]
    assert "never closed" in table_data(b'a,b\n1,"x\n2,y\n3,z\n')["notes"][0]
    assert "NUL" in table_data(b"a,b\n1,x\0y\n")["notes"][0]
    data = table_data(b"a,b,c\n1,2,3\n4,5\n6,7,8,9\n")
    assert data["irregular_rows"] == {2: "2 fields instead of 3", 3: "4 fields instead of 3"}
    assert (data["rows"][1], data["columns"]) == ([2, "4", "5"], 4)


def test_a_long_cell_is_truncated_and_can_be_requested_completely() -> None:
    content = b"a,b\n1," + b"x" * 5000 + b"\n"
    assert cells(content)[0][1] == {"text": "x" * 300, "size": 5000}
    assert table_data(content, cell="0,1")["text"] == "x" * 5000
    long_line = table_data(b"x" * (FIRST_READ_BYTES * 3))
    assert long_line["rows"][0][1]["size"] == FIRST_READ_BYTES * 3
    assert long_line["notes"] == ["The first line is longer than 1 MB."]
    content = b'a,b,c\n1,"x\ty",3\n4,5,6\n'
    assert table_data(content, area="0,0,1,1")["text"] == '1\t"x\ty"\n4\t5'


def test_a_huge_file_is_read_only_partially(tmp_path: Path) -> None:
    line, path = b"1,two,3.5\n", tmp_path / "t.csv"
    size = path.write_bytes(line * (FIRST_READ_BYTES * 40 // len(line)))
    with CountingFile(path) as file:
        data = table.view(cast(BinaryIO, file), PreviewRequest("t.csv", size))
        assert file.bytes_read <= FIRST_READ_BYTES + 8
    assert isinstance(data, dict)
    assert data["total_is_estimate"]
    assert abs(data["total"] * len(line) - size) < size * 0.01


def test_row_counting_resumes_at_its_last_position(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'a,b\n1,"two\nlines"\n\n3,"it""s"\n5,6'
    monkeypatch.setattr(table, "_MAX_COUNT_BYTES", 7)
    at: TableData = {"offset": 0, "rows": 0, "in_quotes": False, "done": False}
    while not at["done"]:
        position = {name: str(int(at[name])) for name in ("offset", "rows", "in_quotes")}
        at = table_data(content, count="1", **position)
    assert at["rows"] == table_data(content)["total"] == 3


def test_columns_have_statistics() -> None:
    content = b"n,d,t\n1,2024-01-05,x\n-3.5,2023-12-31,x\n,2024-02-01,y\n"
    number, date, text = table_data(content, statistics="1")["statistics"]
    assert (number["min"], number["max"], number["empty"]) == ("-3.5", "1", 1)
    assert (date["kind"], date["min"]) == ("date", "2023-12-31")
    assert (text["kind"], text["distinct"]) == ("text", 2)


def test_workbook_rows_keep_their_numbers() -> None:
    content = make_workbook(fill_sheets)
    first = table_data(content, "b.xlsx")
    assert first["sheets"] == ["Figures", "Far", "Nothing", "Kept (hidden)"]
    assert (first["names"], first["types"]) == (["name", "value"], ["A", "B"])
    assert first["rows"] == [[2, "one", 1.5], [3, "two", ""]]
    far = table_data(content, "b.xlsx", sheet="1")
    assert (far["rows"], far["types"]) == ([[4, 7.0]], ["C"])
    assert table_data(content, "b.xlsx", sheet="2")["total"] == 0


def fill_formulas(workbook: openpyxl.Workbook) -> None:
    sheet = workbook.worksheets[0]
    for row in (["item", "price"], ["bread", 3.5], ["milk", 1.2], [], ["total", "=SUM(B2:B3)"]):
        sheet.append(row)
    sheet["D7"] = "=B5*2"
    alone = workbook.create_sheet("Alone & <apart>")
    alone["B2"] = '=IF(1<2,"yes","no")'


def test_a_formula_is_shown_unless_it_has_a_value() -> None:
    def add_values(sheet: bytes) -> bytes:
        return re.sub(rb"(</f>)<v ?/?>(</v>)?", rb"\1<v>4.7</v>", sheet)

    book = make_workbook(fill_formulas)
    first = table_data(book, "b.xlsx")
    assert first["rows"][3] == [5, "total", "=SUM(B2:B3)", "", ""]
    assert first["rows"][5] == [7, "", "", "", "=B5*2"]
    assert (first["total"], first["columns"], first["types"]) == (6, 4, ["A", "B", "C", "D"])
    assert "without a value are shown as formulas" in first["notes"][0]
    alone = table_data(book, "b.xlsx", sheet="1")
    assert (alone["rows"], alone["types"]) == ([[2, '=IF(1<2,"yes","no")']], ["B"])
    computed = table_data(change_members(book, "xl/worksheets/", add_values), "b.xlsx")
    assert computed["rows"][3] == [5, "total", 4.7, "", ""]
    assert computed["notes"] == []


def test_text_named_as_a_workbook_is_shown_as_text() -> None:
    data = table_data(b"a,b\n1,2\n", "b.xlsx")
    assert data["rows"] == [[1, "1", "2"]]
    assert "it is text" in data["notes"][0]


def parquet(columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def test_parquet_distinguishes_null_from_empty() -> None:
    columns = {"n": [1, None, 2**60], "s": ["", None, "x"], "b": [b"abc", None, b""]}
    content = parquet(columns)
    data = table_data(content, "t.parquet")
    assert data["rows"] == [
        [1, 1, "", {"blob": 3}],
        [2, None, None, None],
        [3, str(2**60), "x", {"blob": 0}],
    ]
    assert data["types"] == ["int64", "string", "binary"]
    with pytest.raises(PreviewError, match="cannot be read"):
        table_data(content[:60], "t.parquet")


YEAR = int(365.2425 * 86_400)
INVALID_TEXT = pa.StringArray.from_buffers(
    1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")
)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (pa.array([1], pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
        (pa.array([-1], pa.timestamp("ms")), "1969-12-31 23:59:59.999"),
        (pa.array([0], pa.timestamp("s", "Europe/Berlin")), "1970-01-01 01:00:00+01:00"),
        (pa.array([0], pa.timestamp("s", "-03:30")), "1969-12-31 20:30:00-03:30"),
        (pa.array([0], pa.timestamp("s", "Mars/Olympus")), "1970-01-01 00:00:00+00:00"),
        (pa.array([10_000 * YEAR], pa.timestamp("s", "UTC")), "11970-01-01 00:00:00+00:00"),
        (pa.array([-2000 * YEAR], pa.timestamp("s")), "-0030-01-01 00:00:00"),
        (pa.array([-719_163], pa.date32()), "0000-12-31"),
        (pa.array([86_400_000 * 59], pa.date64()), "1970-03-01"),
        (pa.array([1500], pa.time32("ms")), "00:00:01.5"),
        (pa.array([1_500_000_000], pa.duration("ns")), "1.5 s"),
        (pa.array([[0, None]], pa.list_(pa.timestamp("ns"))), "['1970-01-01 00:00:00', None]"),
        (pa.array([{"d": -(10**6)}], pa.struct({"d": pa.date32()})), "{'d': '-0768-02-04'}"),
        (pa.array([[("a", 0)]], pa.map_(pa.string(), pa.date32())), "[('a', '1970-01-01')]"),
        (INVALID_TEXT, "a\ufffd"),
    ],
    ids=lambda each: str(getattr(each, "type", "")),
)
def test_parquet_values_that_python_cannot_represent_are_shown(column: pa.Array, text: str) -> None:
    assert table_data(parquet({"c": column}), "t.parquet")["rows"] == [[1, text]]


def csv_rows(count: int, columns: int) -> bytes:
    head = ",".join(f"c{at}" for at in range(columns))
    body = (",".join(str(row * at) for at in range(columns)) for row in range(1, count + 1))
    return "\n".join([head, *body]).encode()


def cell(canvas: Locator, text: str) -> Locator:
    return canvas.get_by_role("gridcell", name=text, exact=True)


def test_an_assumed_encoding_can_be_changed(viewer: FileViewer) -> None:
    canvas = viewer.view("t.csv", "氏名,年齢\n田中,30\n".encode("euc_jp"))
    expect(canvas).to_contain_text("GB18030 is assumed")
    for look in (Look(), Look(size=NARROW, theme="dark")):
        viewer.stage.change_look(look)
        assert violations(viewer.page, within=".preview") == [], look
    viewer.stage.change_look(Look())
    canvas.get_by_role("combobox", name="Encoding").select_option("EUC-JP")
    expect(canvas.get_by_role("columnheader", name="氏名")).to_be_visible()
    expect(cell(canvas, "田中")).to_be_visible()
    expect(canvas).not_to_contain_text("is assumed")


def test_a_long_table_renders_few_elements(viewer: FileViewer) -> None:
    canvas = viewer.view("t.csv", csv_rows(7000, 200))
    expect(viewer.details).to_contain_text("7,000 rows × 200 columns; first 5,000 shown")
    grid = canvas.get_by_role("grid")
    expect(grid).to_have_attribute("aria-rowcount", "5001")
    grid.focus()
    viewer.page.keyboard.press("Control+End")
    expect(cell(canvas, str(5000 * 199))).to_be_visible(timeout=30_000)
    assert canvas.locator("*").count() < 1500


def test_keys_move_select_and_copy(viewer: FileViewer) -> None:
    viewer.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    canvas = viewer.view("t.csv", b"a,b,c\n1,2,3\n4,5,6\n7,8,9\n")
    canvas.get_by_role("grid").focus()
    for key in ("ArrowRight", "ArrowDown", "Shift+ArrowDown", "Shift+ArrowRight"):
        viewer.page.keyboard.press(key)
    expect(canvas).to_contain_text("2 rows × 2 columns · sum 28")
    viewer.page.keyboard.press("Control+c")
    expect(canvas.get_by_role("button", name="Copied")).to_be_visible()
    assert viewer.page.evaluate("navigator.clipboard.readText()") == "5\t6\n8\t9"
    expect(canvas.locator(".active")).to_have_text("9")


def test_a_long_cell_opens_completely_and_a_sheet_can_be_selected(viewer: FileViewer) -> None:
    viewer.write("b.xlsx", make_workbook(fill_sheets))
    canvas = viewer.view("t.csv", f"a,b\n1,{'long ' * 200}END\n".encode())
    canvas.locator('[data-row="0"][data-column="1"]').dblclick()
    cell_view = canvas.get_by_role("region", name="Cell")
    expect(cell_view.locator("pre")).to_contain_text("END")
    expect(cell_view).to_contain_text("1,003 characters")
    viewer.page.keyboard.press("Escape")
    expect(cell_view).to_be_hidden()
    expect(viewer.preview).to_be_visible()
    viewer.show("b.xlsx")
    expect(cell(canvas, "1.5")).to_be_visible()
    canvas.get_by_role("tab", name="Kept (hidden)").click()
    expect(cell(canvas, HOSTILE)).to_be_visible()
    canvas.get_by_role("tab", name="Nothing").click()
    expect(viewer.details).to_contain_text("empty")


def test_clicking_a_column_header_sorts_and_a_changed_table_keeps_position_and_order(
    viewer: FileViewer,
) -> None:
    canvas = viewer.view("t.csv", csv_rows(2000, 5))
    head = canvas.get_by_role("columnheader").nth(2)
    first, later = (canvas.locator(f'[data-row="{row}"][data-column="1"]') for row in (0, 100))
    for state, value in (("ascending", "1"), ("descending", "2000")):
        head.click()
        expect(head).to_have_attribute("aria-sort", state)
        expect(first).to_have_text(value)
    canvas.get_by_role("grid").evaluate("body => body.scrollTo(0, 2700)")
    expect(later).to_have_text("1900")
    viewer.write("t.csv", csv_rows(2100, 5))
    expect(later).to_have_text("2000", timeout=30_000)
    expect(viewer.details).to_contain_text("2,100 rows")
    head.click()
    canvas.get_by_role("grid").press("Control+Home")
    expect(first).to_have_text("1")
