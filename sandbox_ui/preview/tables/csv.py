"""CSV and similar formats; detects delimiter, quotes, encoding and header."""

import codecs
import csv
import heapq  # noqa: F401 - most_common imports it, which a confined worker cannot
import io
import re
from collections import Counter, deque
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

from agent.util.charset import encoding_label, guess_encoding
from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.tables.columns import has_header
from sandbox_ui.preview.tables.grid import MAX_COLUMNS, MAX_ROWS, Grid, rows_needed
from sandbox_ui.preview.text.encoding import detect_bom

FIRST_READ_BYTES = 1024**2
"""Bytes used to detect the dialect; a file up to this size is read at once."""

MAX_READ_BYTES = 48 * 1024**2
"""Maximum bytes from which rows are read."""

_SAMPLE = 64 * 1024
_SAMPLE_LINES = 100
_MAX_QUOTED_LINES = 200
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
csv.field_size_limit(MAX_READ_BYTES * 2)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Encoding, delimiter, quotes, header and field count of a CSV file."""

    encoding: str
    encoding_name: str
    bom_length: int
    delimiter: str
    quoted: bool
    has_header: bool
    field_count: int
    width: int

    @property
    def description(self) -> str:
        """Description of the dialect."""
        return f"{_DELIMITERS.get(self.delimiter, 'one column')}, {self.encoding_name}"


def load(file: BinaryIO, request: PreviewRequest) -> Grid:
    """Load the first rows of a table.

    Raises:
        PreviewError: The file is not text.
    """
    first = file.read(FIRST_READ_BYTES)
    dialect = detect_dialect(first, request)
    needed = rows_needed(request) + 1
    short = request.size <= FIRST_READ_BYTES
    rows = _parse_rows(first, dialect, complete=short, limit=None if short else needed)
    if len(rows) < needed and not short:
        rows = _parse_rows(
            first + file.read(MAX_READ_BYTES - FIRST_READ_BYTES),
            dialect,
            complete=request.size <= MAX_READ_BYTES,
            limit=needed,
        )
    return _grid(rows, dialect, request, first)


def detect_dialect(first: bytes, request: PreviewRequest) -> Dialect:
    """Detect the dialect of a file's first bytes; option ``header`` overrides it.

    Raises:
        PreviewError: The bytes are not text.
    """
    encoding, label, bom_length = detect_encoding(first)
    text = first[bom_length : bom_length + _SAMPLE].decode(encoding, "replace")
    controls = sum(1 for c in text if (c < " " and c not in "\t\n\r\f\0") or c == "\ufffd")
    if controls > 0.1 * len(text):
        raise PreviewError("This is not a table, because it is not text.")
    delimiter = _detect_delimiter(text, request.extension)
    dialect = Dialect(encoding, label, bom_length, delimiter, True, False, 0, 0)
    quoted = not _has_unclosed_quote(first, dialect, complete=len(first) == request.size)
    dialect = Dialect(encoding, label, bom_length, delimiter, quoted, False, 0, 0)
    rows = _parse_rows(first, dialect, complete=len(first) == request.size, limit=1000)
    widths = Counter(len(row) for row in rows[:200])
    fields = widths.most_common(1)[0][0] if widths else 0
    header = has_header(rows[:_SAMPLE_LINES])
    if request.options.get("header") in ("0", "1"):
        header = request.options["header"] == "1" and bool(rows)
    width = max(map(len, rows), default=0)
    return Dialect(encoding, label, bom_length, delimiter, quoted, header, fields, width)


def detect_encoding(first: bytes) -> tuple[str, str, int]:
    """Return a text's codec, encoding name and byte order mark length."""
    codec, bom_length = detect_bom(first)
    if first[1:400:2].count(0) > 150 or (first[1:2] == b"\0" and first[3:4] == b"\0"):
        codec = codec or "utf-16-le"
    if not codec:
        try:
            codecs.getincrementaldecoder("utf-8")().decode(first)
            codec = "utf-8"
        except UnicodeDecodeError as error:
            codec = guess_encoding(first, error.start)
    if codec.startswith("utf"):
        return codec, codec.upper().removesuffix("-LE").removesuffix("-BE"), bom_length
    return codec, encoding_label(codec).replace("windows", "Windows"), 0


def _detect_delimiter(text: str, extension: str) -> str:
    lines = text.splitlines()
    lines = (lines[:-1] if len(lines) > 1 and len(text) >= _SAMPLE else lines)[:_SAMPLE_LINES]
    if not lines:
        return ","

    def score(delimiter: str) -> tuple[float, int]:
        rows = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        if not rows:
            return 0.0, 0
        fields, times = Counter(rows).most_common(1)[0]
        likely = {"tsv": "\t", "tab": "\t"}.get(extension, ",") == delimiter
        return (times / len(rows) + 0.1 * likely, fields) if fields > 1 else (0.0, 0)

    return max(_DELIMITERS, key=score)


