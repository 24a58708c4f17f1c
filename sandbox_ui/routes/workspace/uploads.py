"""Routes for resumable uploads: begin, send in any number of parts, cancel."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.errors import StorageFull, WorkspaceError
from agent.runs.user_changes import UserChange
from agent.workspace.paths import RelPath
from agent.workspace.transfer import uploads
from agent.workspace.transfer.uploads import UploadState, UploadWriter
from sandbox_ui.routes.helpers import RUN_PATH, get_run_id, read_json, route
from sandbox_ui.routes.workspace.files import RemainingBytes
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.workspace.body_writer import write_body
from sandbox_ui.workspace.listing import entry_row

_UPLOAD = f"{RUN_PATH}/uploads/{{upload}}"
_MAX_BYTES = 1 << 50


class _Superseded(Exception):
    """Another request has taken over this upload."""


@dataclass
class _WriteLock:
    """Write permission for an upload; held by the request that took it last."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    holder: object = None
    users: int = 0


class _WriteLocks:
    """Write permissions of active uploads; a later request takes over.

    So a client that reconnects need not wait until the server notices that the old connection is
    dead.
    """

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


class UploadRoutes:
    """Routes for resumable uploads.

    Args:
        runs: The live runs.
        remaining_bytes: Returns the bytes that a run's workspace may still grow; None for no limit.
        min_free: Bytes of the disk that must stay free.
    """

    def __init__(
        self,
        runs: RunManager,
        remaining_bytes: RemainingBytes = lambda _: None,
        min_free: int = uploads.MIN_FREE_BYTES,
    ) -> None:
        self._runs = runs
        self._remaining_bytes = remaining_bytes
        self._min_free = min_free
        self._write_locks = _WriteLocks()

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route(f"{RUN_PATH}/uploads", self.begin, "POST"),
            route(_UPLOAD, self.status),
            route(_UPLOAD, self.send, "PATCH"),
            route(_UPLOAD, self.cancel, "DELETE"),
        ]

    async def begin(self, request: Request) -> Response:
        """Begin an upload of ``size`` bytes to ``path``."""
        body = await read_json(request)
        path, size = body.get("path"), body.get("size")
        if not isinstance(path, str) or not isinstance(size, int) or not 0 <= size < _MAX_BYTES:
            raise WorkspaceError("An upload needs a path and its size in bytes.")
        pending = await run_sync(self._begin, get_run_id(request), RelPath.from_url(path), size)
        return JSONResponse({"upload": pending.id, "offset": 0}, 201)

    async def status(self, request: Request) -> Response:
        """Return an upload's offset; once it is complete, also its listing row."""
        return JSONResponse(
            await run_sync(self._status, get_run_id(request), _get_upload_id(request))
        )

    async def send(self, request: Request) -> Response:
        """Receive part of an upload from ``Upload-Offset`` on; return the row at the end."""
        run, upload, offset = get_run_id(request), _get_upload_id(request), _get_offset(request)
        with self._write_locks.claim(upload) as claim:
            try:
                return await self._receive(request, run, upload, offset, claim)
            except _Superseded:
                return _conflict("Another request continues this upload.")
            except StorageFull:
                await run_sync(self._cancel, run, upload)
                raise

    async def cancel(self, request: Request) -> Response:
        """Cancel an upload; a completed file is kept."""
        with self._write_locks.claim(_get_upload_id(request)) as claim:
            await run_sync(claim.take_over)
            await run_sync(self._cancel, get_run_id(request), _get_upload_id(request))
        return Response(status_code=204)

    async def _receive(
        self, request: Request, run: str, upload: str, offset: int, claim: _Claim
    ) -> Response:
        await run_sync(claim.take_over)
        pending, part = await run_sync(self._open, run, upload)
        if part is None:
            return JSONResponse(await run_sync(self._status, run, upload), 201)
        try:
            if pending.offset != offset:
                return _conflict(
                    f"The upload continues at offset {pending.offset}.", pending.offset
                )

            def write(*data: bytes) -> None:
                with claim.hold():
                    part.write(*data)

            if not await write_body(request, write):
                return Response(status_code=499)
        finally:
            await run_sync(part.close)
        if part.offset < pending.size:
            return JSONResponse({"offset": part.offset, "size": pending.size})
        return JSONResponse(await run_sync(self._finish, run, upload, claim), 201)

    def _begin(self, run: str, path: RelPath, size: int) -> UploadState:
        with self._runs.locked_workspace(run) as workspace:
            remaining = self._remaining_bytes(run)
            return uploads.start(
                workspace, path, size, quota_left=remaining, min_free=self._min_free
            )

    def _status(self, run: str, upload: str) -> dict[str, object]:
        with self._runs.locked_workspace(run) as workspace:
            pending = uploads.find(workspace, upload)
            fields: dict[str, object] = {"offset": pending.offset, "size": pending.size}
            if pending.final_path is not None:
                fields |= entry_row(pending.final_path.parent, workspace.stat(pending.final_path))
            return fields

    def _open(self, run: str, upload: str) -> tuple[UploadState, UploadWriter | None]:
        """Return the upload and its partial file, which is None once complete."""
        with self._runs.locked_workspace(run) as workspace:
            pending = uploads.find(workspace, upload)
            return pending, uploads.open_writer(
                workspace, pending
            ) if pending.final_path is None else None

    def _finish(self, run: str, upload: str, claim: _Claim) -> dict[str, object]:
        with claim.hold(), self._runs.locked_workspace(run) as workspace:
            path = uploads.finish(workspace, uploads.find(workspace, upload))
            entry = workspace.stat(path)
            self._runs.record_user_changes(run, [UserChange("added", path, entry.size)])
            return entry_row(path.parent, entry)

    def _cancel(self, run: str, upload: str) -> None:
        with self._runs.locked_workspace(run) as workspace:
            uploads.discard(workspace, upload)


def _get_upload_id(request: Request) -> str:
    upload: str = request.path_params["upload"]
    return upload


def _get_offset(request: Request) -> int:
    header = request.headers.get("upload-offset", "")
    if not header.isdecimal() or len(header) > 20:
        raise WorkspaceError(
            "The header Upload-Offset must give the offset at which the upload continues."
        )
    return int(header)


def _conflict(message: str, offset: int | None = None) -> Response:
    fields = {} if offset is None else {"offset": offset}
    return JSONResponse({"error": message, **fields}, 409)
