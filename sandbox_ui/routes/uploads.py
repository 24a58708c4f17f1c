"""Uploads that go on where they were: begun, sent in as many parts as it takes, forgotten."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.errors import NoRoom, WorkspaceError
from agent.news import Item
from agent.workspace import uploads
from agent.workspace.paths import RelPath
from agent.workspace.uploads import Part, Pending
from sandbox_ui.listing import row
from sandbox_ui.pouring import pour
from sandbox_ui.routes.files import Room
from sandbox_ui.routes.serving import RUN, body_of, route, run_of
from sandbox_ui.runs import Runs

_UPLOAD = f"{RUN}/uploads/{{upload}}"
_LARGEST = 1 << 50


class _Superseded(Exception):
    """Another request sends this upload now."""


@dataclass
class _Pen:
    """What an upload is written with: whoever took it last may."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    holder: object = None
    users: int = 0


class _Pens:
    """A pen for each upload that is being sent. A later sender takes it from an earlier one.

    So whoever comes back after a broken connection need not wait until the server has noticed
    that the old one is dead.
    """

    def __init__(self) -> None:
        self._pens: dict[str, _Pen] = {}
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, upload: str) -> Iterator["_Turn"]:
        """Take an upload's pen for the block, or until somebody else takes it."""
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
    """One request's turn at an upload."""

    def __init__(self, pen: _Pen) -> None:
        self._pen = pen

    def begin(self) -> None:
        """Take the pen; what another is writing at this moment is still written."""
        with self._pen.lock:
            self._pen.holder = self

    @contextmanager
    def mine(self) -> Iterator[None]:
        """The pen stays here for the block. Raises ``_Superseded`` where it is taken."""
        with self._pen.lock:
            if self._pen.holder is not self:
                raise _Superseded
            yield


class Uploads:
    """The routes of the uploads.

    Args:
        runs: The runs.
        room: How many bytes a run's workspace may still take; None where there is no limit.
        floor: Bytes of the disk that stay free.
    """

    def __init__(self, runs: Runs, room: Room = lambda _: None, floor: int = uploads.FLOOR) -> None:
        self._runs = runs
        self._room = room
        self._floor = floor
        self._pens = _Pens()

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route(f"{RUN}/uploads", self.begin, "POST"),
            route(_UPLOAD, self.look),
            route(_UPLOAD, self.send, "PATCH"),
            route(_UPLOAD, self.forget, "DELETE"),
        ]

    async def begin(self, request: Request) -> Response:
        """Begin an upload of ``size`` bytes that is to become ``path``."""
        about = await body_of(request)
        path, size = about.get("path"), about.get("size")
        if not isinstance(path, str) or not isinstance(size, int) or not 0 <= size < _LARGEST:
            raise WorkspaceError("An upload needs a path and the number of its bytes.")
        pending = await run_sync(self._begin, run_of(request), RelPath.from_url(path), size)
        return JSONResponse({"upload": pending.id, "offset": 0}, 201)

    async def look(self, request: Request) -> Response:
        """How far an upload is; once it is whole, its row too."""
        return JSONResponse(await run_sync(self._look, run_of(request), _id(request)))

    async def send(self, request: Request) -> Response:
        """More of an upload, from ``Upload-Offset`` on; its row once it is whole."""
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
        """Forget an upload; a file that it has become stays."""
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
        """What is known of it, and what has come; None where it is whole already."""
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
