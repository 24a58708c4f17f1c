"""Excel and LibreOffice workbooks, one sheet at a time."""

import zipfile
from dataclasses import dataclass
from typing import Any, BinaryIO

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from agent.documents.signatures import (
    OLE_SIGNATURE,
    is_encrypted_office,
    is_encrypted_open_document,
)
from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.tables.columns import has_header
from sandbox_ui.preview.tables.grid import MAX_COLUMNS, MAX_ROWS, Grid
from sandbox_ui.preview.tables.xlsx_formulas import Formulas, read_uncached_formulas
from sandbox_ui.preview.zip_guard import open_checked_zip

MAX_UNPACKED_BYTES = 400 * 1024**2
"""Maximum unpacked size of a workbook, in bytes."""

_NOT_COMPUTED = (
    "The program that wrote this workbook did not calculate all formulas: those without a value "
    "are shown as formulas. A spreadsheet program calculates them when it opens the file."
)
_ARCHIVE_ERRORS = (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError)
_UNDETECTED = "Cannot detect file format"
_DAMAGED = "This workbook cannot be read"
_UNKNOWN = f"{_DAMAGED}: it is damaged, or it is no workbook despite its name."
_LOCKED = "This workbook is protected with a password and cannot be shown."


def load(file: BinaryIO, request: PreviewRequest) -> Grid:
    """Load the first rows of one sheet; ``sheet`` is its index."""
    if _is_locked(file):
        raise PreviewError(_LOCKED)
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
    except _ARCHIVE_ERRORS:
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
    header = has_header(rows)
    if request.options.get("header") in ("0", "1"):
        header = request.options["header"] == "1" and bool(rows)
    width = min(area.width, MAX_COLUMNS)
    notes = (
        [f"Only the first {MAX_COLUMNS:,} columns are shown."] if area.width > MAX_COLUMNS else []
    )
    if missing:
        notes.append(_NOT_COMPUTED)
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
        notes=notes,
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

    def fill(self, cells: Formulas) -> None:
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


def _uncached_formulas(file: BinaryIO, sheet: CalamineSheet, area: _Area) -> Formulas:
    """Return the formulas without a cached value in the shown part of a sheet."""
    file.seek(0)
    found = read_uncached_formulas(file, sheet.name, area.top + MAX_ROWS)
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
