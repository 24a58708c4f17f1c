"""Lines of a file that is not trusted, bounded before they are parsed."""

from collections.abc import Iterator
from typing import BinaryIO

from agent.errors import TraceError

MAX_LINE_BYTES = 16 * 1024**2
"""Maximum size of one line."""

MAX_LINES = 500_000
"""Maximum number of lines of one file."""


def read_lines(file: BinaryIO, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield each complete line without its end, with its place for messages.

    An incomplete last line, left by a process that was killed, is left out.

    Args:
        file: The file.
        name: Its name, for messages.

    Raises:
        TraceError: A line is too long, or there are too many.
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
        yield place, line[:-1]
