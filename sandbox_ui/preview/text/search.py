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
    pager: TextPager, query: str, *, case: bool, start: int, end: int
) -> dict[str, object]:
    """Return matches (``places``) and where the search stopped (``upto``)."""
    encoded, case = _encode_query(pager, query, case=case)
    if not encoded:
        return {"places": [], "upto": end}
    pattern = _pattern(pager, query) if not case and not query.isascii() else None
    if not case and pattern is None:
        encoded = encoded.lower()
    places: list[int] = []
    upto = start
    for offset, content in _chunks(pager, start, end, len(encoded) + 8):
        seen = content if case or pattern else content.lower()
        found = (
            _find_pattern(pattern, seen, pager) if pattern else _find_exact(encoded, seen, pager)
        )
        for place in found:
            if places and offset + place < places[-1] + len(encoded):
                continue
            places.append(offset + place)
            if len(places) >= MAX_MATCHES:
                return {"places": places, "upto": places[-1] + len(encoded)}
        upto = min(offset + _CHUNK, end)
    return {"places": places, "upto": upto}


def count_lines(pager: TextPager, start: int, end: int) -> dict[str, object]:
    """Count line ends between two offsets.

    ``lines`` is the count and ``upto`` where it stopped; ``open`` is true if the counted part
    ends within a line.
    """
    found, upto, last = 0, start, b""
    for offset, content in _chunks(pager, start, end):
        found += count_line_ends(pager, content)
        upto, last = offset + len(content), content[-4:]
    return {"lines": found, "upto": upto, "open": not last.endswith(pager.text_format.newline)}


def find_line(pager: TextPager, number: int, start: int, end: int) -> dict[str, object]:
    """Return the offset of the line ``number`` line ends after ``start``.

    The offset is ``at``, or -1 if not found yet; then ``left`` line ends remain after
    ``upto``.
    """
    left, upto = number, start
    if left <= 0:
        return {"at": start, "left": 0, "upto": start}
    for offset, content in _chunks(pager, start, end):
        here = count_line_ends(pager, content)
        if here >= left:
            return {
                "at": offset + _offset_after_line_ends(pager, content, left),
                "left": 0,
                "upto": offset,
            }
        left, upto = left - here, offset + len(content)
    return {"at": -1, "left": left, "upto": upto}


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


def _encode_query(pager: TextPager, query: str, *, case: bool) -> tuple[bytes, bool]:
    try:
        return query.encode(pager.text_format.encoding), case or query.lower() == query.upper()
    except UnicodeEncodeError:
        return b"", case


def _pattern(pager: TextPager, query: str) -> "re.Pattern[bytes]":
    """Return a case-insensitive pattern for the encoded words."""
    parts = []
    for char in query:
        forms = {char, char.lower(), char.upper(), char.title()}
        ways = sorted({_encode_character(pager, form) for form in forms} - {b""}, reverse=True)
        parts.append(b"(?:" + b"|".join(re.escape(way) for way in ways) + b")")
    return re.compile(b"".join(parts), re.DOTALL)


def _encode_character(pager: TextPager, form: str) -> bytes:
    try:
        return form.encode(pager.text_format.encoding)
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
