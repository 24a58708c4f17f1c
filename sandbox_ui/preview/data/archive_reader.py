"""Reader of archives: zip, tar or a single compressed file."""

import bz2
import gzip
import lzma
import os
import stat
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import BinaryIO, cast

from sandbox_ui.preview.base import PreviewError

MAX_ENTRIES = 200_000
"""Maximum entries listed."""

MAX_UNPACKED_BYTES = 2 * 1024**3
"""Maximum bytes unpacked to list a compressed tar."""

TIMEOUT_SECONDS = 8.0
"""Time limit for listing, in seconds."""

MAX_MEMBER_BYTES = 40 * 1024**2
"""Maximum size of a member to preview or download, in bytes."""

READ_ERRORS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)
_OPENERS: dict[bytes, tuple[str, Callable[[BinaryIO], object]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZ": ("bzip2", bz2.BZ2File),
    b"\xfd7": ("xz", lzma.LZMAFile),
}
_TAR_KINDS = {
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "link",
    tarfile.LNKTYPE: "link",
    tarfile.CHRTYPE: "device",
    tarfile.BLKTYPE: "device",
    tarfile.FIFOTYPE: "pipe",
}
_ENCRYPTED = 1
_TRUNCATED_NOTE = "The archive is damaged or truncated: nothing after the last entry can be read."


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """Archive entry; ``kind`` is empty for a readable file."""

    name: str
    size: int
    compressed_size: int | None = None
    modified: str = ""
    kind: str = ""
    link_target: str = ""


@dataclass(slots=True)
class Archive:
    """The entries read from an archive, and a function that unpacks one of them."""

    format_name: str
    entries: list[ArchiveEntry]
    unpack: Callable[[int], BinaryIO]
    notes: list[str] = field(default_factory=list)
    truncated: bool = False


def open_archive(file: BinaryIO, name: str) -> Archive:
    """List an archive; a compressed tar must be unpacked completely for this."""
    head = file.read(512)
    file.seek(0)
    if not head:
        raise PreviewError("This file is empty.")
    if head[:2] == b"PK":
        return _open_zip(file)
    if head[:2] in _OPENERS:
        format_name, opener = _OPENERS[head[:2]]
        return _open_compressed(file, cast(BinaryIO, opener(file)), format_name, name)
    if head[257:262] == b"ustar" or name.lower().endswith(".tar"):
        return _open_tar(file, "tar")
    raise PreviewError("This is not an archive of a supported format.")


def _open_zip(file: BinaryIO) -> Archive:
    try:
        archive = zipfile.ZipFile(file)
    except READ_ERRORS:
        raise PreviewError(
            "This archive is damaged or truncated: the list of its contents at its end is missing."
        ) from None
    members = archive.infolist()
    listed = members[:MAX_ENTRIES]
    return Archive(
        "zip",
        [_zip_entry(member) for member in listed],
        lambda at: cast(BinaryIO, archive.open(listed[at])),
        truncated=len(members) > MAX_ENTRIES,
    )


def _zip_entry(member: zipfile.ZipInfo) -> ArchiveEntry:
    kind = ""
    if member.is_dir():
        kind = "folder"
    elif stat.S_ISLNK(member.external_attr >> 16):
        kind = "link"
    elif member.flag_bits & _ENCRYPTED:
        kind = "locked"
    year, month, day, hour, minute, _ = member.date_time
    modified = f"{year}-{month:02}-{day:02} {hour:02}:{minute:02}"
    return ArchiveEntry(member.filename, member.file_size, member.compress_size, modified, kind)


class _LimitedReader:
    """Compressed file with limits on bytes read and time."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = time.monotonic() + TIMEOUT_SECONDS

    def read(self, size: int = -1) -> bytes:
        if self._file.tell() > MAX_UNPACKED_BYTES or time.monotonic() > self._end:
            raise _LimitExceeded
        return self._file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        while whence == os.SEEK_SET and (left := offset - self._file.tell()) > 0:
            if not self.read(min(left, 1024**2)):
                break
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


class _LimitExceeded(Exception):
    pass


def _open_compressed(file: BinaryIO, unpacked: BinaryIO, format_name: str, name: str) -> Archive:
    try:
        head = unpacked.read(512)
        unpacked.seek(0)
    except READ_ERRORS:
        raise PreviewError("This archive is damaged or truncated.") from None
    if head[257:262] == b"ustar":
        return _open_tar(cast(BinaryIO, _LimitedReader(unpacked)), f"tar, {format_name}")
    stem, _, ending = name.rpartition(".")
    single = stem if stem and ending.lower() in ("gz", "bz2", "xz") else name
    entry = ArchiveEntry(single, -1, os.fstat(file.fileno()).st_size if _is_file(file) else None)
    return Archive(format_name, [entry], lambda _: unpacked)


def _is_file(file: BinaryIO) -> bool:
    try:
        file.fileno()
    except OSError:
        return False
    return True


def _open_tar(file: BinaryIO, format_name: str) -> Archive:
    entries: list[ArchiveEntry] = []
    members: list[tarfile.TarInfo] = []
    notes: list[str] = []
    archive: tarfile.TarFile | None = None
    truncated = False
    try:
        archive = tarfile.TarFile(fileobj=file, errorlevel=1)
        while (member := archive.next()) is not None:
            if len(entries) == MAX_ENTRIES:
                truncated = True
                break
            entries.append(_tar_entry(member))
            members.append(member)
        if not truncated and not _has_end_marker(file, archive):
            notes.append(_TRUNCATED_NOTE)
    except _LimitExceeded:
        truncated = True
        notes.append("The archive is so large when unpacked that only its beginning is listed.")
    except READ_ERRORS:
        if not entries:
            raise PreviewError("This archive is damaged or truncated.") from None
        notes.append(_TRUNCATED_NOTE)
    opened = archive

    def unpack(at: int) -> BinaryIO:
        content = opened.extractfile(members[at]) if opened else None
        if content is None:
            raise PreviewError("This is not a file.")
        return cast(BinaryIO, content)

    return Archive(format_name, entries, unpack, notes, truncated)


def _has_end_marker(file: BinaryIO, archive: tarfile.TarFile) -> bool:
    """Return whether a tar ends with its end-of-archive block of zeros."""
    file.seek(archive.offset)
    return file.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE)


def _tar_entry(member: tarfile.TarInfo) -> ArchiveEntry:
    kind = _TAR_KINDS.get(member.type, "")
    target = member.linkname if kind == "link" else ""
    try:
        modified = datetime.fromtimestamp(member.mtime, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        modified = ""
    return ArchiveEntry(member.name, member.size, None, modified, kind, target)
