"""A streamed zip file whose size is known before its first byte.

Contents are stored uncompressed, so the file sizes found beforehand determine the size of the
archive. If a file is shorter when it is read, padding between the last member and the central
directory, which readers ignore, makes up for it; if it is longer, the rest is not read.
"""

import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from agent.errors import WorkspaceError

LEFT_OUT = "LEFT-OUT.txt"
_CHUNK = 1024**2
_GATHERED = 256 * 1024
_RESERVE = 512
_MOST32, _MOST16 = 0xFFFFFFFF, 0xFFFF
_LOCAL, _DIRECTORY = struct.Struct("<4s5H3I2H"), struct.Struct("<4s6H3I5H2I")
_LATER, _LATER64 = struct.Struct("<4s3I"), struct.Struct("<4sI2Q")
_END = struct.Struct("<4s4H2IH")
_END64, _FINDER = struct.Struct("<4sQ2H2I4Q"), struct.Struct("<4sIQI")
_UTF8, _SIZES_FOLLOW = 0x800, 0x8


@dataclass(frozen=True, slots=True)
class Member:
    """A file or folder in the archive.

    Attributes:
        name: Name in the archive, below 64 KB; a folder's ends in ``/``.
        size: Maximum number of bytes read from the file.
        mtime: Last change, in seconds since the epoch.
        mode: File mode, including the type.
        open: Opens the content; None for a folder.
    """

    name: str
    size: int
    mtime: float
    mode: int
    open: Callable[[], BinaryIO] | None = None


@dataclass(frozen=True, slots=True)
class _Written:
    """Central directory entry of a member."""

    member: Member
    offset: int
    size: int
    crc: int

    def entry(self) -> bytes:
        member, name = self.member, self.member.name.encode()
        large = [n for n in (self.size, self.size, self.offset) if n >= _MOST32]
        extra = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
        size, offset = min(self.size, _MOST32), min(self.offset, _MOST32)
        head = _DIRECTORY.pack(
            b"PK\1\2", 3 << 8 | 45, 45, _flags(member), 0, *_moment(member.mtime), self.crc,
            size, size, len(name), len(extra), 0, 0, 0, member.mode << 16, offset,
        )  # fmt: skip
        return head + name + extra


