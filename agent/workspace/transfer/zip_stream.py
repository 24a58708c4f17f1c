"""A streamed zip file, uncompressed, so that its size is known before its first byte.

If a file is shorter when it is read, padding before the central directory, which readers ignore,
makes up for it; if it is longer, the rest is not read.
"""

import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from agent.errors import WorkspaceError

NOTE_NAME = "LEFT-OUT.txt"
_CHUNK = 1024**2
_MIN_CHUNK = 256 * 1024
_RESERVED_BYTES = 512
_MAX32, _MAX16 = 0xFFFFFFFF, 0xFFFF
_LOCAL_HEADER, _DIRECTORY_ENTRY = struct.Struct("<4s5H3I2H"), struct.Struct("<4s6H3I5H2I")
_DATA_DESCRIPTOR, _DATA_DESCRIPTOR64 = struct.Struct("<4s3I"), struct.Struct("<4sI2Q")
_END_RECORD = struct.Struct("<4s4H2IH")
_END64_RECORD, _END64_LOCATOR = struct.Struct("<4sQ2H2I4Q"), struct.Struct("<4sIQI")
_UTF8_FLAG, _DATA_DESCRIPTOR_FLAG = 0x800, 0x8


@dataclass(frozen=True, slots=True)
class Member:
    """A file or folder in the archive."""

    name: str  # below 64 KB; a folder's ends in ``/``
    size: int  # at most so much is read
    mtime: float
    mode: int
    open: Callable[[], BinaryIO] | None = None  # None for a folder


@dataclass(frozen=True, slots=True)
class _DirectoryEntry:
    """Central directory entry of a member."""

    member: Member
    offset: int
    size: int
    crc: int

    def encode(self) -> bytes:
        member, name = self.member, self.member.name.encode()
        large = [n for n in (self.size, self.size, self.offset) if n >= _MAX32]
        extra = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
        size, offset = min(self.size, _MAX32), min(self.offset, _MAX32)
        header = _DIRECTORY_ENTRY.pack(
            b"PK\1\2", 3 << 8 | 45, 45, _flags(member), 0, *_dos_time(member.mtime), self.crc,
            size, size, len(name), len(extra), 0, 0, 0, member.mode << 16, offset,
        )  # fmt: skip
        return header + name + extra


