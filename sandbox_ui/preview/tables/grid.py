"""Rows and columns for the page's grid: paging, sorting, copying and full cells."""

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.util.text import plural
from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.tables.columns import column_statistics, kind_of, sort_key

MAX_ROWS = 5000
MAX_COLUMNS = 1000
MAX_CELL_LENGTH = 300  # in the grid; the cell viewer shows more
MAX_FULL_CELL_LENGTH = 1_000_000
MAX_COPY_LENGTH = 8_000_000
_PAGE_CELLS = 20_000
_PAGE_ROWS = 500
_SAMPLE = 200
_MAX_EXACT_INT = 2**53
_BINARY = bytes | bytearray | memoryview
_NumberedRows = list[tuple[int, Sequence[Any]]]


@dataclass(slots=True)
class Grid:
    """The first rows of a table."""

    names: list[str]
    rows: list[Sequence[Any]]  # one with missing fields is shorter than ``names``
    format_name: str = ""
    total: int | None = None
    total_is_estimate: bool = False
    first_row_number: int = 1  # in the program that owns the format
    column_count: int = 0  # of the file, if more than are shown
    sheets: list[str] = field(default_factory=list)
    sheet: int = 0
    has_header: bool | None = None  # whether the first row has the names; None if not applicable
    expected_fields: int | None = None  # of a row; None if all rows have the same number
    column_types: list[str] = field(default_factory=list)  # as declared
    encoding: str = ""
    notes: list[str] = field(default_factory=list)  # warnings for the user
    max_rows: int = MAX_ROWS


def column_notes(columns: int) -> list[str]:
    """Return a warning if a table has more columns than are shown."""
    return [f"Only the first {MAX_COLUMNS:,} columns are shown."] if columns > MAX_COLUMNS else []


