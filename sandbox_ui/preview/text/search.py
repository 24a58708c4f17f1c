"""Search, line lookup and line counting in texts of any size.

Each call runs for a fraction of a second and returns the offset from which to continue.
"""

import re
import time
from collections.abc import Iterator

from sandbox_ui.preview.text.paging import TextPager, find_aligned

TIMEOUT_SECONDS = 0.4
MAX_MATCHES = 1000
"""Maximum matches per response."""

_CHUNK = 4 * 1024**2


def find_matches(
    pager: TextPager, query: str, *, match_case: bool, start: int, end: int
) -> dict[str, object]:
    """Return matches and where to continue (``next``)."""
    encoded, match_case = _encode_query(pager, query, match_case=match_case)
    if not encoded:
        return {"matches": [], "next": end}
    pattern = _pattern(pager, query) if not match_case and not query.isascii() else None
    if not match_case and pattern is None:
        encoded = encoded.lower()
    matches: list[int] = []
    next_offset = start
    for offset, content in _chunks(pager, start, end, len(encoded) + 8):
        haystack = content if match_case or pattern else content.lower()
        found = (
            _find_pattern(pattern, haystack, pager)
            if pattern
            else _find_exact(encoded, haystack, pager)
        )
        for position in found:
            if matches and offset + position < matches[-1] + len(encoded):
                continue
            matches.append(offset + position)
            if len(matches) >= MAX_MATCHES:
                return {"matches": matches, "next": matches[-1] + len(encoded)}
        next_offset = min(offset + _CHUNK, end)
    return {"matches": matches, "next": next_offset}


def count_lines(pager: TextPager, start: int, end: int) -> dict[str, object]:
    """Count line ends between two offsets.

    ``lines`` is the count and ``next`` where to continue; ``ends_within_line`` is true if the
    counted part ends within a line.
    """
    found, next_offset, last = 0, start, b""
    for offset, content in _chunks(pager, start, end):
        found += count_line_ends(pager, content)
        next_offset, last = offset + len(content), content[-4:]
    return {
        "lines": found,
        "next": next_offset,
        "ends_within_line": not last.endswith(pager.text_format.newline),
    }


def find_line(pager: TextPager, number: int, start: int, end: int) -> dict[str, object]:
    """Return the offset of the line ``number`` line ends after ``start``.

    ``offset`` is -1 if not found yet; then ``remaining`` line ends follow ``next``.
    """
    remaining, next_offset = number, start
    if remaining <= 0:
        return {"offset": start, "remaining": 0, "next": start}
    for offset, content in _chunks(pager, start, end):
        count = count_line_ends(pager, content)
        if count >= remaining:
            return {
                "offset": offset + _offset_after_line_ends(pager, content, remaining),
                "remaining": 0,
                "next": offset,
            }
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


def _encode_query(pager: TextPager, query: str, *, match_case: bool) -> tuple[bytes, bool]:
    try:
        return query.encode(
            pager.text_format.encoding
        ), match_case or query.lower() == query.upper()
    except UnicodeEncodeError:
        return b"", match_case


def _pattern(pager: TextPager, query: str) -> "re.Pattern[bytes]":
    """Return a case-insensitive pattern for the encoded words."""
    parts = []
    for char in query:
        variants = {char, char.lower(), char.upper(), char.title()}
        encodings = sorted(
            {_encode_character(pager, variant) for variant in variants} - {b""}, reverse=True
        )
        parts.append(b"(?:" + b"|".join(re.escape(encoding) for encoding in encodings) + b")")
    return re.compile(b"".join(parts), re.DOTALL)


def _encode_character(pager: TextPager, variant: str) -> bytes:
    try:
        return variant.encode(pager.text_format.encoding)
    except UnicodeEncodeError:
        return b""


def _find_pattern(pattern: "re.Pattern[bytes]", content: bytes, pager: TextPager) -> Iterator[int]:
    for match in pattern.finditer(content):
        if match.start() % pager.text_format.unit_size == 0 and match.start() < _CHUNK:
            yield match.start()


def _find_exact(encoded: bytes, content: bytes, pager: TextPager) -> Iterator[int]:
    at = find_aligned(content, encoded, pager.text_format.unit_size)
    while 0 <= at < _CHUNK:
        yield at
        at = find_aligned(content, encoded, pager.text_format.unit_size, at + len(encoded))
