"""Archives: zip, tar or one compressed file; nothing is unpacked to disk."""

import bz2
import gzip
import io
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
from typing import Any, BinaryIO, cast

from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest
from sandbox_ui.preview.kinds import HEAD_BYTES, KINDS, kind_of, load_renderer

MAX_PAGE_ENTRIES = 25_000
MAX_ENTRIES = 200_000
MAX_UNPACKED_BYTES = 2 * 1024**3
"""Maximum bytes unpacked to list a compressed tar."""

MAX_MEMBER_BYTES = 40 * 1024**2
"""Largest member shown or downloaded, in bytes."""

LISTING_TIMEOUT_SECONDS = 8.0
READ_ERRORS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError,
    NotImplementedError, RuntimeError,
)  # fmt: skip
_MAX_NAME_LENGTH = 4096
_SUBSTITUTE_KINDS = {"html": "text", "video": "hex"}
_MEDIA_TYPES = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "bmp": "image/bmp", "ico": "image/x-icon", "svg": "image/svg+xml",
    "wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "flac": "audio/flac",
    "m4a": "audio/mp4", "pdf": "application/octet-stream",
}  # fmt: skip
_OPENERS: dict[bytes, tuple[str, Callable[[BinaryIO], object]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZ": ("bzip2", bz2.BZ2File),
    b"\xfd7": ("xz", lzma.LZMAFile),
}
_TAR_KINDS = {
    tarfile.DIRTYPE: "folder", tarfile.SYMTYPE: "link", tarfile.LNKTYPE: "link",
    tarfile.CHRTYPE: "device", tarfile.BLKTYPE: "device", tarfile.FIFOTYPE: "pipe",
}  # fmt: skip
_REFUSALS = {"locked": "This file is protected with a password.", "folder": "This is a folder."}
_ENCRYPTED = 1
_DAMAGED = "This archive is damaged or truncated."
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


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return entries from ``start`` on, or the ``member`` at an index, rendered or ``raw``."""
    archive = _open_archive(file, request.name, request.size)
    if "member" not in request.options:
        return _listing(archive, request.int_option("start"))
    at = request.int_option("member")
    if at >= len(archive.entries):
        raise PreviewError("This file is no longer in the archive.")
    entry = archive.entries[at]
    content = _read_member(archive, at, entry)
    name = entry.name.replace("\\", "/").rstrip("/").rpartition("/")[2] or "file"
    if "raw" in request.options:
        ending = name.rpartition(".")[2].lower()
        return BinaryPreview(content, _MEDIA_TYPES.get(ending, "application/octet-stream"))
    return _render_member(name, content, request)


def _listing(archive: Archive, start: int) -> dict[str, Any]:
    page = archive.entries[start : start + MAX_PAGE_ENTRIES]
    data: dict[str, Any] = {"start": start, "entries": [_row(entry) for entry in page]}
    if start:
        return data
    files = [entry for entry in archive.entries if entry.kind != "folder"]
    return {
        **data,
        "format": archive.format_name,
        "total": len(archive.entries),
        "files": len(files),
        "unpacked_size": sum(max(entry.size, 0) for entry in files),
        "truncated": archive.truncated,
        "notes": [*archive.notes, *_notes(archive)],
    }


def _row(entry: ArchiveEntry) -> list[Any]:
    name, target = entry.name[:_MAX_NAME_LENGTH], entry.link_target[:_MAX_NAME_LENGTH]
    return [name, entry.size, entry.compressed_size, entry.modified, entry.kind, target]


def _notes(archive: Archive) -> list[str]:
    notes = []
    outside = sum(1 for entry in archive.entries if _escapes_archive(entry.name))
    if outside:
        subject, verb = (
            ("One name points", "is") if outside == 1 else (f"{outside:,} names point", "are")
        )
        notes.append(f"{subject} outside the archive and {verb} only listed.")
    if any(entry.kind == "locked" for entry in archive.entries):
        notes.append("Files protected with a password can be listed but not opened.")
    if archive.truncated:
        notes.append(f"Only the first {len(archive.entries):,} entries are listed.")
    return notes


def _escapes_archive(name: str) -> bool:
    parts = name.replace("\\", "/")
    return parts.startswith("/") or ".." in parts.split("/") or parts[1:3] == ":/"


def _read_member(archive: Archive, at: int, entry: ArchiveEntry) -> bytes:
    if entry.kind:
        raise PreviewError(_REFUSALS.get(entry.kind, f"This is a {entry.kind}, not a file."))
    content = b""
    if entry.size <= MAX_MEMBER_BYTES:
        try:
            with archive.unpack(at) as member:
                content = member.read(MAX_MEMBER_BYTES + 1)
        except READ_ERRORS:
            raise PreviewError(
                "This file is damaged or truncated and cannot be unpacked."
            ) from None
    if max(entry.size, len(content)) > MAX_MEMBER_BYTES:
        raise PreviewError(
            f"This file is larger than {MAX_MEMBER_BYTES >> 20} MB; download the archive to see it."
        )
    return content


def _render_member(name: str, content: bytes, request: PreviewRequest) -> Preview:
    kind = kind_of(name, content[:HEAD_BYTES])
    kind = _SUBSTITUTE_KINDS.get(kind, kind)
    rendered = KINDS[kind].rendered
    if request.options.get("member_as") in KINDS:
        kind = request.options["member_as"]
    if kind == "archive":
        raise PreviewError("An archive inside an archive cannot be opened here; download it.")
    options = {
        key: value for key, value in request.options.items() if key not in ("member", "member_as")
    }
    asked = PreviewRequest(name, len(content), options)
    preview = load_renderer(kind)(io.BytesIO(content), asked)
    if isinstance(preview, BinaryPreview):
        return preview
    return {
        "kind": kind,
        "page": KINDS[kind].page,
        "rendered": rendered,
        "name": name,
        "size": len(content),
        "view": preview,
    }


def _open_archive(file: BinaryIO, name: str, size: int) -> Archive:
    """List an archive; a compressed tar must be unpacked completely for this."""
    head = file.read(512)
    file.seek(0)
    if head[:2] == b"PK":
        return _open_zip(file)
    if head[:2] in _OPENERS:
        format_name, opener = _OPENERS[head[:2]]
        return _open_compressed(cast(BinaryIO, opener(file)), format_name, name, size)
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


class _LimitExceeded(Exception):
    """A limit on listing a compressed tar is exceeded."""


class _LimitedReader:
    """Compressed file with limits on bytes read and time."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = time.monotonic() + LISTING_TIMEOUT_SECONDS

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


def _open_compressed(unpacked: BinaryIO, format_name: str, name: str, size: int) -> Archive:
    try:
        head = unpacked.read(512)
        unpacked.seek(0)
    except READ_ERRORS:
        raise PreviewError(_DAMAGED) from None
    if head[257:262] == b"ustar":
        return _open_tar(cast(BinaryIO, _LimitedReader(unpacked)), f"tar, {format_name}")
    stem, _, ending = name.rpartition(".")
    single = stem if stem and ending.lower() in ("gz", "bz2", "xz") else name
    entry = ArchiveEntry(single, -1, size)
    return Archive(format_name, [entry], lambda _: unpacked)


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
            raise PreviewError(_DAMAGED) from None
        notes.append(_TRUNCATED_NOTE)

    def unpack(at: int) -> BinaryIO:
        content = archive.extractfile(members[at]) if archive else None
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
