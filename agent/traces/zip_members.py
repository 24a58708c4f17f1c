"""Members of zip files that may be compressed with zstandard, unpacked as they are read."""

import io
import zipfile
from pathlib import Path
from typing import IO, BinaryIO

import zstandard

from agent.errors import TraceError

MAX_MEMBER_BYTES = 1024**3
"""Maximum unpacked size of one member."""

_ZSTANDARD = 93  # which zipfile knows from Python 3.14 on
_HEADER_BYTES, _SIGNATURE = 30, b"PK\x03\x04"
_MAX_WINDOW = 64 * 1024**2


def open_member(path: Path, info: zipfile.ZipInfo, name: str) -> io.BufferedReader:
    """Open a member for reading.

    Args:
        path: The zip file.
        info: The member.
        name: The member's name, for messages.

    Raises:
        TraceError: It is damaged, encrypted or compressed in another way.
    """
    try:
        if info.compress_type == _ZSTANDARD:
            return io.BufferedReader(_Bounded(_open_zstandard(path, info), name))
        archive = zipfile.ZipFile(path)
        return io.BufferedReader(_Bounded(archive.open(info), name, archive))
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError, NotImplementedError) as error:
        raise TraceError(f"{name}: the member of the zip file cannot be read.") from error


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


class _Part(io.RawIOBase):
    """The next bytes of a file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self._file.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Bounded(io.RawIOBase):
    """A stream that ends in an error where it is longer than a member may be."""

    def __init__(self, stream: IO[bytes], name: str, archive: object = None) -> None:
        self._stream = stream
        self._name = name
        self._archive = archive
        self._left = MAX_MEMBER_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (zstandard.ZstdError, zipfile.BadZipFile, EOFError, ValueError) as error:
            raise TraceError(f"{self._name}: the member of the zip file is damaged.") from error
        self._left -= len(data)
        if self._left < 0:
            raise TraceError(f"{self._name}: more than 1 GB when unpacked.")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        if isinstance(self._archive, zipfile.ZipFile):
            self._archive.close()
        super().close()
