"""CSV and similar formats; detects delimiter, quotes, encoding and header."""

import codecs
import csv
import io
import re
from collections import Counter, deque
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

from charset_normalizer import from_bytes

from sandbox_ui.preview.base import Ask, Unreadable
from sandbox_ui.preview.tables.columns import is_date, is_number
from sandbox_ui.preview.tables.grid import COLUMNS, ROWS, Grid, needed

FIRST = 1024**2
"""Bytes used to detect the dialect; a file up to this size is read at once."""

MOST = 48 * 1024**2
"""Maximum bytes from which rows are read."""

_SAMPLE = 64 * 1024
_LINES = 100
_SWALLOWED = 200
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
csv.field_size_limit(MOST * 2)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Encoding, delimiter, quotes, header and field count of a CSV file."""

    encoding: str
    label: str
    begins: int
    delimiter: str
    quoted: bool
    header: bool
    fields: int
    width: int

    @property
    def form(self) -> str:
        """Description of the dialect."""
        return f"{_DELIMITERS.get(self.delimiter, 'one column')}, {self.label}"


def load(file: BinaryIO, ask: Ask) -> Grid:
    """Load the first rows of a table.

    Raises:
        Unreadable: The file is not text.
    """
    first = file.read(FIRST)
    dialect = dialect_of(first, ask)
    want = needed(ask) + 1
    short = ask.size <= FIRST
    rows = _rows(first, dialect, whole=short, want=None if short else want)
    if len(rows) < want and not short:
        rows = _rows(first + file.read(MOST - FIRST), dialect, whole=ask.size <= MOST, want=want)
    return _grid(rows, dialect, ask, first)


def dialect_of(first: bytes, ask: Ask) -> Dialect:
    """Detect the dialect of a file's first bytes; option ``header`` overrides it.

    Raises:
        Unreadable: The bytes are not text.
    """
    encoding, label, begins = encoding_of(first)
    text = first[begins : begins + _SAMPLE].decode(encoding, "replace")
    signs = sum(1 for sign in text if (sign < " " and sign not in "\t\n\r\f\0") or sign == "\ufffd")
    if signs > 0.1 * len(text):
        raise Unreadable("This is no table: it is not text.")
    delimiter = _delimiter(text, ask.ending)
    named = Dialect(encoding, label, begins, delimiter, True, False, 0, 0)
    quoted = not _swallows(first, named, whole=len(first) == ask.size)
    named = Dialect(encoding, label, begins, delimiter, quoted, False, 0, 0)
    rows = _rows(first, named, whole=len(first) == ask.size, want=1000)
    widths = Counter(len(row) for row in rows[:200])
    fields = widths.most_common(1)[0][0] if widths else 0
    header = _has_header(rows[:_LINES])
    if ask.options.get("header") in ("0", "1"):
        header = ask.options["header"] == "1" and bool(rows)
    width = max(map(len, rows), default=0)
    return Dialect(encoding, label, begins, delimiter, quoted, header, fields, width)


def encoding_of(first: bytes) -> tuple[str, str, int]:
    """Return a text's codec, encoding name and byte order mark length."""
    for mark, codec, label in _MARKS:
        if first.startswith(mark):
            return codec, label, len(mark)
    if first[1:400:2].count(0) > 150 or (first[1:2] == b"\0" and first[3:4] == b"\0"):
        return "utf-16-le", "UTF-16", 0
    try:
        codecs.getincrementaldecoder("utf-8")().decode(first)
        return "utf-8", "UTF-8", 0
    except UnicodeDecodeError as error:
        nearby = first[max(0, error.start - _SAMPLE // 2) :][:_SAMPLE]
    found = from_bytes(nearby).best()
    codec = found.encoding if found else "cp1252"
    western = nearby.decode("cp1252", "replace")
    if codec.startswith(("utf", "ascii")) or western == nearby.decode(codec, "replace"):
        codec = "cp1252"
    return codec, codec.replace("_", "-").replace("cp125", "Windows-125"), 0


def _delimiter(text: str, ending: str) -> str:
    lines = text.splitlines()
    lines = (lines[:-1] if len(lines) > 1 and len(text) >= _SAMPLE else lines)[:_LINES]
    if not lines:
        return ","

    def score(delimiter: str) -> tuple[float, int]:
        rows = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        if not rows:
            return 0.0, 0
        fields, times = Counter(rows).most_common(1)[0]
        likely = {"tsv": "\t", "tab": "\t"}.get(ending, ",") == delimiter
        return (times / len(rows) + 0.1 * likely, fields) if fields > 1 else (0.0, 0)

    return max(_DELIMITERS, key=score)


def _rows(content: bytes, dialect: Dialect, *, whole: bool, want: int | None) -> list[list[str]]:
    """Parse rows; skip blank ones and a last one that may be truncated."""
    text = content[dialect.begins :].decode(dialect.encoding, "replace")
    cut = not whole
    if cut and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE,
    )
    rows = list(islice((row for row in reader if row), want))
    ended = want is None or len(rows) < want
    if (
        ended
        and cut
        and dialect.quoted
        and len(rows) > 1
        and any("\n" in cell for cell in rows[-1])
    ):
        rows.pop()
    return rows


def _swallows(first: bytes, dialect: Dialect, *, whole: bool) -> bool:
    """Return whether an unclosed quote swallows the rest of the text."""
    text = first[dialect.begins :].decode(dialect.encoding, "replace")
    if '"' not in text:
        return False
    rows = deque(csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter), maxlen=1)
    lines = max((cell.count("\n") for cell in rows[0]), default=0) if rows else 0
    return lines > _SWALLOWED if not whole else lines > 0 and text.count('"') % 2 == 1


