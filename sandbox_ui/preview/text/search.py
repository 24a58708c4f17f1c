"""Searches in texts of any size, in short steps: each returns the offset to continue from."""

import re
import time
from collections.abc import Iterator

from sandbox_ui.preview.text.paging import TextPager, find_aligned

TIMEOUT_SECONDS = 0.4
MAX_MATCHES = 1000  # per response
_CHUNK = 4 * 1024**2


def find_matches(
    pager: TextPager, query: str, *, match_case: bool, start: int, end: int
) -> dict[str, object]:
    """Return matches and where to continue (``next``)."""
    encoded, match_case = _encode(pager, query), match_case or query.lower() == query.upper()
    if not encoded:
        return {"matches": [], "next": end}
    pattern = _pattern(pager, query) if not match_case and not query.isascii() else None
    if not match_case and pattern is None:
        encoded = encoded.lower()
    matches: list[int] = []
    next_offset = start
    for offset, content in _chunks(pager, start, end, len(encoded) + 8):
        haystack = content if match_case or pattern else content.lower()
        for position in _positions(pattern or encoded, haystack, pager.text_format.unit_size):
            if matches and offset + position < matches[-1] + len(encoded):
                continue
            matches.append(offset + position)
            if len(matches) >= MAX_MATCHES:
                return {"matches": matches, "next": matches[-1] + len(encoded)}
        next_offset = min(offset + _CHUNK, end)
    return {"matches": matches, "next": next_offset}


def count_lines(pager: TextPager, start: int, end: int) -> dict[str, object]:
    """Return the ``lines`` between two offsets, where to continue, and if that is in a line."""
    found, next_offset, last = 0, start, b""
    for offset, content in _chunks(pager, start, end):
        found += count_line_ends(pager, content)
        next_offset, last = offset + len(content), content[-4:]
    within = not last.endswith(pager.text_format.newline)
    return {"lines": found, "next": next_offset, "ends_within_line": within}


def find_line(pager: TextPager, number: int, start: int, end: int) -> dict[str, object]:
    """Return the offset after ``number`` line ends, or -1 and how many ``remaining`` follow."""
    remaining, next_offset = number, start
    if remaining <= 0:
        return {"offset": start, "remaining": 0, "next": start}
    for offset, content in _chunks(pager, start, end):
        count = count_line_ends(pager, content)
        if count >= remaining:
            after = _offset_after_line_ends(pager, content, remaining)
            return {"offset": offset + after, "remaining": 0, "next": offset}
        remaining, next_offset = remaining - count, offset + len(content)
    return {"offset": -1, "remaining": remaining, "next": next_offset}


def count_line_ends(pager: TextPager, content: bytes) -> int:
    """Return the number of line ends in ``content``."""
    if pager.text_format.unit_size == 1:
        return content.count(pager.text_format.newline)
    return pager.text_format.decode(content).count(
        "\r" if pager.text_format.line_ending == "cr" else "\n"
    )


def _offset_after_line_ends(pager: TextPager, content: bytes, number: int) -> int:
    newline, at = pager.text_format.newline, 0
    for _ in range(number):
        at = find_aligned(content, newline, pager.text_format.unit_size, at) + len(newline)
    return at


def _chunks(
    pager: TextPager, start: int, end: int, overlap: int = 0
) -> Iterator[tuple[int, bytes]]:
    """Yield chunks, each with ``overlap`` extra bytes, until the time limit (minimum 1)."""
    stop = time.monotonic() + TIMEOUT_SECONDS
    for offset in range(start, end, _CHUNK):
        yield offset, pager.read(offset, min(offset + _CHUNK + overlap, end))
        if time.monotonic() > stop:
            return


def _encode(pager: TextPager, text: str) -> bytes:
    """Encode a text as the file; empty if that is not possible."""
    try:
        return text.encode(pager.text_format.encoding)
    except UnicodeEncodeError:
        return b""


def _pattern(pager: TextPager, query: str) -> re.Pattern[bytes]:
    """Return a case-insensitive pattern for the encoded words."""
    parts = []
    for char in query:
        variants = {char, char.lower(), char.upper(), char.title()}
        encodings = sorted({_encode(pager, each) for each in variants} - {b""}, reverse=True)
        parts.append(b"(?:" + b"|".join(re.escape(encoding) for encoding in encodings) + b")")
    return re.compile(b"".join(parts), re.DOTALL)


def _positions(query: bytes | re.Pattern[bytes], content: bytes, unit: int) -> Iterator[int]:
    if isinstance(query, re.Pattern):
        starts = (match.start() for match in query.finditer(content))
        yield from (at for at in starts if at % unit == 0 and at < _CHUNK)
        return
    at = find_aligned(content, query, unit)
    while 0 <= at < _CHUNK:
        yield at
        at = find_aligned(content, query, unit, at + len(query))