class ZipStream:
    """A zip archive; lines about omitted files (``skipped``) become a file at its end."""

    def __init__(
        self, members: Sequence[Member], skipped: Sequence[str] = (), note: str = NOTE_NAME
    ) -> None:
        self._members = members
        self._skipped = list(skipped)
        self._note = note
        offset, directory = _RESERVED_BYTES, 0
        for member in members:
            directory += len(_DirectoryEntry(member, offset, member.size, 0).encode())
            offset += len(_local_header(member)) + member.size + len(_data_descriptor(member, 0, 0))
        if skipped:
            offset += len(self._note_text())
        self._zip64 = offset + directory >= _MAX32 or len(members) >= _MAX16 - 1
        self.size = offset + directory + self._end_size

    def chunks(self) -> Iterator[bytes]:
        """Yield the archive in chunks of at least 256 KB, using constant memory."""
        buffer: list[bytes] = []
        size = 0
        for piece in self._pieces():
            buffer.append(piece)
            size += len(piece)
            if size >= _MIN_CHUNK:
                yield b"".join(buffer)
                buffer, size = [], 0
        yield b"".join(buffer)

    def _pieces(self) -> Iterator[bytes]:
        written: list[_DirectoryEntry] = []
        offset = 0
        for member in self._members:
            content = self._content(member)
            if content is None:
                continue
            yield (header := _local_header(member))
            size = crc = 0
            for piece in content:
                size, crc = size + len(piece), zlib.crc32(piece, crc)
                yield piece
            yield (tail := _data_descriptor(member, crc, size))
            written.append(_DirectoryEntry(member, offset, size, crc))
            offset += len(header) + size + len(tail)
        yield from self._trailer(written, offset)

    def _content(self, member: Member) -> Iterator[bytes] | None:
        """Open a member's content; record the error and return None if that fails."""
        try:
            return iter(()) if member.open is None else self._read(member, member.open())
        except (WorkspaceError, OSError) as error:
            self._skipped.append(str(error))
            return None

    def _read(self, member: Member, file: BinaryIO) -> Iterator[bytes]:
        left, why = member.size, "the file became shorter"
        with file:
            try:
                while left and (piece := file.read(min(_CHUNK, left))):
                    left -= len(piece)
                    yield piece
            except OSError as error:
                why = str(error)
        if left:
            self._skipped.append(f"{member.name}: its last {left} bytes, because {why}")

    def _trailer(self, written: list[_DirectoryEntry], offset: int) -> Iterator[bytes]:
        """Yield the note (cut to the space left), the padding and the central directory."""
        entries = b"".join(each.encode() for each in written)
        count = len(written)
        room = self.size - offset - len(entries) - self._end_size
        if self._skipped:
            note, entry = self._note_member(offset, room)
            yield note
            offset, room = offset + len(note), room - len(note) - len(entry)
            entries, count = entries + entry, count + 1
        while room:
            yield bytes(filling := min(room, _CHUNK))
            offset, room = offset + filling, room - filling
        yield entries
        yield self._end_records(count, len(entries), offset)

    def _note_member(self, offset: int, room: int) -> tuple[bytes, bytes]:
        """Return the note as a member, and its central directory entry."""
        empty = Member(self._note, 0, time.time(), stat.S_IFREG | 0o644)
        room -= len(_local_header(empty)) + len(_DirectoryEntry(empty, offset, 0, 0).encode())
        text = self._note_text()[:room].decode(errors="ignore").encode()
        member, crc = replace(empty, size=len(text)), zlib.crc32(text)
        return _local_header(member, crc) + text, _DirectoryEntry(
            member, offset, len(text), crc
        ).encode()

    def _end_records(self, count: int, size: int, offset: int) -> bytes:
        zip64_records = b""
        if self._zip64:
            zip64_records = _END64_RECORD.pack(
                b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset
            )
            zip64_records += _END64_LOCATOR.pack(b"PK\6\7", 0, offset + size, 1)
            count, size, offset = _MAX16, _MAX32, _MAX32
        return zip64_records + _END_RECORD.pack(b"PK\5\6", 0, 0, count, count, size, offset, 0)

    @property
    def _end_size(self) -> int:
        return _END_RECORD.size + (_END64_RECORD.size + _END64_LOCATOR.size if self._zip64 else 0)

    def _note_text(self) -> bytes:
        return "".join(f"{line}\n" for line in self._skipped).encode(errors="replace")


def _local_header(member: Member, crc: int = 0) -> bytes:
    """Return a member's local header; for files, CRC and sizes follow the content."""
    name, extra, size = member.name.encode(), b"", member.size
    if member.open is not None:
        size = 0
        if member.size >= _MAX32:
            size, extra = _MAX32, struct.pack("<2H2Q", 1, 16, 0, 0)
    flags, moment = _flags(member), _dos_time(member.mtime)
    header = _LOCAL_HEADER.pack(
        b"PK\3\4", 45, flags, 0, *moment, crc, size, size, len(name), len(extra)
    )
    return header + name + extra


def _data_descriptor(member: Member, crc: int, size: int) -> bytes:
    if member.open is None:
        return b""
    layout = _DATA_DESCRIPTOR64 if member.size >= _MAX32 else _DATA_DESCRIPTOR
    return layout.pack(b"PK\7\10", crc, size, size)


def _flags(member: Member) -> int:
    return _UTF8_FLAG | (_DATA_DESCRIPTOR_FLAG if member.open is not None else 0)


def _dos_time(seconds: float) -> tuple[int, int]:
    """Return zip time and date fields: local time, clamped to the years 1980 to 2107."""
    local = time.localtime(min(max(seconds, 315619200), 4354819199))
    date = (local.tm_year - 1980) << 9 | local.tm_mon << 5 | local.tm_mday
    return local.tm_hour << 11 | local.tm_min << 5 | min(local.tm_sec, 59) // 2, date
