"""Paging of a text by byte offset; pages start at lines unless those are long."""

import os
import zlib
from dataclasses import dataclass
from typing import BinaryIO

from sandbox_ui.preview.text.encoding import Script, boundary, complete

FIRST = 24 * 1024
"""Bytes of the first page shown."""

PAGE = 48 * 1024
"""Maximum bytes of any other page."""


LINES = 1000
"""Maximum lines of a page."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a text.

    Attributes:
        start: Byte offset in the file.
        content: Bytes of the page.
        inside: Whether the page starts within a line.
    """

    start: int
    content: bytes
    inside: bool

    @property
    def end(self) -> int:
        """Offset of the next page."""
        return self.start + len(self.content)

    @property
    def sum(self) -> int:
        """Checksum that identifies the content."""
        return zlib.crc32(self.content)


class Paper:
    """Reader of a text in pages.

    Args:
        file: The text.
        script: Encoding and line endings.
    """

    def __init__(self, file: BinaryIO, script: Script) -> None:
        self._file, self.script = file, script
        self.size = file.seek(0, os.SEEK_END)

    def from_(self, start: int, most: int = PAGE) -> Page:
        """Return the page at an offset that is a valid page start."""
        start = min(max(start, self.script.mark), self.size)
        content = self.read(start, start + most)
        if start + most < self.size:
            last = self._find_last(content)
            content = content[: last or complete(content, self.script)]
        return Page(start, content[: self._end_of(content, LINES)], self._inside(start))

    def before(self, end: int, most: int = PAGE) -> Page:
        """Return the page that ends at an offset."""
        end = min(max(end, self.script.mark), self.size)
        start = max(end - most, self.script.mark)
        start += (start - self.script.mark) % self.script.unit
        content = self.read(start, end)
        if start > self.script.mark:
            skipped = self._skipped(content)
            start, content = start + skipped, content[skipped:]
        over = content.count(self.script.newline) - LINES
        skipped = self._end_of(content, over) if over > 0 else 0
        return Page(start + skipped, content[skipped:], self._inside(start + skipped))

    def around(self, offset: int) -> Page:
        """Return the page starting at the offset's line, or near it in a long line."""
        offset = min(max(offset, self.script.mark), self.size)
        begin = max(offset - FIRST, self.script.mark)
        begin += (begin - self.script.mark) % self.script.unit
        lead = self.read(begin, offset)
        line = self._find_last(lead)
        if line or begin == self.script.mark:
            return self.from_(begin + line)
        return self.from_(begin + boundary(lead, self.script))

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes between two offsets."""
        self._file.seek(start)
        return self._file.read(max(0, end - start))

    def _skipped(self, content: bytes) -> int:
        """Return the offset of the first line start, or else of the first character."""
        first = aligned(content, self.script.newline, self.script.unit)
        after = first + len(self.script.newline)
        return after if first >= 0 and after < len(content) else boundary(content, self.script)

    def _end_of(self, content: bytes, count: int) -> int:
        """Return the offset after ``count`` lines, or the length if there are fewer."""
        newline, at = self.script.newline, 0
        if content.count(newline) <= count:
            return len(content)
        for _ in range(count):
            found = aligned(content, newline, self.script.unit, at)
            if found < 0:
                return len(content)
            at = found + len(newline)
        return at

    def _find_last(self, content: bytes) -> int:
        """Return the offset of the last line start; 0 if there is none."""
        newline, unit = self.script.newline, self.script.unit
        found = content.rfind(newline)
        while found >= 0 and found % unit:
            found = content.rfind(newline, 0, found + len(newline) - 1)
        return found + len(newline) if found >= 0 else 0

    def _inside(self, start: int) -> bool:
        newline = self.script.newline
        return start > self.script.mark and self.read(start - len(newline), start) != newline


def aligned(content: bytes, words: bytes, unit: int, begin: int = 0) -> int:
    """Return the first offset of ``words`` at a character boundary; -1 if absent."""
    found = content.find(words, begin)
    while found >= 0 and found % unit:
        found = content.find(words, found + 1)
    return found


def lines(page: Page, script: Script) -> list[tuple[int, str]]:
    """Return the lines of a page as (offset, text) pairs."""
    newline = "\r" if script.ends == "cr" else "\n"
    found, offset = [], page.start
    if script.unit > 1:
        parts = [each.encode(script.encoding, "replace") for each in _split(page, script, newline)]
    else:
        parts = page.content.split(newline.encode(script.encoding))
    for part in parts:
        text = script.text(part)
        found.append((offset, text.removesuffix("\r") if _is_end(script) else text))
        offset += len(part) + len(script.newline)
    if page.content and found[-1][1] == "" and len(found) > 1:
        found.pop()
    return found if page.content else []


def _split(page: Page, script: Script, newline: str) -> list[str]:
    return script.text(page.content).split(newline)


def _is_end(script: Script) -> bool:
    return script.ends in ("crlf", "mixed")
