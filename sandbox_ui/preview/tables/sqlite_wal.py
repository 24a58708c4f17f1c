"""The write-ahead log of an SQLite database (https://www.sqlite.org/fileformat.html#walformat)."""

import struct
from dataclasses import dataclass
from typing import BinaryIO, Self

MAX_LOG_BYTES = 64 * 1024**2
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}  # byte order of the checksums
_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class WriteAheadLog:
    """The committed pages of a log: their positions by number; ``count`` is the database's."""

    content: bytes
    page_size: int
    pages: dict[int, int]
    count: int

    @classmethod
    def read(cls, file: BinaryIO) -> Self:
        """Read a log; raise ``OverflowError`` if it is larger than ``MAX_LOG_BYTES``."""
        content = file.read(MAX_LOG_BYTES + 1)
        if len(content) > MAX_LOG_BYTES:
            raise OverflowError
        return cls(content, *_committed_pages(content))

    def apply(self, database: bytearray) -> None:
        """Write the pages into the database."""
        for number, at in self.pages.items():
            start = (number - 1) * self.page_size
            database.extend(bytes(max(0, start - len(database))))
            database[start : start + self.page_size] = self.content[at : at + self.page_size]
        del database[self.count * self.page_size :]


def _committed_pages(content: bytes) -> tuple[int, dict[int, int], int]:
    """Return the page size, each page's position in the log, and the database's pages."""
    if len(content) < _HEADER.size:
        return 0, {}, 0
    magic, _, page_size, _, *salt, first, second = _HEADER.unpack_from(content)
    order = _MAGIC.get(magic, "")
    if not order or page_size not in {2**power for power in range(9, 17)}:
        return 0, {}, 0
    checksum = _checksum(content[:24], order, (0, 0))
    written: dict[int, int] = {}
    committed: dict[int, int] = {}
    at, count = _HEADER.size, 0
    while checksum == (first, second) and at + _FRAME.size + page_size <= len(content):
        page, size, *frame_salt, first, second = _FRAME.unpack_from(content, at)
        data = at + _FRAME.size
        checksum = _checksum(content[at : at + 8], order, checksum)
        checksum = _checksum(content[data : data + page_size], order, checksum)
        if frame_salt != salt or checksum != (first, second) or not page:
            break
        written[page] = data
        if size:
            committed |= written
            written, count = {}, size
        at = data + page_size
    pages = {page: position for page, position in committed.items() if page <= count}
    return page_size, pages, count


def _checksum(content: bytes, order: str, before: tuple[int, int]) -> tuple[int, int]:
    one, two = before
    for first, second in struct.iter_unpack(f"{order}II", content):
        one = (one + first + two) & _MASK
        two = (two + second + one) & _MASK
    return one, two
