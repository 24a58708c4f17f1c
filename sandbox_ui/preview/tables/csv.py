"""Pages of rows from CSV and similar formats, and their number."""

import csv
import re
from dataclasses import dataclass
from typing import Any, BinaryIO

from agent.documents.signatures import WORKBOOK_EXTENSIONS
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.tables.csv_dialect import Dialect, detect_dialect, parse_rows
from sandbox_ui.preview.tables.grid import MAX_COLUMNS, MAX_ROWS, Grid, column_notes, rows_needed

FIRST_READ_BYTES = 1024**2
"""Bytes used to detect the dialect; a file up to this size is read at once."""

MAX_READ_BYTES = 48 * 1024**2

csv.field_size_limit(MAX_READ_BYTES * 2)


def load(file: BinaryIO, request: PreviewRequest) -> Grid:
    """Load the first rows of a table."""
    first = file.read(FIRST_READ_BYTES)
    dialect = detect_dialect(first, request)
    needed = rows_needed(request) + 1
    short = request.size <= FIRST_READ_BYTES
    rows = parse_rows(first, dialect, complete=short, limit=None if short else needed)
    if len(rows) < needed and not short:
        rows = parse_rows(
            first + file.read(MAX_READ_BYTES - FIRST_READ_BYTES),
            dialect,
            complete=request.size <= MAX_READ_BYTES,
            limit=needed,
        )
    return _grid(rows, dialect, request, first)


def _grid(rows: list[list[str]], dialect: Dialect, request: PreviewRequest, first: bytes) -> Grid:
    whole = request.size <= FIRST_READ_BYTES
    names = rows[0] if dialect.has_header and rows else []
    body: list[Any] = rows[1:] if dialect.has_header else rows
    width = min(max(dialect.width, len(names)), MAX_COLUMNS)
    short = not whole and len(body) < min(rows_needed(request), MAX_ROWS)
    counted = whole or (short and request.size <= MAX_READ_BYTES)
    return Grid(
        names=[*names, *[""] * width][:width],
        rows=body[:MAX_ROWS],
        format_name=dialect.description if dialect.width != 1 else "one column",
        encoding=dialect.encoding,
        total=len(body) if counted else _estimate_rows(first, dialect, request),
        total_is_estimate=not counted,
        column_count=dialect.width,
        has_header=dialect.has_header,
        expected_fields=dialect.field_count,
        notes=_notes(first, dialect, request),
        max_rows=len(body) if short else MAX_ROWS,
    )


def _estimate_rows(first: bytes, dialect: Dialect, request: PreviewRequest) -> int:
    rows = len(parse_rows(first, dialect, complete=False, limit=None))
    last = first.rfind(b"\n") + 1 or len(first)
    return max(rows * request.size // last - dialect.has_header, 1)


def _notes(first: bytes, dialect: Dialect, request: PreviewRequest) -> list[str]:
    notes = []
    if dialect.assumed:
        notes.append(
            f"{dialect.encoding_name} is assumed: the text is too short to tell its encoding. "
            "If it looks wrong, choose another one below."
        )
    if dialect.comments:
        lines = "A comment line" if dialect.comments == 1 else f"{dialect.comments:,} comment lines"
        notes.append(f"{lines} before the table: see the source.")
    if not dialect.quoted:
        notes.append("A quotation mark is never closed, so quotation marks are shown as they are.")
    if b"\0" in first and not dialect.encoding.startswith("utf-16"):
        notes.append("The file contains NUL bytes, shown as ␀.")
    if request.size > len(first) and b"\n" not in first and b"\r" not in first:
        notes.append("The first line is longer than 1 MB.")
    notes += column_notes(dialect.width)
    if f".{request.extension}" in (*WORKBOOK_EXTENSIONS, ".parquet"):
        notes.append(f"The file's name ends in .{request.extension}, but it is text.")
    return notes


@dataclass(frozen=True, slots=True)
class RowCount:
    """State of a row count."""

    offset: int
    rows: int
    in_quotes: bool
    done: bool


_BLANK = re.compile(rb"\n\r?(?=\n)")
_ESCAPED_QUOTE = re.compile(rb'(?<!\\)((?:\\\\)*)\\"')
_CHUNK = 8 * 1024**2


def count_rows(file: BinaryIO, request: PreviewRequest, max_bytes: int) -> RowCount:
    """Count rows in up to ``max_bytes``, from where an earlier count ended."""
    file.seek(0)
    dialect = detect_dialect(file.read(FIRST_READ_BYTES), request)
    offset, rows = request.int_option("offset", dialect.start), request.int_option("rows")
    in_quotes = request.options.get("in_quotes") == "1"
    file.seek(offset)
    end, last = min(offset + max_bytes, request.size), b"\n"
    while offset < end and (chunk := file.read(min(_CHUNK, end - offset))):
        offset += len(chunk)
        if dialect.escaped and chunk.endswith(b"\\") and (more := file.read(1)):
            chunk, offset = chunk + more, offset + 1
        last = chunk[-1:]
        ends, in_quotes = _count_line_ends(_to_utf8(chunk, dialect), dialect, in_quotes=in_quotes)
        rows += ends
    done = offset >= request.size
    rows += (done and last not in b"\n\0") - (done and dialect.has_header)
    return RowCount(offset, rows, in_quotes, done)


def _to_utf8(chunk: bytes, dialect: Dialect) -> bytes:
    if dialect.encoding.startswith(("utf-16", "utf-32")):
        return chunk.decode(dialect.encoding, "replace").encode()
    return chunk


def _count_line_ends(chunk: bytes, dialect: Dialect, *, in_quotes: bool) -> tuple[int, bool]:
    if b"\n" not in chunk:
        chunk = chunk.replace(b"\r", b"\n")
    if dialect.escaped:
        chunk = _ESCAPED_QUOTE.sub(rb"\1", chunk)
    if not dialect.quoted or (b'"' not in chunk and not in_quotes):
        return chunk.count(b"\n") - _count_blank_lines(chunk), in_quotes
    parts = chunk.split(b'"')
    outside = parts[1 if in_quotes else 0 :: 2]
    ends = sum(part.count(b"\n") for part in outside)
    return ends - _count_blank_lines(b'"'.join(outside)), in_quotes ^ (len(parts) % 2 == 0)


def _count_blank_lines(chunk: bytes) -> int:
    if b"\n\n" in chunk or b"\n\r\n" in chunk:
        return len(_BLANK.findall(chunk))
    return 0
