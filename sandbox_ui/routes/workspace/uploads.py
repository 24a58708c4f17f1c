"""Resumable uploads by the tus protocol 1.0.0 (https://tus.io/protocols/resumable-upload).

Extensions: creation and termination. The metadata names the target: ``path``, percent-encoded, or
``filename`` for a file in ``input/``. Responses to a complete upload have its final path in
``Studio-Path``, percent-encoded.
"""

import base64
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent.errors import StorageFull, WorkspaceError
from agent.runs.inputs import INPUT_FOLDER
from agent.runs.user_changes import UserChange
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer import uploads
from agent.workspace.transfer.uploads import UploadState, UploadWriter
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_run_id
from sandbox_ui.routes.workspace.files import RemainingBytes
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.workspace.body_writer import write_body

_UPLOADS = f"{RUN_PATH}/uploads"
_UPLOAD = f"{_UPLOADS}/{{upload}}"
_MAX_BYTES = 1 << 50
_CONTENT_TYPE = "application/offset+octet-stream"
_VERSION = {"Tus-Resumable": "1.0.0"}
_FEATURES = {"Tus-Version": "1.0.0", "Tus-Extension": "creation,termination"}


class _Superseded(Exception):
    """Another request has taken over this upload."""


@dataclass
class _WriteLock:
    """Write permission for an upload; held by the request that took it last."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    holder: object = None
    users: int = 0


class _WriteLocks:
    """Write permissions of active uploads; a client that reconnects takes over at once."""

    def __init__(self) -> None:
        self._by_upload: dict[str, _WriteLock] = {}
        self._lock = threading.Lock()

    @contextmanager
    def claim(self, upload: str) -> Iterator["_Claim"]:
        """Register a request for an upload; ``take_over`` of the result takes over."""
        with self._lock:
            write_lock = self._by_upload.setdefault(upload, _WriteLock())
            write_lock.users += 1
        try:
            yield _Claim(write_lock)
        finally:
            with self._lock:
                write_lock.users -= 1
                if not write_lock.users:
                    del self._by_upload[upload]


class _Claim:
    """One request's claim on an upload."""

    def __init__(self, write_lock: _WriteLock) -> None:
        self._write_lock = write_lock

    def take_over(self) -> None:
        """Take over the write permission, after the current write has finished."""
        with self._write_lock.lock:
            self._write_lock.holder = self

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the write permission. Raises ``_Superseded`` if it was taken."""
        with self._write_lock.lock:
            if self._write_lock.holder is not self:
                raise _Superseded
            yield


@dataclass(frozen=True)
class UploadRoutes(Routes):
    """Routes for resumable uploads."""

    _runs: RunManager
    _remaining_bytes: RemainingBytes = lambda _: None
    _write_locks: _WriteLocks = field(default_factory=_WriteLocks)

    @at(_UPLOADS, method="OPTIONS", permission="view")
    async def features(self, request: Request) -> Response:
        """Return the supported version and extensions."""
        del request
        return _respond(204, _FEATURES)

    @at(_UPLOADS, method="POST")
    async def begin(self, request: Request) -> Response:
        """Begin an upload of ``Upload-Length`` bytes; an empty one is complete."""
        size = _get_number(request, "Upload-Length")
        if size >= _MAX_BYTES:
            raise WorkspaceError("Upload-Length is too large.")
        pending = await run_sync(self._begin, get_run_id(request), _get_target(request), size)
        return _respond(201, {"Location": f"uploads/{pending.id}"} | _progress(pending))

    @at(_UPLOAD, method="HEAD", permission="view")
    async def status(self, request: Request) -> Response:
        """Return an upload's offset and size."""
        pending = await run_sync(self._find, get_run_id(request), _get_upload_id(request))
        return _respond(200, _progress(pending) | {"Cache-Control": "no-store"})

    @at(_UPLOAD, method="PATCH")
    async def send(self, request: Request) -> Response:
        """Receive part of an upload from ``Upload-Offset`` on."""
        if request.headers.get("content-type") != _CONTENT_TYPE:
            return _respond(415, error=f"The Content-Type of a part is {_CONTENT_TYPE}.")
        run, upload = get_run_id(request), _get_upload_id(request)
        offset = _get_number(request, "Upload-Offset")
        with self._write_locks.claim(upload) as claim:
            try:
                return await self._receive(request, run, upload, offset, claim)
            except _Superseded:
                return _respond(409, error="Another request continues this upload.")
            except StorageFull:
                await run_sync(self._cancel, run, upload)
                raise

    @at(_UPLOAD, method="DELETE")
    async def cancel(self, request: Request) -> Response:
        """Cancel an upload; a completed file is kept."""
        with self._write_locks.claim(_get_upload_id(request)) as claim:
            await run_sync(claim.take_over)
            await run_sync(self._cancel, get_run_id(request), _get_upload_id(request))
        return _respond(204)

    async def _receive(
        self, request: Request, run: str, upload: str, offset: int, claim: _Claim
    ) -> Response:
        await run_sync(claim.take_over)
        pending, part = await run_sync(self._open, run, upload)
        if part is None:
            return _respond(204, _progress(pending))
        try:
            if pending.offset != offset:
                message = f"The upload continues at offset {pending.offset}."
                return _respond(409, _progress(pending), error=message)

            def write(*data: bytes) -> None:
                with claim.hold():
                    part.write(*data)

            if not await write_body(request, write):
                return Response(status_code=499)
        finally:
            await run_sync(part.close)
        pending = replace(pending, offset=part.offset)
        if part.offset == pending.size:
            pending = await run_sync(self._finish, run, upload, claim)
        return _respond(204, _progress(pending))

    def _begin(self, run: str, path: RelPath, size: int) -> UploadState:
        with self._runs.locked_workspace(run) as workspace:
            remaining = self._remaining_bytes(run)
            pending = uploads.start(
                workspace, path, size, quota_left=remaining, min_free=uploads.MIN_FREE_BYTES
            )
            return pending if size else self._move_to_target(run, workspace, pending)

    def _find(self, run: str, upload: str) -> UploadState:
        with self._runs.locked_workspace(run) as workspace:
            return uploads.find(workspace, upload)

    def _open(self, run: str, upload: str) -> tuple[UploadState, UploadWriter | None]:
        """Return the upload and its partial file, which is None once complete."""
        with self._runs.locked_workspace(run) as workspace:
            pending = uploads.find(workspace, upload)
            return pending, uploads.open_writer(
                workspace, pending
            ) if pending.final_path is None else None

    def _finish(self, run: str, upload: str, claim: _Claim) -> UploadState:
        with claim.hold(), self._runs.locked_workspace(run) as workspace:
            return self._move_to_target(run, workspace, uploads.find(workspace, upload))

    def _move_to_target(self, run: str, workspace: Workspace, pending: UploadState) -> UploadState:
        path = uploads.finish(workspace, pending)
        size = workspace.stat(path).size
        self._runs.record_user_changes(run, [UserChange("added", path, size)])
        return replace(pending, offset=pending.size, final_path=path)

    def _cancel(self, run: str, upload: str) -> None:
        with self._runs.locked_workspace(run) as workspace:
            uploads.discard(workspace, upload)


