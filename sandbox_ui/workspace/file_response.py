"""File responses: complete or partial, as a download or for display."""

import mimetypes
import os
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import quote

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agent.errors import WorkspaceError
from agent.workspace.tree import version_tag

_CHUNK_BYTES = 1024**2
_MAX_DIGITS = 18
_SNIFF_BYTES = 8192
_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
_INLINE_TYPES = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "avif": "image/avif", "bmp": "image/bmp",
    "wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "opus": "audio/ogg",
    "flac": "audio/flac", "m4a": "audio/mp4",
    "mp4": "video/mp4", "webm": "video/webm",
}  # fmt: skip
_TEXT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _Range:
    first: int
    last: int
    complete: bool


async def serve_file(request: Request, file: BinaryIO, name: str, *, inline: bool) -> Response:
    """Return an open file as a download, or for display where that is safe, in ranges if asked."""
    media_type = await run_sync(_inline_type, file, name) if inline else _download_type(name)
    size = await run_sync(file.seek, 0, 2)
    etag = etag_of(file)
    headers = {
        "Accept-Ranges": "bytes",
        "Cache-Control": "no-store",
        "Content-Security-Policy": _POLICY,
        "Content-Disposition": content_disposition(name, inline=inline),
        "X-Content-Type-Options": "nosniff",
    }
    if etag:
        headers["ETag"] = etag
    if etag and request.headers.get("if-none-match") == etag:
        file.close()
        return Response(status_code=304, headers=headers)
    range_header = request.headers.get("range")
    part = _parse_range(
        range_header if request.headers.get("if-range", etag) == etag else None, size
    )
    if part is None:
        file.close()
        headers["Content-Range"] = f"bytes */{size}"
        return Response(status_code=416, headers=headers)
    return _range_response(request, file, part, size, media_type, headers)


def _range_response(
    request: Request,
    file: BinaryIO,
    part: _Range,
    size: int,
    media_type: str,
    headers: dict[str, str],
) -> Response:
    headers["Content-Length"] = str(part.last - part.first + 1)
    if not part.complete:
        headers["Content-Range"] = f"bytes {part.first}-{part.last}/{size}"
    status = 200 if part.complete else 206
    if request.method == "HEAD":
        file.close()
        return Response(status_code=status, headers=headers, media_type=media_type)
    return StreamingResponse(_chunks(file, part), status, headers=headers, media_type=media_type)


def etag_of(file: BinaryIO) -> str:
    """Return the ``ETag`` of an open file; empty for a file in memory."""
    try:
        return f'"{version_tag(os.fstat(file.fileno()))}"'
    except (OSError, AttributeError):
        return ""


def _download_type(name: str) -> str:
    guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return "application/octet-stream" if guessed.startswith("text/html") else guessed


def _inline_type(file: BinaryIO, name: str) -> str:
    extension = name.rpartition(".")[2].lower()
    if extension in _INLINE_TYPES:
        return _INLINE_TYPES[extension]
    head = file.read(_SNIFF_BYTES)
    if b"\0" in head or not _is_text(head):
        file.close()
        raise WorkspaceError("This kind of file cannot be shown; download it.")
    return _TEXT_TYPE


def _is_text(head: bytes) -> bool:
    """Return whether the bytes are UTF-8, apart from a character cut at the end."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return len(head) == _SNIFF_BYTES and error.start > len(head) - 4
    return True


def _parse_range(header: str | None, size: int) -> _Range | None:
    """Return the requested range; all if unsupported, None if past the end."""
    full = _Range(0, size - 1, complete=True)
    unit, _, spec = (header or "").partition("=")
    first, dash, last = spec.strip().partition("-")
    if unit.strip() != "bytes" or not dash or not (first + last).isdecimal():
        return full
    if not first:
        start, end = max(0, size - _offset(last)), size - 1
    else:
        start, end = _offset(first), min(_offset(last) if last else size, size - 1)
    return _Range(start, end, complete=False) if start <= end else None


def _offset(digits: str) -> int:
    """Parse a byte offset, capped: ``int`` refuses very long numbers."""
    return int(digits) if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS


async def _chunks(file: BinaryIO, part: _Range) -> AsyncIterator[bytes]:
    with closing(file):
        await run_sync(file.seek, part.first)
        remaining = part.last - part.first + 1
        while remaining > 0:
            chunk = await run_sync(file.read, min(_CHUNK_BYTES, remaining))
            if not chunk:
                return
            remaining -= len(chunk)
            yield chunk


def content_disposition(name: str, *, inline: bool = False) -> str:
    """Return a ``Content-Disposition`` header with the file name, in any script."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in name)
    kind = "inline" if inline else "attachment"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
