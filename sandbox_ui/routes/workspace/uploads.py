"""Routes for resumable uploads: begin, send in any number of parts, cancel."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.errors import NoRoom, WorkspaceError
from agent.runs.user_changes import Item
from agent.workspace.paths import RelPath
from agent.workspace.transfer import uploads
from agent.workspace.transfer.uploads import Part, Pending
from sandbox_ui.routes.helpers import RUN, body_of, route, run_of
from sandbox_ui.routes.workspace.files import Room
from sandbox_ui.runs.manager import Runs
from sandbox_ui.workspace.body_writer import pour
from sandbox_ui.workspace.listing import row

_UPLOAD = f"{RUN}/uploads/{{upload}}"
_LARGEST = 1 << 50


class _Superseded(Exception):
    """Another request has taken over this upload."""


@dataclass
class _Pen:
    """Write permission for an upload; held by the request that took it last."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    holder: object = None
    users: int = 0


class _Pens:
    """Write permissions of active uploads; a later request takes over.

    So a client that reconnects need not wait until the server notices that the old connection is
    dead.
    """

    def __init__(self) -> None:
        self._pens: dict[str, _Pen] = {}
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, upload: str) -> Iterator["_Turn"]:
        """Register a request for an upload; ``begin`` of the result takes over."""
        with self._lock:
            pen = self._pens.setdefault(upload, _Pen())
            pen.users += 1
        try:
            yield _Turn(pen)
        finally:
            with self._lock:
                pen.users -= 1
                if not pen.users:
                    del self._pens[upload]


class _Turn:
    """One request's claim on an upload."""

    def __init__(self, pen: _Pen) -> None:
        self._pen = pen

    def begin(self) -> None:
        """Take over the write permission, after the current write has finished."""
        with self._pen.lock:
            self._pen.holder = self

    @contextmanager
    def mine(self) -> Iterator[None]:
        """Hold the write permission. Raises ``_Superseded`` if it was taken."""
        with self._pen.lock:
            if self._pen.holder is not self:
                raise _Superseded
            yield


class Uploads:
    """Routes for resumable uploads.

    Args:
        runs: The live runs.
        room: Returns the bytes that a run's workspace may still grow; None for no limit.
        floor: Bytes of the disk that must stay free.
    """

    def __init__(self, runs: Runs, room: Room = lambda _: None, floor: int = uploads.FLOOR) -> None:
        self._runs = runs
        self._room = room
        self._floor = floor
        self._pens = _Pens()

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route(f"{RUN}/uploads", self.begin, "POST"),
            route(_UPLOAD, self.look),
            route(_UPLOAD, self.send, "PATCH"),
            route(_UPLOAD, self.forget, "DELETE"),
        ]

    async def begin(self, request: Request) -> Response:
        """Begin an upload of ``size`` bytes to ``path``."""
        about = await body_of(request)
        path, size = about.get("path"), about.get("size")
        if not isinstance(path, str) or not isinstance(size, int) or not 0 <= size < _LARGEST:
            raise WorkspaceError("An upload needs a path and the number of its bytes.")
        pending = await run_sync(self._begin, run_of(request), RelPath.from_url(path), size)
        return JSONResponse({"upload": pending.id, "offset": 0}, 201)

    async def look(self, request: Request) -> Response:
        """Return an upload's offset; once it is complete, also its listing row."""
        return JSONResponse(await run_sync(self._look, run_of(request), _id(request)))

    async def send(self, request: Request) -> Response:
        """Receive part of an upload from ``Upload-Offset`` on; return the row at the end."""
        run, upload, offset = run_of(request), _id(request), _offset(request)
        with self._pens.taken(upload) as turn:
            try:
                return await self._sent(request, run, upload, offset, turn)
            except _Superseded:
                return _elsewhere("Another request goes on with this upload.")
            except NoRoom:
                await run_sync(self._forget, run, upload)
                raise

    async def forget(self, request: Request) -> Response:
        """Cancel an upload; a completed file is kept."""
        with self._pens.taken(_id(request)) as turn:
            await run_sync(turn.begin)
            await run_sync(self._forget, run_of(request), _id(request))
        return Response(status_code=204)

    async def _sent(
        self, request: Request, run: str, upload: str, offset: int, turn: _Turn
    ) -> Response:
        await run_sync(turn.begin)
        pending, part = await run_sync(self._open, run, upload)
        if part is None:
            return JSONResponse(await run_sync(self._look, run, upload), 201)
        try:
            if pending.offset != offset:
                return _elsewhere(f"It goes on at {pending.offset}.", pending.offset)

            def write(*data: bytes) -> None:
                with turn.mine():
                    part.write(*data)

            if not await pour(request, write):
                return Response(status_code=499)
        finally:
            await run_sync(part.close)
        if part.offset < pending.size:
            return JSONResponse({"offset": part.offset, "size": pending.size})
        return JSONResponse(await run_sync(self._finish, run, upload, turn), 201)

    def _begin(self, run: str, path: RelPath, size: int) -> Pending:
        with self._runs.settled(run) as workspace:
            room = self._room(run)
            return uploads.begin(workspace, path, size, room=room, floor=self._floor)

    def _look(self, run: str, upload: str) -> dict[str, object]:
        with self._runs.settled(run) as workspace:
            pending = uploads.find(workspace, upload)
            known: dict[str, object] = {"offset": pending.offset, "size": pending.size}
            if pending.done is not None:
                known |= row(pending.done.parent, workspace.stat(pending.done))
            return known

    def _open(self, run: str, upload: str) -> tuple[Pending, Part | None]:
        """Return the upload and its partial file, which is None once complete."""
        with self._runs.settled(run) as workspace:
            pending = uploads.find(workspace, upload)
            return pending, uploads.part(workspace, pending) if pending.done is None else None

    def _finish(self, run: str, upload: str, turn: _Turn) -> dict[str, object]:
        with turn.mine(), self._runs.settled(run) as workspace:
            done = uploads.finish(workspace, uploads.find(workspace, upload))
            entry = workspace.stat(done)
            self._runs.tell(run, [Item("added", done, entry.size)])
            return row(done.parent, entry)

    def _forget(self, run: str, upload: str) -> None:
        with self._runs.settled(run) as workspace:
            uploads.forget(workspace, upload)


def _id(request: Request) -> str:
    upload: str = request.path_params["upload"]
    return upload


def _offset(request: Request) -> int:
    said = request.headers.get("upload-offset", "")
    if not said.isdecimal() or len(said) > 20:
        raise WorkspaceError("The header Upload-Offset says where the upload goes on.")
    return int(said)


def _elsewhere(words: str, offset: int | None = None) -> Response:
    more = {} if offset is None else {"offset": offset}
    return JSONResponse({"error": words, **more}, 409)
