"""Dialect of CSV and similar formats: encoding, delimiter, quotes, lines before the table."""

import codecs
import csv
import heapq  # noqa: F401 - most_common imports it, which a confined worker cannot
import io
import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from agent.util.charset.guess import Guess, encoding_label, guess_encoding, normalize_encoding
from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.tables.columns import has_header
from sandbox_ui.preview.text.encoding import detect_bom
from sandbox_ui.preview.text.paging import find_aligned

_SAMPLE = 64 * 1024
_SAMPLE_LINES = 100
_MAX_QUOTED_LINES = 200
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_STATED_DELIMITER = re.compile(r'"?sep=([^\w\s"]|\t)"?', re.IGNORECASE)
_ESCAPED_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)\\"')
_ESCAPED_QUOTE_IN_FIELD = re.compile(r'\\"(?! *(?:[,;|\t\r\n]|$))')


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is read."""

    encoding: str
    assumed: bool = False  # the text is too short to tell the encoding
    start: int = 0  # of the first row: after a byte order mark and lines before the table
    comments: int = 0  # lines before the table
    delimiter: str = ","
    quoted: bool = True
    escaped: bool = False  # a backslash precedes quotation marks within a field
    has_header: bool = False
    field_count: int = 0
    width: int = 0

    @property
    def description(self) -> str:
        """Description of the delimiter."""
        return _DELIMITERS.get(self.delimiter, f"delimiter {self.delimiter}")

    @property
    def encoding_name(self) -> str:
        """Usual name of the encoding."""
        if self.encoding.startswith("utf"):
            return self.encoding.upper().removesuffix("-LE").removesuffix("-BE")
        return encoding_label(self.encoding).upper().replace("WINDOWS", "Windows")

    def unescape(self, text: str) -> str:
        """Return the text with quotation marks doubled, as ``csv`` expects them."""
        return _ESCAPED_QUOTE.sub(r'\1""', text) if self.escaped else text


def detect_dialect(first: bytes, request: PreviewRequest) -> Dialect:
    """Detect a file's dialect; the options ``encoding`` and ``header`` override it."""
    guess, bom_length = _detect_encoding(first, request)
    text = first[bom_length : bom_length + _SAMPLE].decode(guess.encoding, "replace")
    controls = sum(1 for c in text if (c < " " and c not in "\t\n\r\f\0") or c == "\ufffd")
    if controls > 0.1 * len(text):
        raise PreviewError("This is not a table, because it is not text.")
    dialect = Dialect(guess.encoding, guess.assumed, bom_length)
    dialect = _skip_lines_before(first, text, dialect, request.extension)
    complete = len(first) == request.size
    dialect = replace(dialect, escaped=_has_escaped_quotes(first, dialect, complete=complete))
    dialect = replace(dialect, quoted=not _has_unclosed_quote(first, dialect, complete=complete))
    rows = parse_rows(first, dialect, complete=complete, limit=1000)
    header = has_header(rows[:_SAMPLE_LINES], request)
    fields = _usual_width(rows[:200])[0]
    width = max(map(len, rows), default=0)
    return replace(dialect, has_header=header, field_count=fields, width=width)


def parse_rows(
    content: bytes, dialect: Dialect, *, complete: bool, limit: int | None
) -> list[list[str]]:
    """Parse rows; skip blank ones and a last one that may be truncated."""
    text = content[dialect.start :].decode(dialect.encoding, "replace")
    truncated = not complete
    if truncated and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    rows = list(islice((row for row in _reader(text, dialect) if row), limit))
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


def _reader(text: str, dialect: Dialect) -> Iterator[list[str]]:
    return csv.reader(
        io.StringIO(dialect.unescape(text), newline=""),
        delimiter=dialect.delimiter,
        quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE,
    )


