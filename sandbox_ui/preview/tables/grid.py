"""Rows and columns for the page's grid: paging, sorting, copying and full cells."""

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox_ui.preview.base import Ask, Unreadable
from sandbox_ui.preview.tables.columns import facts_of, kind_of, sort_key

ROWS = 5000
"""Maximum rows shown of a table."""

COLUMNS = 1000
"""Maximum columns shown of a table."""

CELL = 300
"""Maximum characters of a cell in the grid; the cell viewer shows more."""

WHOLE = 1_000_000
"""Maximum characters of a cell in the cell viewer."""

COPIED = 8_000_000
"""Maximum characters per copy."""

_PAGE_CELLS = 20_000
_PAGE_ROWS = 500
_SAMPLE = 200
_EXACT = 2**53


@dataclass(slots=True)
class Grid:
    """The first rows of a table.

    Attributes:
        names: Column headings.
        rows: The rows read; one with missing fields is shorter than ``names``.
        form: Description of the format.
        total: Total number of rows, if known.
        about: Whether ``total`` is an estimate.
        first: Number of the first row in the program that owns the format.
        columns: Total number of columns, if more than are shown.
        sheets: Names of the sheets.
        sheet: Index of the selected sheet.
        header: Whether the names come from the first row; None if not applicable.
        fields: Expected number of fields in a row; None if all rows have the same number.
        types: Declared column types.
        notes: Warnings for the user.
        most: Maximum rows shown, if fewer than ``ROWS``.
    """

    names: list[str]
    rows: list[Sequence[Any]]
    form: str = ""
    total: int | None = None
    about: bool = False
    first: int = 1
    columns: int = 0
    sheets: list[str] = field(default_factory=list)
    sheet: int = 0
    header: bool | None = None
    fields: int | None = None
    types: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    most: int = ROWS