def _page_rows(width: int) -> int:
    return max(20, min(_PAGE_ROWS, _PAGE_CELLS // max(width, 1)))


def rows_needed(request: PreviewRequest) -> int:
    """Return the number of rows to read for a request."""
    if "sort" in request.options or "statistics" in request.options:
        return MAX_ROWS
    start = request.int_option("start", maximum=MAX_ROWS)
    rows = [*_numbers(request, "cell")[:1], *_numbers(request, "area")[2:3], 0]
    return min(max(start + _PAGE_ROWS, max(rows) + 1), MAX_ROWS)


def copied_columns(request: PreviewRequest) -> tuple[int, int]:
    """Return the first and last column to copy; (0, -1) if none."""
    numbers = _numbers(request, "area")
    return (numbers[1], numbers[3]) if len(numbers) == 4 else (0, -1)


def requested_cell(request: PreviewRequest) -> tuple[int, int]:
    """Return the row and column of the requested cell."""
    numbers = _numbers(request, "cell")
    if len(numbers) != 2:
        raise PreviewError("This cell no longer exists.")
    return numbers[0], numbers[1]


def grid_response(grid: Grid, request: PreviewRequest) -> dict[str, Any]:
    """Return the response to a request: a page of rows, a cell, a copy or statistics."""
    if "statistics" in request.options:
        return {"statistics": column_statistics(grid.rows, len(grid.names))}
    rows = _sorted_rows(grid, request)
    if "cell" in request.options:
        return _cell_response(rows, request)
    if "area" in request.options:
        return _copy_response(rows, request)
    start = request.int_option("start")
    page = rows[start : start + _page_rows(len(grid.names))]
    width = len(grid.names)
    data: dict[str, Any] = {
        "start": start,
        "rows": [
            [grid.first_row_number + number, *map(cell_json, row[:width])] for number, row in page
        ],
        "irregular_rows": _irregular_rows(grid, page),
    }
    return data if "start" in request.options else {**data, **_metadata(grid)}


def cell_json(value: Any) -> Any:
    """Return a cell for JSON; long text as its beginning and size, bytes as their size."""
    if value is None or (isinstance(value, str) and len(value) <= MAX_CELL_LENGTH):
        return value
    if isinstance(value, str):
        return {"text": value[:MAX_CELL_LENGTH], "size": len(value)}
    if isinstance(value, _BINARY):
        return {"blob": len(value)}
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and -_MAX_EXACT_INT <= value <= _MAX_EXACT_INT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return cell_json(cell_text(value))


def cell_text(value: Any) -> str:
    """Return a value as untruncated text."""
    if value is None:
        return ""
    if isinstance(value, _BINARY):
        return bytes(value).hex(" ")
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _metadata(grid: Grid) -> dict[str, Any]:
    sample = grid.rows[:_SAMPLE]
    kinds = [kind_of(row[at] for row in sample if at < len(row)) for at in range(len(grid.names))]
    total = len(grid.rows) if grid.total is None else grid.total
    return {
        "names": [name[:MAX_CELL_LENGTH] for name in grid.names],
        "kinds": kinds,
        "types": grid.column_types,
        "format": grid.format_name,
        "total": total,
        "total_is_estimate": grid.total_is_estimate,
        "displayed_rows": min(total, grid.max_rows),
        "columns": grid.column_count or len(grid.names),
        "sheets": grid.sheets,
        "sheet": grid.sheet,
        "has_header": grid.has_header,
        "encoding": grid.encoding,
        "notes": grid.notes,
        "page_rows": _page_rows(len(grid.names)),
    }


def _sorted_rows(grid: Grid, request: PreviewRequest) -> _NumberedRows:
    numbered = list(enumerate(grid.rows))
    if "sort" not in request.options:
        return numbered
    at = request.int_option("sort", maximum=MAX_COLUMNS)
    key: Callable[[Any], Any] = sort_key(row[at] for row in grid.rows if at < len(row))
    filled = [each for each in numbered if at < len(each[1]) and each[1][at] not in (None, "")]
    empty = [each for each in numbered if at >= len(each[1]) or each[1][at] in (None, "")]
    filled.sort(key=lambda each: key(each[1][at]), reverse=request.options.get("descending") == "1")
    return filled + empty


def _irregular_rows(grid: Grid, page: _NumberedRows) -> dict[int, str]:
    if grid.expected_fields is None:
        return {}
    return {
        grid.first_row_number + number: (
            f"{plural(len(row), 'field')} instead of {grid.expected_fields:,}"
        )
        for number, row in page
        if len(row) != grid.expected_fields
    }


def _numbers(request: PreviewRequest, option: str) -> list[int]:
    parts = request.options.get(option, "").split(",")
    return [int(part) for part in parts if part.isdecimal() and len(part) < 8]


def _cell_response(rows: _NumberedRows, request: PreviewRequest) -> dict[str, Any]:
    row, column = requested_cell(request)
    try:
        value = rows[row][1][column]
    except IndexError:
        raise PreviewError("This cell no longer exists.") from None
    if isinstance(value, _BINARY):
        text = bytes(value[: MAX_FULL_CELL_LENGTH // 3]).hex(" ")
        return {"text": text, "size": len(value), "blob": True}
    text = cell_text(value)
    return {"text": text[:MAX_FULL_CELL_LENGTH], "size": len(text), "blob": False}


def _copy_response(rows: _NumberedRows, request: PreviewRequest) -> dict[str, Any]:
    numbers = _numbers(request, "area")
    if len(numbers) != 4:
        raise PreviewError("There is nothing to copy.")
    top, left, bottom, right = numbers
    lines, size = [], 0
    for _, row in rows[top : bottom + 1]:
        lines.append("\t".join(_quote_tsv(cell_text(value)) for value in row[left : right + 1]))
        size += len(lines[-1])
        if size > MAX_COPY_LENGTH:
            raise PreviewError("This is too much to copy at once.")
    return {"text": "\n".join(lines)}


def _quote_tsv(text: str) -> str:
    if any(character in text for character in '\t\n\r"'):
        return '"' + text.replace('"', '""') + '"'
    return text
