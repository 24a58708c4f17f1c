"""Lines of JSON from a file that is not trusted, bounded before they are parsed."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from agent.errors import TraceError

MAX_LINE_BYTES = 16 * 1024**2
"""Maximum size of one line."""

MAX_LINES = 500_000
"""Maximum number of lines of one file."""

_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)


def read_lines(file: BinaryIO, name: str, max_values: int) -> Iterator[tuple[str, bytes]]:
    """Yield each complete line without its end, with its place for messages.

    An incomplete last line, left by a process that was killed, is left out. ``max_values`` limits
    the texts, arrays and objects in one line; numbers take little memory.
    """
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        place = f"{name}, line {number}"
        if len(line) > MAX_LINE_BYTES:
            raise TraceError(f"{place}: more than 16 MB.")
        if number > MAX_LINES:
            raise TraceError(f"{name}: more than {MAX_LINES:,} lines.")
        if not line.endswith(b"\n"):
            return
        if _has_more_values(line, max_values):
            raise TraceError(f"{place}: more than {max_values:,} values.")
        yield place, line[:-1]


def _has_more_values(line: bytes, most: int) -> bool:
    if line.count(b'"') // 2 + _brackets(line, 0, len(line)) <= most:
        return False  # even with the brackets in texts
    count = at = 0
    while (text := line.find(b'"', at)) >= 0 and count <= most:
        count += 1 + _brackets(line, at, text)
        found = _TEXT.match(line, text)
        at = found.end() if found else len(line)
    return count + _brackets(line, at, len(line)) > most


def _brackets(line: bytes, start: int, end: int) -> int:
    return line.count(b"[", start, end) + line.count(b"{", start, end)
