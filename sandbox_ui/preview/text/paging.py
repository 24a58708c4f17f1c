"""Paging of a text by byte offset; pages start at lines unless those are long."""

import os
import zlib
from dataclasses import dataclass
from typing import BinaryIO

from sandbox_ui.preview.text.encoding import TextFormat, complete_length, continuation_length

FIRST_PAGE_BYTES = 24 * 1024
MAX_PAGE_BYTES = 48 * 1024
MAX_PAGE_LINES = 1000


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page of a text; ``start`` is its byte offset."""

    start: int
    content: bytes
    starts_within_line: bool

    @property
    def end(self) -> int:
        """Offset of the next page."""
        return self.start + len(self.content)

    @property
    def checksum(self) -> int:
        """Checksum that identifies the content."""
        return zlib.crc32(self.content)


class TextPager:
    """Reader of a text in pages."""

    def __init__(self, file: BinaryIO, text_format: TextFormat) -> None:
        self._file, self.text_format = file, text_format
        self._begin, self._unit = text_format.bom_length, text_format.unit_size
        self.size = file.seek(0, os.SEEK_END)

    def page_from(self, start: int, max_bytes: int = MAX_PAGE_BYTES) -> TextPage:
        """Return the page at an offset that is a valid page start."""
        start = min(max(start, self._begin), self.size)
        content = self.read(start, start + max_bytes)
        if start + max_bytes < self.size:
            last = self._last_line_start(content)
            content = content[: last or complete_length(content, self.text_format)]
        content = content[: self._offset_after_lines(content, MAX_PAGE_LINES)]
        return TextPage(start, content, self._starts_within_line(start))

    def page_before(self, end: int, max_bytes: int = MAX_PAGE_BYTES) -> TextPage:
        """Return the page that ends at an offset."""
        end = min(max(end, self._begin), self.size)
        start = max(end - max_bytes, self._begin)
        start += (start - self._begin) % self._unit
        content = self.read(start, end)
        if start > self._begin:
            skipped = self._first_line_start(content)
            start, content = start + skipped, content[skipped:]
        excess = content.count(self.text_format.newline) - MAX_PAGE_LINES
        skipped = self._offset_after_lines(content, excess) if excess > 0 else 0
        start, content = start + skipped, content[skipped:]
        return TextPage(start, content, self._starts_within_line(start))

    def page_around(self, offset: int) -> TextPage:
        """Return the page starting at the offset's line, or near it in a long line."""
        offset = min(max(offset, self._begin), self.size)
        begin = max(offset - FIRST_PAGE_BYTES, self._begin)
        begin += (begin - self._begin) % self._unit
        preceding = self.read(begin, offset)
        line = self._last_line_start(preceding)
        if line or begin == self._begin:
            return self.page_from(begin + line)
        return self.page_from(begin + continuation_length(preceding, self.text_format))

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes between two offsets."""
        self._file.seek(start)
        return self._file.read(max(0, end - start))

    def _first_line_start(self, content: bytes) -> int:
        """Return the offset of the first line start, or else of the first character."""
        first = find_aligned(content, self.text_format.newline, self._unit)
        after = first + len(self.text_format.newline)
        if first >= 0 and after < len(content):
            return after
        return continuation_length(content, self.text_format)

    def _offset_after_lines(self, content: bytes, count: int) -> int:
        """Return the offset after ``count`` lines, or the length if there are fewer."""
        newline, at = self.text_format.newline, 0
        if content.count(newline) <= count:
            return len(content)
        for _ in range(count):
            found = find_aligned(content, newline, self._unit, at)
            if found < 0:
                return len(content)
            at = found + len(newline)
        return at

    def _last_line_start(self, content: bytes) -> int:
        """Return the offset of the last line start; 0 if there is none."""
        newline, unit = self.text_format.newline, self._unit
        found = content.rfind(newline)
        while found >= 0 and found % unit:
            found = content.rfind(newline, 0, found + len(newline) - 1)
        return found + len(newline) if found >= 0 else 0

    def _starts_within_line(self, start: int) -> bool:
        newline = self.text_format.newline
        return start > self._begin and self.read(start - len(newline), start) != newline


def find_aligned(content: bytes, pattern: bytes, unit: int, begin: int = 0) -> int:
    """Return the first offset of ``pattern`` at a character boundary; -1 if absent."""
    found = content.find(pattern, begin)
    while found >= 0 and found % unit:
        found = content.find(pattern, found + 1)
    return found


def split_lines(page: TextPage, text_format: TextFormat) -> list[tuple[int, str]]:
    """Return the lines of a page as (offset, text) pairs."""
    newline = "\r" if text_format.line_ending == "cr" else "\n"
    if text_format.unit_size > 1:
        texts = text_format.decode(page.content).split(newline)
        parts = [each.encode(text_format.encoding, "replace") for each in texts]
    else:
        parts = page.content.split(text_format.newline)
    has_crlf = text_format.line_ending in ("crlf", "mixed")
    found, offset = [], page.start
    for part in parts:
        text = text_format.decode(part)
        found.append((offset, text.removesuffix("\r") if has_crlf else text))
        offset += len(part) + len(text_format.newline)
    if page.content and found[-1][1] == "" and len(found) > 1:
        found.pop()
    return found if page.content else []
