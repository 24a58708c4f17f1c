"""Search, line lookup and line counting in texts of any size.

Each call runs for a fraction of a second and returns the offset from which to continue.
"""

import re
import time
from collections.abc import Iterator

from sandbox_ui.preview.text.paging import Paper, aligned

SECONDS = 0.4
MOST = 1000
"""Maximum matches per response."""

_CHUNK = 4 * 1024**2


def find(paper: Paper, words: str, *, case: bool, start: int, end: int) -> dict[str, object]:
    """Return matches (``places``) and where the search stopped (``upto``)."""
    encoded, case = _encoded(paper, words, case=case)
    if not encoded:
        return {"places": [], "upto": end}
    pattern = _pattern(paper, words) if not case and not words.isascii() else None
    if not case and pattern is None:
        encoded = encoded.lower()
    places: list[int] = []
    upto = start
    for offset, content in _chunks(paper, start, end, len(encoded) + 8):
        seen = content if case or pattern else content.lower()
        found = _matches(pattern, seen, paper) if pattern else _finds(encoded, seen, paper)
        for place in found:
            if places and offset + place < places[-1] + len(encoded):
                continue
            places.append(offset + place)
            if len(places) >= MOST:
                return {"places": places, "upto": places[-1] + len(encoded)}
        upto = min(offset + _CHUNK, end)
    return {"places": places, "upto": upto}


def count(paper: Paper, start: int, end: int) -> dict[str, object]:
    """Count line ends between two offsets.

    ``lines`` is the count and ``upto`` where it stopped; ``open`` is true if the counted part
    ends within a line.
    """
    found, upto, last = 0, start, b""
    for offset, content in _chunks(paper, start, end):
        found += ends_in(paper, content)
        upto, last = offset + len(content), content[-4:]
    return {"lines": found, "upto": upto, "open": not last.endswith(paper.script.newline)}


def line(paper: Paper, number: int, start: int, end: int) -> dict[str, object]:
    """Return the offset of the line ``number`` line ends after ``start``.

    The offset is ``at``, or -1 if not found yet; then ``left`` line ends remain after
    ``upto``.
    """
    left, upto = number, start
    if left <= 0:
        return {"at": start, "left": 0, "upto": start}
    for offset, content in _chunks(paper, start, end):
        here = ends_in(paper, content)
        if here >= left:
            return {"at": offset + _nth(paper, content, left), "left": 0, "upto": offset}
        left, upto = left - here, offset + len(content)
    return {"at": -1, "left": left, "upto": upto}


def ends_in(paper: Paper, content: bytes) -> int:
    """Return the number of line ends in ``content``."""
    if paper.script.unit == 1:
        return content.count(paper.script.newline)
    return paper.script.text(content).count("\r" if paper.script.ends == "cr" else "\n")


def _nth(paper: Paper, content: bytes, number: int) -> int:
    newline, at = paper.script.newline, 0
    for _ in range(number):
        at = aligned(content, newline, paper.script.unit, at) + len(newline)
    return at


def _chunks(paper: Paper, start: int, end: int, more: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield chunks, each with ``more`` extra bytes, until the time limit (minimum 1)."""
    stop = time.monotonic() + SECONDS
    for offset in range(start, end, _CHUNK):
        yield offset, paper.read(offset, min(offset + _CHUNK + more, end))
        if time.monotonic() > stop:
            return


def _encoded(paper: Paper, words: str, *, case: bool) -> tuple[bytes, bool]:
    try:
        return words.encode(paper.script.encoding), case or words.lower() == words.upper()
    except UnicodeEncodeError:
        return b"", case


def _pattern(paper: Paper, words: str) -> "re.Pattern[bytes]":
    """Return a case-insensitive pattern for the encoded words."""
    parts = []
    for char in words:
        forms = {char, char.lower(), char.upper(), char.title()}
        ways = sorted({_form(paper, form) for form in forms} - {b""}, reverse=True)
        parts.append(b"(?:" + b"|".join(re.escape(way) for way in ways) + b")")
    return re.compile(b"".join(parts), re.DOTALL)


def _form(paper: Paper, form: str) -> bytes:
    try:
        return form.encode(paper.script.encoding)
    except UnicodeEncodeError:
        return b""


def _matches(pattern: "re.Pattern[bytes]", content: bytes, paper: Paper) -> Iterator[int]:
    for match in pattern.finditer(content):
        if match.start() % paper.script.unit == 0 and match.start() < _CHUNK:
            yield match.start()


def _finds(words: bytes, content: bytes, paper: Paper) -> Iterator[int]:
    at = aligned(content, words, paper.script.unit)
    while 0 <= at < _CHUNK:
        yield at
        at = aligned(content, words, paper.script.unit, at + len(words))