class Zip:
    """A zip archive.

    Args:
        members: Members in order, with unique names.
        left_out: Lines about omitted files, written to a note at the end of the archive.
        note: Name of the note.

    Attributes:
        size: Size in bytes.
    """

    def __init__(
        self, members: Sequence[Member], left_out: Sequence[str] = (), note: str = LEFT_OUT
    ) -> None:
        self._members = members
        self._left_out = list(left_out)
        self._note = note
        offset, directory = _RESERVE, 0
        for member in members:
            directory += len(_Written(member, offset, member.size, 0).entry())
            offset += len(_head(member)) + member.size + len(_tail(member, 0, 0))
        if left_out:
            offset += len(self._text())
        self._far = offset + directory >= _MOST32 or len(members) >= _MOST16 - 1
        self.size = offset + directory + self._end_size

    def chunks(self) -> Iterator[bytes]:
        """Yield the archive in chunks of at least 256 KB, using constant memory."""
        gathered: list[bytes] = []
        size = 0
        for piece in self._pieces():
            gathered.append(piece)
            size += len(piece)
            if size >= _GATHERED:
                yield b"".join(gathered)
                gathered, size = [], 0
        yield b"".join(gathered)

    def _pieces(self) -> Iterator[bytes]:
        written: list[_Written] = []
        offset = 0
        for member in self._members:
            content = self._content(member)
            if content is None:
                continue
            yield (head := _head(member))
            size = crc = 0
            for piece in content:
                size, crc = size + len(piece), zlib.crc32(piece, crc)
                yield piece
            yield (tail := _tail(member, crc, size))
            written.append(_Written(member, offset, size, crc))
            offset += len(head) + size + len(tail)
        yield from self._close(written, offset)

    def _content(self, member: Member) -> Iterator[bytes] | None:
        """Open a member's content; record the error and return None if that fails."""
        try:
            return iter(()) if member.open is None else self._read(member, member.open())
        except (WorkspaceError, OSError) as error:
            self._left_out.append(str(error))
            return None

    def _read(self, member: Member, file: BinaryIO) -> Iterator[bytes]:
        left, why = member.size, "it became shorter"
        with file:
            try:
                while left and (piece := file.read(min(_CHUNK, left))):
                    left -= len(piece)
                    yield piece
            except OSError as error:
                why = str(error)
        if left:
            self._left_out.append(f"{member.name}: its last {left} bytes, since {why}")

    def _close(self, written: list[_Written], offset: int) -> Iterator[bytes]:
        """Yield the note (cut to the space left), the padding and the central directory."""
        entries = b"".join(each.entry() for each in written)
        count = len(written)
        room = self.size - offset - len(entries) - self._end_size
        if self._left_out:
            note, entry = self._noted(offset, room)
            yield note
            offset, room = offset + len(note), room - len(note) - len(entry)
            entries, count = entries + entry, count + 1
        while room:
            yield bytes(filling := min(room, _CHUNK))
            offset, room = offset + filling, room - filling
        yield entries
        yield self._end(count, len(entries), offset)

    def _noted(self, offset: int, room: int) -> tuple[bytes, bytes]:
        """Return the note as a member, and its central directory entry."""
        empty = Member(self._note, 0, time.time(), stat.S_IFREG | 0o644)
        room -= len(_head(empty)) + len(_Written(empty, offset, 0, 0).entry())
        text = self._text()[:room].decode(errors="ignore").encode()
        member, crc = replace(empty, size=len(text)), zlib.crc32(text)
        return _head(member, crc) + text, _Written(member, offset, len(text), crc).entry()

    def _end(self, count: int, size: int, offset: int) -> bytes:
        far = b""
        if self._far:
            far = _END64.pack(b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset)
            far += _FINDER.pack(b"PK\6\7", 0, offset + size, 1)
            count, size, offset = _MOST16, _MOST32, _MOST32
        return far + _END.pack(b"PK\5\6", 0, 0, count, count, size, offset, 0)

    @property
    def _end_size(self) -> int:
        return _END.size + (_END64.size + _FINDER.size if self._far else 0)

    def _text(self) -> bytes:
        return "".join(f"{line}\n" for line in self._left_out).encode(errors="replace")


def _head(member: Member, crc: int = 0) -> bytes:
    """Return a member's local header; for files, CRC and sizes follow the content."""
    name, extra, size = member.name.encode(), b"", member.size
    if member.open is not None:
        size = 0
        if member.size >= _MOST32:
            size, extra = _MOST32, struct.pack("<2H2Q", 1, 16, 0, 0)
    flags, moment = _flags(member), _moment(member.mtime)
    head = _LOCAL.pack(b"PK\3\4", 45, flags, 0, *moment, crc, size, size, len(name), len(extra))
    return head + name + extra


def _tail(member: Member, crc: int, size: int) -> bytes:
    if member.open is None:
        return b""
    later = _LATER64 if member.size >= _MOST32 else _LATER
    return later.pack(b"PK\7\10", crc, size, size)


def _flags(member: Member) -> int:
    return _UTF8 | (_SIZES_FOLLOW if member.open is not None else 0)


def _moment(seconds: float) -> tuple[int, int]:
    """Return zip time and date fields: local time, clamped to the years 1980 to 2107."""
    at = time.localtime(min(max(seconds, 315619200), 4354819199))
    date = (at.tm_year - 1980) << 9 | at.tm_mon << 5 | at.tm_mday
    return at.tm_hour << 11 | at.tm_min << 5 | min(at.tm_sec, 59) // 2, date
