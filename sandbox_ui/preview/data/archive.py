"""Archives: entry list, member preview and download; nothing is unpacked to disk."""

import io
from importlib import import_module
from typing import Any, BinaryIO

from sandbox_ui.preview.base import Answer, Ask, Picture, Unreadable, View
from sandbox_ui.preview.data.archive_reader import BROKEN, MEMBER, Archive, Entry, opened
from sandbox_ui.preview.kinds import HEAD, KINDS, kind_of, module_of

PAGE = 25_000
"""Maximum entries per response."""

_NAME = 4096
_INSTEAD = {"page": "text", "film": "bytes"}
_MEDIA = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "bmp": "image/bmp", "ico": "image/x-icon", "svg": "image/svg+xml",
    "wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "flac": "audio/flac",
    "m4a": "audio/mp4", "pdf": "application/octet-stream",
}  # fmt: skip


def view(file: BinaryIO, ask: Ask) -> Answer:
    """Return entries from ``start`` on, or the member at index ``member``.

    ``take`` returns the member's bytes; otherwise the preview of its kind renders it with the
    remaining options.

    Raises:
        Unreadable: The file is not an archive, or the member cannot be read.
    """
    archive = opened(file, ask.name)
    if "member" not in ask.options:
        return View(_listing(archive, ask.number("start", 0)))
    at = ask.number("member", 0)
    if at >= len(archive.entries):
        raise Unreadable("This member is not there any more.")
    entry = archive.entries[at]
    content = _content(archive, at, entry)
    name = entry.name.replace("\\", "/").rstrip("/").rpartition("/")[2] or "file"
    if "take" in ask.options:
        ending = name.rpartition(".")[2].lower()
        return Picture(content, _MEDIA.get(ending, "application/octet-stream"))
    return _shown(name, content, ask)


def _listing(archive: Archive, start: int) -> dict[str, Any]:
    page = archive.entries[start : start + PAGE]
    data: dict[str, Any] = {"start": start, "entries": [_row(entry) for entry in page]}
    if start:
        return data
    files = [entry for entry in archive.entries if entry.kind != "folder"]
    return {
        **data,
        "form": archive.form,
        "total": len(archive.entries),
        "files": len(files),
        "unpacked": sum(max(entry.size, 0) for entry in files),
        "more": archive.more,
        "notes": [*archive.notes, *_notes(archive)],
        "most": MEMBER,
    }


def _row(entry: Entry) -> list[Any]:
    name = entry.name[:_NAME]
    return [name, entry.size, entry.packed, entry.changed, entry.kind, entry.target[:_NAME]]


def _notes(archive: Archive) -> list[str]:
    notes = []
    out = sum(1 for entry in archive.entries if _leads_out(entry.name))
    if out:
        lead, be = ("One name leads", "is") if out == 1 else (f"{out:,} names lead", "are")
        notes.append(f"{lead} out of the archive, and {be} only shown.")
    if any(entry.kind == "locked" for entry in archive.entries):
        notes.append("What is protected with a password can be listed, not opened.")
    if archive.more:
        notes.append(f"Only the first {len(archive.entries):,} entries are listed.")
    return notes


def _leads_out(name: str) -> bool:
    parts = name.replace("\\", "/")
    return parts.startswith("/") or ".." in parts.split("/") or parts[1:3] == ":/"


def _content(archive: Archive, at: int, entry: Entry) -> bytes:
    if entry.kind:
        why = {"locked": "It is protected with a password.", "folder": "This is a folder."}
        raise Unreadable(why.get(entry.kind, f"This is a {entry.kind}, no file."))
    if entry.size > MEMBER:
        raise _too_large()
    try:
        with archive.unpack(at) as member:
            content = member.read(MEMBER + 1)
    except BROKEN:
        raise Unreadable("This member is broken or cut and cannot be unpacked.") from None
    if len(content) > MEMBER:
        raise _too_large()
    return content


def _too_large() -> Unreadable:
    return Unreadable(
        f"This member has more than {MEMBER >> 20} MB; to see it, download the archive."
    )


def _shown(name: str, content: bytes, ask: Ask) -> Answer:
    kind = kind_of(name, content[:HEAD])
    kind = _INSTEAD.get(kind, kind)
    if ask.options.get("inner") in KINDS:
        kind = ask.options["inner"]
    if kind == "archive":
        raise Unreadable("An archive within an archive is not opened here; it can be taken.")
    options = {key: value for key, value in ask.options.items() if key not in ("member", "inner")}
    show = import_module(module_of(kind)).view
    answer: Answer = show(io.BytesIO(content), Ask(name, len(content), options))
    if isinstance(answer, Picture):
        return answer
    return View({"kind": kind, "name": name, "size": len(content), "view": answer.data})