def _parse_rows(
    content: bytes, dialect: Dialect, *, complete: bool, limit: int | None
) -> list[list[str]]:
    """Parse rows; skip blank ones and a last one that may be truncated."""
    text = content[dialect.bom_length :].decode(dialect.encoding, "replace")
    truncated = not complete
    if truncated and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE,
    )
    rows = list(islice((row for row in reader if row), limit))
    ended = limit is None or len(rows) < limit
    if (
        ended
        and truncated
        and dialect.quoted
        and len(rows) > 1
        and any("\n" in cell for cell in rows[-1])
    ):
        rows.pop()
    return rows


def _has_unclosed_quote(first: bytes, dialect: Dialect, *, complete: bool) -> bool:
    """Return whether an unclosed quote swallows the rest of the text."""
    text = first[dialect.bom_length :].decode(dialect.encoding, "replace")
    if '"' not in text:
        return False
    rows = deque(csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter), maxlen=1)
    lines = max((cell.count("\n") for cell in rows[0]), default=0) if rows else 0
    return lines > _MAX_QUOTED_LINES if not complete else lines > 0 and text.count('"') % 2 == 1


def _grid(rows: list[list[str]], dialect: Dialect, request: PreviewRequest, first: bytes) -> Grid:
    whole = request.size <= FIRST_READ_BYTES
    names = rows[0] if dialect.has_header and rows else []
    body: list[Any] = rows[1:] if dialect.has_header else rows
    width = min(max(dialect.width, len(names)), MAX_COLUMNS)
    short = not whole and len(body) < min(rows_needed(request), MAX_ROWS)
    total = (
        len(body)
        if whole or (short and request.size <= MAX_READ_BYTES)
        else _estimate_rows(first, dialect, request)
    )
    return Grid(
        names=[*names, *[""] * width][:width],
        rows=body[:MAX_ROWS],
        format_name=dialect.description,
        total=total,
        total_is_estimate=not whole and not (short and request.size <= MAX_READ_BYTES),
        column_count=dialect.width,
        has_header=dialect.has_header,
        expected_fields=dialect.field_count,
        notes=_notes(first, dialect, request),
        max_rows=len(body) if short else MAX_ROWS,
    )


def _estimate_rows(first: bytes, dialect: Dialect, request: PreviewRequest) -> int:
    rows = len(_parse_rows(first, dialect, complete=False, limit=None))
    last = first.rfind(b"\n") + 1 or len(first)
    return max(rows * request.size // last - dialect.has_header, 1)


def _notes(first: bytes, dialect: Dialect, request: PreviewRequest) -> list[str]:
    notes = []
    if not dialect.quoted:
        notes.append("A quotation mark is never closed, so quotation marks are shown as they are.")
    if b"\0" in first and not dialect.encoding.startswith("utf-16"):
        notes.append("The file contains NUL bytes, shown as ␀.")
    if request.size > len(first) and b"\n" not in first and b"\r" not in first:
        notes.append("The first line is longer than 1 MB.")
    if dialect.width > MAX_COLUMNS:
        notes.append(f"Only the first {MAX_COLUMNS:,} columns are shown.")
    if request.extension in ("xlsx", "xlsm", "xlsb", "xls", "ods", "parquet"):
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
_CHUNK = 8 * 1024**2


def count_rows(file: BinaryIO, request: PreviewRequest, max_bytes: int) -> RowCount:
    """Count rows in up to ``max_bytes`` bytes.

    Options ``offset``, ``rows`` and ``in_quotes`` continue an earlier count. Line ends within
    quotes and blank lines do not count.
    """
    file.seek(0)
    dialect = detect_dialect(file.read(FIRST_READ_BYTES), request)
    offset, rows = request.int_option("offset", dialect.bom_length), request.int_option("rows", 0)
    in_quotes = request.options.get("in_quotes") == "1"
    file.seek(offset)
    end, last = min(offset + max_bytes, request.size), b"\n"
    while offset < end and (chunk := file.read(min(_CHUNK, end - offset))):
        offset += len(chunk)
        last = chunk[-1:]
        ends, in_quotes = _count_line_ends(_to_utf8(chunk, dialect), dialect, in_quotes=in_quotes)
        rows += ends
    done = offset >= request.size
    return RowCount(
        offset,
        rows + (done and last not in b"\n\0") - (done and dialect.has_header),
        in_quotes,
        done,
    )


def _to_utf8(chunk: bytes, dialect: Dialect) -> bytes:
    if dialect.encoding.startswith(("utf-16", "utf-32")):
        return chunk.decode(dialect.encoding, "replace").encode()
    return chunk


def _count_line_ends(chunk: bytes, dialect: Dialect, *, in_quotes: bool) -> tuple[int, bool]:
    if b"\n" not in chunk:
        chunk = chunk.replace(b"\r", b"\n")
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
