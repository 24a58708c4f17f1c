"""Archives: entry list, member preview and download; nothing is unpacked to disk."""

import io
from importlib import import_module
from typing import Any, BinaryIO

from sandbox_ui.preview.base import (
    BinaryPreview,
    JsonPreview,
    Preview,
    PreviewError,
    PreviewRequest,
)
from sandbox_ui.preview.data.archive_reader import (
    MAX_MEMBER_BYTES,
    READ_ERRORS,
    Archive,
    ArchiveEntry,
    open_archive,
)
from sandbox_ui.preview.kinds import HEAD_BYTES, KINDS, kind_of, module_of

MAX_PAGE_ENTRIES = 25_000
"""Maximum entries per response."""

_MAX_NAME_LENGTH = 4096
_SUBSTITUTE_KINDS = {"html": "text", "video": "hex"}
_MEDIA_TYPES = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "bmp": "image/bmp", "ico": "image/x-icon", "svg": "image/svg+xml",
    "wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "flac": "audio/flac",
    "m4a": "audio/mp4", "pdf": "application/octet-stream",
}  # fmt: skip


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return entries from ``start`` on, or the member at index ``member``.

    ``raw`` returns the member's bytes; otherwise the preview of its kind renders it with the
    remaining options.
    """
    archive = open_archive(file, request.name)
    if "member" not in request.options:
        return JsonPreview(_listing(archive, request.int_option("start", 0)))
    at = request.int_option("member", 0)
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
    name = entry.name[:_MAX_NAME_LENGTH]
    return [
        name,
        entry.size,
        entry.compressed_size,
        entry.modified,
        entry.kind,
        entry.link_target[:_MAX_NAME_LENGTH],
    ]


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
        messages = {
            "locked": "This file is protected with a password.",
            "folder": "This is a folder.",
        }
        raise PreviewError(messages.get(entry.kind, f"This is a {entry.kind}, not a file."))
    if entry.size > MAX_MEMBER_BYTES:
        raise _too_large_error()
    try:
        with archive.unpack(at) as member:
            content = member.read(MAX_MEMBER_BYTES + 1)
    except READ_ERRORS:
        raise PreviewError("This file is damaged or truncated and cannot be unpacked.") from None
    if len(content) > MAX_MEMBER_BYTES:
        raise _too_large_error()
    return content


def _too_large_error() -> PreviewError:
    return PreviewError(
        f"This file is larger than {MAX_MEMBER_BYTES >> 20} MB; download the archive to see it."
    )


def _render_member(name: str, content: bytes, request: PreviewRequest) -> Preview:
    kind = kind_of(name, content[:HEAD_BYTES])
    kind = _SUBSTITUTE_KINDS.get(kind, kind)
    if request.options.get("member_as") in KINDS:
        kind = request.options["member_as"]
    if kind == "archive":
        raise PreviewError("An archive inside an archive cannot be opened here; download it.")
    options = {
        key: value for key, value in request.options.items() if key not in ("member", "member_as")
    }
    renderer = import_module(module_of(kind)).view
    preview: Preview = renderer(io.BytesIO(content), PreviewRequest(name, len(content), options))
    if isinstance(preview, BinaryPreview):
        return preview
    return JsonPreview({"kind": kind, "name": name, "size": len(content), "view": preview.data})
