"""Zip files whose members may be compressed with zstandard, unpacked as they are read."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, BinaryIO

import zstandard

from agent.errors import TraceError
from agent.util.wrapped_stream import WrappedStream

MAX_MEMBER_BYTES = 1024**3  # unpacked size of one member
MAX_DIRECTORY_BYTES = 8 * 1024**2  # of a zip file's list of members, which is read as a whole
_ZSTANDARD = 93  # which zipfile knows from Python 3.14 on
_HEADER_BYTES, _SIGNATURE = 30, b"PK\x03\x04"
_MAX_WINDOW = 64 * 1024**2


class ZipMembers:
    """The members of an open zip file."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, name: str) -> None:
        self._path = path
        self._archive = archive
        self._name = name
        self.infos = {info.filename: info for info in archive.infolist()}

    def open(self, member: str) -> io.BufferedReader:
        """Open a member; refuse a damaged, encrypted or unusually compressed one."""
        info, name = self.infos[member], f"{self._name}, {member[:80]}"
        try:
            if info.compress_type == _ZSTANDARD:
                return io.BufferedReader(_Bounded(_open_zstandard(self._path, info), name))
            return io.BufferedReader(_Bounded(self._archive.open(info), name))
        except (
            zipfile.BadZipFile,
            OSError,
            RuntimeError,
            ValueError,
            NotImplementedError,
        ) as error:
            raise TraceError(f"{name}: the member of the zip file cannot be read.") from error


@contextmanager
def open_zip(path: Path, name: str) -> Iterator[ZipMembers]:
    """Open a zip file once for all of its members; they can be read during the block."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(_ZipFile(io.FileIO(path)))
            archive = stack.enter_context(zipfile.ZipFile(file))
        except _DirectoryTooLong as error:
            raise TraceError(f"{name}: the zip file has too many members.") from error
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise TraceError(f"{name}: the zip file is damaged.") from error
        yield ZipMembers(path, archive, name)


class _DirectoryTooLong(ValueError):
    """The zip file's list of members is too long."""


class _ZipFile(io.BufferedReader):
    """A file that is never read as a whole; ``zipfile`` reads the list of members at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise _DirectoryTooLong
        return super().read(size)


def _open_zstandard(path: Path, info: zipfile.ZipInfo) -> IO[bytes]:
    file = path.open("rb")
    file.seek(info.header_offset)
    header = file.read(_HEADER_BYTES)
    if header[:4] != _SIGNATURE or len(header) < _HEADER_BYTES:
        file.close()
        raise zipfile.BadZipFile("no header")
    skipped = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    file.seek(skipped, io.SEEK_CUR)
    window = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    return window.stream_reader(
        io.BufferedReader(_Part(file, info.compress_size)), read_across_frames=True, closefd=True
    )


class _Part(WrappedStream):
    """The next bytes of a file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        super().__init__(file)
        self._left = size

    def _read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        return data


class _Bounded(WrappedStream):
    """A stream that ends in an error where it is longer than a member may be."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        super().__init__(stream)
        self._name = name
        self._left = MAX_MEMBER_BYTES

    def _read(self, size: int) -> bytes:
        try:
            data = self._stream.read(size)
        except (zstandard.ZstdError, zipfile.BadZipFile, EOFError, ValueError) as error:
            raise TraceError(f"{self._name}: the member of the zip file is damaged.") from error
        self._left -= len(data)
        if self._left < 0:
            raise TraceError(f"{self._name}: more than 1 GB when unpacked.")
        return data
