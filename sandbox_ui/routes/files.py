"""A run's workspace over HTTP: handed out, added to, changed."""

from collections.abc import Callable
from contextlib import suppress

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.errors import RunError, WorkspaceError
from agent.news import Item
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.staging import Upload
from agent.workspace.uploads import check_room
from sandbox_ui import transfers
from sandbox_ui.listing import row
from sandbox_ui.pouring import pour
from sandbox_ui.routes.serving import RUN, path_of, route, run_of, step_of
from sandbox_ui.runs import Runs

Room = Callable[[str], int | None]
_FILE = f"{RUN}/files/{{path:any}}"


class Files:
    """The routes of the workspaces.

    Args:
        runs: The runs.
        room: How many bytes a run may still take; None where there is no limit.
    """

    def __init__(self, runs: Runs, room: Room = lambda _: None) -> None:
        self._runs = runs
        self._room = room

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route(_FILE, self.download),
            route(_FILE, self.upload, "PUT"),
            route(_FILE, self.remove, "DELETE"),
            route(f"{RUN}/outputs/{{name}}", self.output),
        ]

    async def download(self, request: Request) -> Response:
        """A file, after a ``step`` too; with ``inline=1`` to be shown, where that is safe."""
        path = path_of(request, b"/files/")
        file = await run_sync(self._runs.open_file, run_of(request), path, step_of(request))
        inline = request.query_params.get("inline") == "1"
        name = RelPath(path.name).shown
        return await transfers.hand_out(request, file, name, inline=inline)

    async def upload(self, request: Request) -> Response:
        """A new file; a name that exists keeps both.

        With ``If-Match`` it takes the place of the file of that name, if that still has this
        ``ETag``.
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
        """Remove a file or a folder for good; missing is no error."""
        await run_sync(self._remove, run_of(request), path_of(request, b"/files/"))
        return Response(status_code=204)

    def _begin(self, run: str, path: RelPath, size: int) -> Upload:
        with self._runs.settled(run) as workspace:
            # A body may come without its size: it is held to the room while it comes, too.
            room = check_room(workspace, path, size, room=self._room(run))
            return workspace.begin(path, room)

    def _place(self, run: str, upload: Upload, version: str) -> tuple[dict[str, object], str]:
        with self._runs.settled(run) as workspace:
            upload.follow(workspace)
            path = upload.replace(version) if version else upload.commit()
            with workspace.open_read(path) as file:
                etag = transfers.etag_of(file)
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
        """An output that was too long for the journal, whole."""
        outputs = Workspace(self._runs.folder(run_of(request)).outputs)
        name = request.path_params["name"]
        file = await run_sync(outputs.open_read, RelPath(name))
        return await transfers.hand_out(request, file, f"{name}.txt", inline=False)


def _version(header: str | None) -> str:
    """The version that an ``If-Match`` names; empty where there is no such header."""
    return (header or "").strip().removeprefix("W/").strip('"')
