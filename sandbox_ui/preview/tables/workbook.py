"""Excel and LibreOffice workbooks, one sheet at a time.

Formulas of ``.xlsx`` that were not computed are shown (ECMA-376, part 1, §18.3.1.4, §18.3.1.40).
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO
from xml.etree import ElementTree
from xml.parsers import expat

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from agent.documents.office_xml import read_relations
from agent.documents.signatures import (
    OLE_SIGNATURE,
    is_encrypted_office,
    is_encrypted_open_document,
)
from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.tables.columns import has_header
from sandbox_ui.preview.tables.grid import MAX_COLUMNS, MAX_ROWS, Grid, column_notes
from sandbox_ui.preview.zip_guard import open_checked_zip

MAX_UNPACKED_BYTES = 400 * 1024**2
MAX_XML_BYTES = 32 * 1024**2  # read of a sheet
_NOT_COMPUTED = (
    "The program that wrote this workbook did not calculate all formulas: those without a value "
    "are shown as formulas. A spreadsheet program calculates them when it opens the file."
)
_READ_ERRORS = (
    KeyError, zipfile.BadZipFile, expat.ExpatError, SyntaxError, OSError, RuntimeError, ValueError,
)  # fmt: skip
_CHUNK = 256 * 1024
_CELL_REFERENCE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_UNDETECTED = "Cannot detect file format"
_DAMAGED = "This workbook cannot be read"
_UNKNOWN = f"{_DAMAGED}: it is damaged, or it is no workbook despite its name."

_Formulas = dict[tuple[int, int], str]


def load(file: BinaryIO, request: PreviewRequest) -> Grid:
    """Load the first rows of one sheet; ``sheet`` is its index."""
    if _is_locked(file):
        raise PreviewError("This workbook is protected with a password and cannot be shown.")
    file.seek(0)
    try:
        book = CalamineWorkbook.from_filelike(file)
        return _grid(book, file, request)
    except (CalamineError, OSError) as error:
        cause = str(error)[:200]
        raise PreviewError(_UNKNOWN if _UNDETECTED in cause else f"{_DAMAGED}: {cause}.") from None


def _is_locked(file: BinaryIO) -> bool:
    if file.read(4) == OLE_SIGNATURE:
        return is_encrypted_office(file)
    try:
        return is_encrypted_open_document(open_checked_zip(file, MAX_UNPACKED_BYTES))
    except _READ_ERRORS:
        return False


def _grid(book: CalamineWorkbook, file: BinaryIO, request: PreviewRequest) -> Grid:
    sheets = [each for each in book.sheets_metadata if _is_grid(each)]
    if not sheets:
        raise PreviewError("This workbook has no sheet with cells.")
    chosen = request.int_option("sheet", 0, maximum=len(sheets) - 1)
    sheet = book.get_sheet_by_name(sheets[chosen].name)
    area = _Area.from_sheet(sheet)
    missing = _uncached_formulas(file, sheet, area)
    area.fill(missing)
    rows = area.rows
    header = has_header(rows, request)
    width = min(area.width, MAX_COLUMNS)
    names = [str(name) for name in rows[0][:width]] if header else [""] * width
    return Grid(
        names=names,
        rows=[*rows[header : MAX_ROWS + header]],
        format_name="workbook",
        total=max(area.height - header, 0),
        first_row_number=area.top + 1 + header,
        column_count=area.width,
        sheets=[_sheet_label(each) for each in sheets],
        sheet=chosen,
        has_header=header,
        column_types=[_column_letters(area.left + at) for at in range(width)],
        notes=[*column_notes(area.width), *([_NOT_COMPUTED] if missing else [])],
    )


@dataclass(slots=True)
class _Area:
    """The shown cells of a sheet and their position in it."""

    top: int
    left: int
    width: int
    height: int
    rows: list[list[Any]]

    @classmethod
    def from_sheet(cls, sheet: CalamineSheet) -> "_Area":
        if not sheet.start:
            return cls(0, 0, 0, 0, [])
        rows = [list(row) for row in sheet.to_python(nrows=MAX_ROWS + 1)]
        return cls(*sheet.start, sheet.width, sheet.height, rows)

    def fill(self, cells: _Formulas) -> None:
        """Fill empty cells; extend the area if they are outside it."""
        if not cells:
            return
        self._extend(*map(min, zip(*cells, strict=True)), *map(max, zip(*cells, strict=True)))
        for (row, column), text in cells.items():
            self.rows[row - self.top][column - self.left] = text

    def _extend(self, top: int, left: int, bottom: int, right: int) -> None:
        """Extend the area to include a range."""
        if not self.rows:
            self.top, self.left = top, left
        above, beside = max(0, self.top - top), max(0, self.left - left)
        self.top, self.left = self.top - above, self.left - beside
        self.width = max(self.width + beside, right - self.left + 1)
        self.height = max(self.height + above, bottom - self.top + 1)
        grown = [["" for _ in range(self.width)] for _ in range(above)]
        for row in self.rows:
            grown.append([""] * beside + row + [""] * (self.width - beside - len(row)))
        while len(grown) <= bottom - self.top:
            grown.append([""] * self.width)
        self.rows = grown


def _uncached_formulas(file: BinaryIO, sheet: CalamineSheet, area: _Area) -> _Formulas:
    """Return the formulas without a cached value in the shown part of a sheet."""
    file.seek(0)
    found = _read_formulas(file, sheet.name, area.top + MAX_ROWS)
    return {
        (row, column): text
        for (row, column), text in found.items()
        if area.top - MAX_ROWS < row and area.left - MAX_COLUMNS < column < area.left + MAX_COLUMNS
    }


def _is_grid(sheet: Any) -> bool:
    return "WorkSheet" in str(sheet.typ)


def _sheet_label(sheet: Any) -> str:
    return str(sheet.name) if str(sheet.visible).endswith(".Visible") else f"{sheet.name} (hidden)"


def _column_letters(column: int) -> str:
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def _read_formulas(file: BinaryIO, sheet: str, rows: int) -> _Formulas:
    """Return formulas without a value in a sheet's first rows; ``=…`` if they are shared."""
    try:
        archive = zipfile.ZipFile(file)
        part = _sheet_member(archive, sheet)
        if part is None:
            return {}
        with archive.open(part) as content:
            return _FormulaParser(rows).read(iter(lambda: content.read(_CHUNK), b""))
    except _READ_ERRORS:
        return {}