def _get_upload_id(request: Request) -> str:
    upload: str = request.path_params["upload"]
    return upload


def _get_number(request: Request, name: str) -> int:
    header = request.headers.get(name, "")
    if not header.isdecimal() or len(header) > 20:
        raise WorkspaceError(f"The header {name} must be a number of bytes.")
    return int(header)


def _get_target(request: Request) -> RelPath:
    """Return the target path in ``Upload-Metadata``: pairs of a key and a value in Base64."""
    pairs = (pair.split() for pair in request.headers.get("upload-metadata", "").split(","))
    encoded = {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
    try:
        values = {key: base64.b64decode(text, validate=True) for key, text in encoded.items()}
        if "path" in values:
            return RelPath.from_url(values["path"].decode())
        return INPUT_FOLDER.child(os.fsdecode(values["filename"]))
    except (KeyError, ValueError) as error:
        raise WorkspaceError("Upload-Metadata must name the path or filename.") from error


def _progress(pending: UploadState) -> dict[str, str]:
    """Return the headers for an upload's progress; once it is complete, with its final path."""
    headers = {"Upload-Offset": str(pending.offset), "Upload-Length": str(pending.size)}
    if pending.final_path is not None:
        headers["Studio-Path"] = pending.final_path.to_url()
    return headers


def _respond(status: int, headers: Mapping[str, str] = _VERSION, *, error: str = "") -> Response:
    headers = {**headers, **_VERSION}
    return (
        JSONResponse({"error": error}, status, headers) if error else Response(b"", status, headers)
    )