def page_rows(width: int) -> int:
    """Return the number of rows per response for a number of columns."""
    return max(20, min(_PAGE_ROWS, _PAGE_CELLS // max(width, 1)))


def needed(ask: Ask) -> int:
    """Return the number of rows to read for a request."""
    if "sort" in ask.options or "facts" in ask.options:
        return ROWS
    last = max(ask.number("start", 0, most=ROWS) + _PAGE_ROWS, *(r + 1 for r in _rows_named(ask)))
    return min(last, ROWS)


def copied(ask: Ask) -> tuple[int, int]:
    """Return the first and last column to copy; (0, -1) if none."""
    numbers = _numbers(ask, "area")
    return (numbers[1], numbers[3]) if len(numbers) == 4 else (0, -1)


def placed(ask: Ask) -> tuple[int, int]:
    """Return the row and column of the requested cell.

    Raises:
        Unreadable: The cell does not exist.
    """
    numbers = _numbers(ask, "cell")
    if len(numbers) != 2:
        raise Unreadable("This cell is not there any more.")
    return numbers[0], numbers[1]


def answer(grid: Grid, ask: Ask) -> dict[str, Any]:
    """Return the response to a request: a page of rows, a cell, a copy or statistics."""
    if "facts" in ask.options:
        return {"facts": facts_of(grid.rows, len(grid.names)), "read": len(grid.rows)}
    rows = _ordered(grid, ask)
    if "cell" in ask.options:
        return _cell(rows, ask)
    if "area" in ask.options:
        return _area(grid, rows, ask)
    start = ask.number("start", 0)
    page = rows[start : start + page_rows(len(grid.names))]
    width = len(grid.names)
    data: dict[str, Any] = {
        "start": start,
        "rows": [[grid.first + number, *map(shown, row[:width])] for number, row in page],
        "odd": _odd(grid, page),
    }
    return data if "start" in ask.options else {**data, **_about(grid)}


def shown(value: Any) -> Any:
    """Return a cell's value for JSON: text, a number, null or a short description.

    Long text is ``{"cut": its beginning, "size": its characters}``, bytes ``{"blob": size}``.
    """
    if value is None or isinstance(value, str):
        if value is None or len(value) <= CELL:
            return value
        return {"cut": value[:CELL], "size": len(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"blob": len(value)}
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and -_EXACT <= value <= _EXACT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return shown(in_words(value))


def in_words(value: Any) -> str:
    """Return a value as untruncated text."""
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex(" ")
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _about(grid: Grid) -> dict[str, Any]:
    sample = grid.rows[:_SAMPLE]
    kinds = [kind_of(row[at] for row in sample if at < len(row)) for at in range(len(grid.names))]
    total = len(grid.rows) if grid.total is None else grid.total
    return {
        "names": [name[:CELL] for name in grid.names],
        "kinds": kinds,
        "types": grid.types,
        "form": grid.form,
        "total": total,
        "about": grid.about,
        "held": min(total, grid.most),
        "columns": grid.columns or len(grid.names),
        "sheets": grid.sheets,
        "sheet": grid.sheet,
        "header": grid.header,
        "notes": grid.notes,
        "page": page_rows(len(grid.names)),
    }


def _ordered(grid: Grid, ask: Ask) -> list[tuple[int, Sequence[Any]]]:
    numbered = list(enumerate(grid.rows))
    if "sort" not in ask.options:
        return numbered
    at = ask.number("sort", 0, most=COLUMNS)
    key: Callable[[Any], Any] = sort_key(row[at] for row in grid.rows if at < len(row))
    full = [each for each in numbered if at < len(each[1]) and each[1][at] not in (None, "")]
    rest = [each for each in numbered if at >= len(each[1]) or each[1][at] in (None, "")]
    full.sort(key=lambda each: key(each[1][at]), reverse=ask.options.get("down") == "1")
    return full + rest


def _odd(grid: Grid, page: list[tuple[int, Sequence[Any]]]) -> dict[int, str]:
    if grid.fields is None:
        return {}
    return {
        grid.first + number: f"{len(row):,} fields instead of {grid.fields:,}"
        for number, row in page
        if len(row) != grid.fields
    }


def _rows_named(ask: Ask) -> list[int]:
    return [*_numbers(ask, "cell")[:1], *_numbers(ask, "area")[2:3], 0]


def _numbers(ask: Ask, option: str) -> list[int]:
    parts = ask.options.get(option, "").split(",")
    return [int(part) for part in parts if part.isdecimal() and len(part) < 8]


def _cell(rows: list[tuple[int, Sequence[Any]]], ask: Ask) -> dict[str, Any]:
    row, column = placed(ask)
    try:
        value = rows[row][1][column]
    except IndexError:
        raise Unreadable("This cell is not there any more.") from None
    if isinstance(value, bytes | bytearray | memoryview):
        return {"text": bytes(value[: WHOLE // 3]).hex(" "), "size": len(value), "blob": True}
    text = in_words(value)
    return {"text": text[:WHOLE], "size": len(text), "blob": False, "null": value is None}


def _area(grid: Grid, rows: list[tuple[int, Sequence[Any]]], ask: Ask) -> dict[str, Any]:
    numbers = _numbers(ask, "area")
    if len(numbers) != 4:
        raise Unreadable("There is nothing to copy.")
    top, left, bottom, right = numbers
    lines, size = [], 0
    if ask.options.get("named"):
        lines.append("\t".join(map(_tabbed, grid.names[left : right + 1])))
    for _, row in rows[top : bottom + 1]:
        lines.append("\t".join(_tabbed(in_words(value)) for value in row[left : right + 1]))
        size += len(lines[-1])
        if size > COPIED:
            raise Unreadable("This is too much to be copied at once.")
    return {"text": "\n".join(lines)}


def _tabbed(text: str) -> str:
    if any(sign in text for sign in '\t\n\r"'):
        return '"' + text.replace('"', '""') + '"'
    return text