def _sheet_member(archive: zipfile.ZipFile, sheet: str) -> str | None:
    """Return the name of the archive member that holds a sheet."""
    elements = ElementTree.fromstring(archive.read("xl/workbook.xml")).iterfind(".//{*}sheet")
    attributes = next((each.attrib for each in elements if each.get("name") == sheet), {})
    found = next((value for name, value in attributes.items() if name.endswith("}id")), "")
    relation = read_relations(archive.read("xl/_rels/workbook.xml.rels"), "xl").get(found)
    return relation.target if relation else None


class _RowLimitReached(Exception):
    """All requested rows have been read."""


class _FormulaParser:
    """Parser of the cells in a sheet's XML."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._found: _Formulas = {}
        self._cell = ""
        self._element = ""
        self._formula: list[str] | None = None
        self._has_value = False

    def read(self, chunks: Iterator[bytes]) -> _Formulas:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        left = MAX_XML_BYTES
        try:
            for chunk in chunks:
                parser.Parse(chunk, False)
                left -= len(chunk)
                if left < 0:
                    break
        except _RowLimitReached:
            pass
        return self._found

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._element = tag.rpartition(" ")[2]
        if self._element == "c":
            self._cell, self._formula, self._has_value = attributes.get("r", ""), None, False
        elif self._element == "f":
            self._formula = []

    def _text(self, text: str) -> None:
        if self._element == "f" and self._formula is not None:
            self._formula.append(text)
        elif self._element in ("v", "t"):
            self._has_value = True

    def _end(self, tag: str) -> None:
        self._element = ""
        place = _CELL_REFERENCE.fullmatch(self._cell) if tag.rpartition(" ")[2] == "c" else None
        if place is None:
            return
        row = int(place[2]) - 1
        if row >= self._rows:
            raise _RowLimitReached
        if self._formula is not None and not self._has_value:
            self._found[row, _column_index(place[1])] = f"={''.join(self._formula) or '…'}"


def _column_index(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1
