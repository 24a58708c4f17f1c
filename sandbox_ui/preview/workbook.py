"""Workbooks of Excel and LibreOffice: one sheet at a time."""

from typing import Any, BinaryIO

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from sandbox_ui.preview.base import Ask, Unreadable
from sandbox_ui.preview.columns import is_date, is_number
from sandbox_ui.preview.grid import COLUMNS, ROWS, Grid
from sandbox_ui.preview.zipped import guard

UNPACKED = 400 * 1024**2
"""Bytes that a workbook may unpack to."""

_OLD = b"\xd0\xcf\x11\xe0"
_LOCKED = "This workbook is protected with a password and cannot be shown."


def load(file: BinaryIO, ask: Ask) -> Grid:
    """The beginning of one sheet; ``sheet`` is its place among them.

    Raises:
        Unreadable: it is no workbook, too large, or protected with a password.
    """
    if file.read(4) == _OLD:
        file.seek(0)
        if "EncryptedPackage".encode("utf-16-le") in file.read(1024**2):
            raise Unreadable(_LOCKED)
    else:
        guard(file, UNPACKED)
    file.seek(0)
    try:
        book = CalamineWorkbook.from_filelike(file)
        return _grid(book, ask)
    except PasswordError:
        raise Unreadable(_LOCKED) from None
    except (CalamineError, OSError) as error:
        raise Unreadable(f"This workbook cannot be read: {str(error)[:200]}") from None


def _grid(book: CalamineWorkbook, ask: Ask) -> Grid:
    sheets = [each for each in book.sheets_metadata if _is_grid(each)]
    if not sheets:
        raise Unreadable("This workbook has no sheet with cells.")
    chosen = ask.number("sheet", 0, most=len(sheets) - 1)
    sheet = book.get_sheet_by_name(sheets[chosen].name)
    top, left = sheet.start or (0, 0)
    rows: list[Any] = sheet.to_python(nrows=ROWS + 1) if sheet.start else []
    header = _has_header(rows)
    if ask.options.get("header") in ("0", "1"):
        header = ask.options["header"] == "1" and bool(rows)
    width = min(sheet.width, COLUMNS) if rows else 0
    notes = [f"Only the first {COLUMNS:,} columns are shown."] if sheet.width > COLUMNS else []
    names = [str(name) for name in rows[0][:width]] if header else [""] * width
    return Grid(
        names=names,
        rows=rows[header : ROWS + header],
        form="workbook",
        total=max(sheet.height - header, 0) if rows else 0,
        first=top + 1 + header,
        columns=sheet.width if rows else 0,
        sheets=[_named(each) for each in sheets],
        sheet=chosen,
        header=header,
        types=[_letters(left + at) for at in range(width)],
        notes=notes,
    )


def _is_grid(sheet: Any) -> bool:
    return "WorkSheet" in str(sheet.typ)


def _named(sheet: Any) -> str:
    return str(sheet.name) if str(sheet.visible).endswith(".Visible") else f"{sheet.name} (hidden)"


def _letters(column: int) -> str:
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def _has_header(rows: list[Any]) -> bool:
    if len(rows) < 2:
        return False
    full = [cell for cell in rows[0] if cell != ""]
    if not full or len(full) < 0.5 * len(rows[0]):
        return False
    if not all(
        isinstance(cell, str) and not is_number(cell) and not is_date(cell) for cell in full
    ):
        return False
    return len(set(full)) == len(full)
