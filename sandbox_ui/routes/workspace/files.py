"""Routes of workspace files: download, upload, remove."""

from collections.abc import Callable
from contextlib import suppress

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.errors import RunError, WorkspaceError
from agent.runs.user_changes import Item
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.staging import Upload
from agent.workspace.transfer.uploads import check_room
from sandbox_ui.routes.helpers import RUN, path_of, route, run_of, step_of
from sandbox_ui.runs.manager import Runs
from sandbox_ui.workspace import file_response
from sandbox_ui.workspace.body_writer import pour
from sandbox_ui.workspace.listing import row

Room = Callable[[str], int | None]
_FILE = f"{RUN}/files/{{path:any}}"


class Files:
    """Routes of workspace files.

    Args:
        runs: The live runs.
        room: Returns the bytes that a run may still write; None for no limit.
    """

    def __init__(self, runs: Runs, room: Room = lambda _: None) -> None:
        self._runs = runs
        self._room = room

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route(_FILE, self.download),
            route(_FILE, self.upload, "PUT"),
            route(_FILE, self.remove, "DELETE"),
            route(f"{RUN}/outputs/{{name}}", self.output),
        ]

    async def download(self, request: Request) -> Response:
        """Return a file as of a ``step``; ``inline=1`` displays it if that is safe."""
        path = path_of(request, b"/files/")
        file = await run_sync(self._runs.open_file, run_of(request), path, step_of(request))
        inline = request.query_params.get("inline") == "1"
        name = RelPath(path.name).shown
        return await file_response.hand_out(request, file, name, inline=inline)

    async def upload(self, request: Request) -> Response:
        """Create a file; if the name exists, the new file gets another name.

        With ``If-Match``, replace the existing file if it still has this ``ETag``.
        """
        run, path = run_of(request), path_of(request, b"/files/")
        version = _version(request.headers.get("if-match"))
        size = int(request.headers.get("content-length", "0"))
        upload = await run_sync(self._begin, run, path, size)
        try:
            if not await pour(request, upload.write):
                return Response(status_code=499)
            known, etag = await run_sync(self._place, run, upload, version)
        finally:
            await run_sync(self._abort, run, upload)
        return JSONResponse(known, 200 if version else 201, headers={"ETag": etag})

    async def remove(self, request: Request) -> Response:
        """Remove a file or a folder permanently; a missing one is not an error."""
        await run_sync(self._remove, run_of(request), path_of(request, b"/files/"))
        return Response(status_code=204)

    def _begin(self, run: str, path: RelPath, size: int) -> Upload:
        with self._runs.settled(run) as workspace:
            # A body may have no declared size, so the limit also holds while it is received.
            room = check_room(workspace, path, size, room=self._room(run))
            return workspace.begin(path, room)

    def _place(self, run: str, upload: Upload, version: str) -> tuple[dict[str, object], str]:
        with self._runs.settled(run) as workspace:
            upload.follow(workspace)
            path = upload.replace(version) if version else upload.commit()
            with workspace.open_read(path) as file:
                etag = file_response.etag_of(file)
            entry = workspace.stat(path)
            self._runs.tell(run, [Item("changed" if version else "added", path, entry.size)])
            return row(path.parent, entry), etag

    def _abort(self, run: str, upload: Upload) -> None:
        with suppress(RunError), self._runs.settled(run) as workspace:
            upload.follow(workspace)
        upload.abort()

    def _remove(self, run: str, path: RelPath) -> None:
        with self._runs.settled(run) as workspace:
            try:
                workspace.stat(path)
            except WorkspaceError:
                items = []
            else:
                items = [Item("removed", path)]
            workspace.remove(path)
            self._runs.tell(run, items)

    async def output(self, request: Request) -> Response:
        """Return the full text of an output that was too long for the journal."""
        outputs = Workspace(self._runs.folder(run_of(request)).outputs)
        name = request.path_params["name"]
        file = await run_sync(outputs.open_read, RelPath(name))
        return await file_response.hand_out(request, file, f"{name}.txt", inline=False)


def _version(header: str | None) -> str:
    """Return the version in an ``If-Match`` header; empty without the header."""
    return (header or "").strip().removeprefix("W/").strip('"')