def _has_header(rows: list[list[str]]) -> bool:
    if len(rows) < 2:
        return False
    head = rows[0]
    filled = [cell.strip() for cell in head if cell.strip()]
    if not filled or len(filled) < 0.5 * len(head):
        return False
    return not any(is_number(cell) or is_date(cell) for cell in filled) and len(set(filled)) == len(
        filled
    )


def _grid(rows: list[list[str]], dialect: Dialect, ask: Ask, first: bytes) -> Grid:
    whole = ask.size <= FIRST
    names = rows[0] if dialect.header and rows else []
    body: list[Any] = rows[1:] if dialect.header else rows
    width = min(max(dialect.width, len(names)), COLUMNS)
    short = not whole and len(body) < min(needed(ask), ROWS)
    total = len(body) if whole or (short and ask.size <= MOST) else _estimate(first, dialect, ask)
    return Grid(
        names=[*names, *[""] * width][:width],
        rows=body[:ROWS],
        form=dialect.form,
        total=total,
        about=not whole and not (short and ask.size <= MOST),
        columns=dialect.width,
        header=dialect.header,
        fields=dialect.fields,
        notes=_notes(first, dialect, ask),
        most=len(body) if short else ROWS,
    )


def _estimate(first: bytes, dialect: Dialect, ask: Ask) -> int:
    rows = len(_rows(first, dialect, whole=False, want=None))
    last = first.rfind(b"\n") + 1 or len(first)
    return max(rows * ask.size // last - dialect.header, 1)


def _notes(first: bytes, dialect: Dialect, ask: Ask) -> list[str]:
    notes = []
    if not dialect.quoted:
        notes.append("A quote is never closed, so quotes are shown as they stand.")
    if b"\0" in first and not dialect.encoding.startswith("utf-16"):
        notes.append("It holds NUL bytes, shown as ␀.")
    if ask.size > len(first) and b"\n" not in first and b"\r" not in first:
        notes.append("Its first line is longer than 1 MB.")
    if dialect.width > COLUMNS:
        notes.append(f"Only the first {COLUMNS:,} columns are shown.")
    if ask.ending in ("xlsx", "xlsm", "xls", "ods", "parquet"):
        notes.append(f"Its name ends in .{ask.ending}, but it is text.")
    return notes


@dataclass(frozen=True, slots=True)
class Counted:
    """State of a row count."""

    at: int
    rows: int
    inside: bool
    done: bool


_BLANK = re.compile(rb"\n\r?(?=\n)")
_CHUNK = 8 * 1024**2


def count(file: BinaryIO, ask: Ask, most: int) -> Counted:
    """Count rows in up to ``most`` bytes.

    Options ``at``, ``rows`` and ``inside`` continue an earlier count. Line ends within quotes
    and blank lines do not count.
    """
    file.seek(0)
    dialect = dialect_of(file.read(FIRST), ask)
    at, rows = ask.number("at", dialect.begins), ask.number("rows", 0)
    inside = ask.options.get("inside") == "1"
    file.seek(at)
    end, last = min(at + most, ask.size), b"\n"
    while at < end and (chunk := file.read(min(_CHUNK, end - at))):
        at += len(chunk)
        last = chunk[-1:]
        ends, inside = _line_ends(_narrow(chunk, dialect), dialect, inside=inside)
        rows += ends
    done = at >= ask.size
    return Counted(
        at, rows + (done and last not in b"\n\0") - (done and dialect.header), inside, done
    )


def _narrow(chunk: bytes, dialect: Dialect) -> bytes:
    if dialect.encoding.startswith(("utf-16", "utf-32")):
        return chunk.decode(dialect.encoding, "replace").encode()
    return chunk


def _line_ends(chunk: bytes, dialect: Dialect, *, inside: bool) -> tuple[int, bool]:
    if b"\n" not in chunk:
        chunk = chunk.replace(b"\r", b"\n")
    if not dialect.quoted or (b'"' not in chunk and not inside):
        return chunk.count(b"\n") - _blank(chunk), inside
    parts = chunk.split(b'"')
    outside = parts[1 if inside else 0 :: 2]
    ends = sum(part.count(b"\n") for part in outside)
    return ends - _blank(b'"'.join(outside)), inside ^ (len(parts) % 2 == 0)


def _blank(chunk: bytes) -> int:
    if b"\n\n" in chunk or b"\n\r\n" in chunk:
        return len(_BLANK.findall(chunk))
    return 0