def _detect_encoding(first: bytes, request: PreviewRequest) -> tuple[Guess, int]:
    """Return a text's encoding and the length of its byte order mark."""
    codec, bom_length = detect_bom(first)
    chosen = normalize_encoding(request.options.get("encoding", ""))
    if chosen:
        return Guess(chosen), bom_length if chosen == codec else 0
    if first[1:400:2].count(0) > 150 or (first[1:2] == b"\0" and first[3:4] == b"\0"):
        codec = codec or "utf-16-le"
    if codec:
        return Guess(codec), bom_length
    try:
        codecs.getincrementaldecoder("utf-8")().decode(first)
    except UnicodeDecodeError as error:
        return guess_encoding(first, error.start, request.languages), 0
    return Guess("utf-8"), 0


def _skip_lines_before(first: bytes, text: str, dialect: Dialect, extension: str) -> Dialect:
    """Return the dialect with its delimiter, and its start after other lines than rows.

    These are ``sep=;``, which Excel reads, and comments. A comment with as many fields as the rows
    is the header, as in ``#CHROM`` of genome data.
    """
    lines = text.splitlines()
    lines = lines[:-1] if len(lines) > 1 and len(text) >= _SAMPLE else lines
    stated = _STATED_DELIMITER.fullmatch(lines[0]) if lines else None
    skipped = 1 if stated else 0
    comments = len(list(takewhile(lambda line: line.startswith("#"), lines[skipped:])))
    body = lines[skipped + comments :][:_SAMPLE_LINES]
    delimiter = stated[1] if stated else _detect_delimiter(body or lines, extension)
    width = _usual_width(list(csv.reader(body, delimiter=delimiter)))[0]
    if width < 2:
        comments = 0
    while (
        comments
        and len(next(csv.reader([lines[skipped + comments - 1]], delimiter=delimiter))) == width
    ):
        comments -= 1
    start = _offset_after_lines(first, dialect, skipped + comments)
    return replace(dialect, start=start, comments=comments, delimiter=delimiter)


def _offset_after_lines(first: bytes, dialect: Dialect, count: int) -> int:
    newline = "\n".encode(dialect.encoding)
    unit = len(newline)
    newline = newline if newline in first else "\r".encode(dialect.encoding)
    at = dialect.start
    for _ in range(count):
        found = find_aligned(first, newline, unit, at)
        if found < 0:
            return len(first)
        at = found + unit
    return at


def _detect_delimiter(lines: list[str], extension: str) -> str:
    def score(delimiter: str) -> tuple[float, int]:
        rows = [row for row in csv.reader(lines[:_SAMPLE_LINES], delimiter=delimiter) if row]
        fields, share = _usual_width(rows)
        likely = {"tsv": "\t", "tab": "\t"}.get(extension, ",") == delimiter
        return (share + 0.1 * likely, fields) if fields > 1 else (0.0, 0)

    return max(_DELIMITERS, key=score)


def _usual_width(rows: list[list[str]]) -> tuple[int, float]:
    """Return the most frequent number of fields, and the share of rows that have it."""
    widths = Counter(len(row) for row in rows if row)
    if not widths:
        return 0, 0.0
    width, times = widths.most_common(1)[0]
    return width, times / widths.total()


def _has_escaped_quotes(first: bytes, dialect: Dialect, *, complete: bool) -> bool:
    """Return whether backslashes before quotation marks are escapes, not the end of a path."""
    text = first[dialect.start :].decode(dialect.encoding, "replace")
    if not _ESCAPED_QUOTE_IN_FIELD.search(text):
        return False
    plain, escaped = (
        _usual_width(parse_rows(first, each, complete=complete, limit=1000))[1]
        for each in (dialect, replace(dialect, escaped=True))
    )
    return escaped >= plain


def _has_unclosed_quote(first: bytes, dialect: Dialect, *, complete: bool) -> bool:
    """Return whether an unclosed quote swallows the rest of the text."""
    text = first[dialect.start :].decode(dialect.encoding, "replace")
    if '"' not in text:
        return False
    rows = deque(_reader(text, dialect), maxlen=1)
    lines = max((cell.count("\n") for cell in rows[0]), default=0) if rows else 0
    odd = dialect.unescape(text).count('"') % 2 == 1
    return lines > _MAX_QUOTED_LINES if not complete else lines > 0 and odd
