"""A run's workspace over HTTP: listed, handed out, added to, changed."""

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from sandbox_ui import transfers
from sandbox_ui.routes.serving import RUN, as_json, path_of, route, run_of
from sandbox_ui.runs import Runs

_FILE = f"{RUN}/files/{{path:any}}"


class Files:
    """The routes of the workspaces.

    Args:
        runs: The runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route(f"{RUN}/files", self.listing),
            route(f"{RUN}/entries/{{path:any}}", self.entry),
            route(_FILE, self.download),
            route(_FILE, self.upload, "PUT"),
            route(_FILE, self.remove, "DELETE"),
            route(f"{RUN}/outputs/{{name}}", self.output),
        ]

    async def listing(self, request: Request) -> Response:
        """What a folder holds; ``folder`` is percent-encoded, the workspace itself if empty."""
        folder = RelPath.from_url(request.query_params.get("folder", ""))
        workspace = self._workspace(request)
        try:
            return as_json(await run_sync(transfers.listing, workspace, folder))
        except WorkspaceError:
            if workspace.root.is_dir():
                raise
        # It is being moved into a sandbox; the stream says when to list it again.
        return as_json({"folder": folder.to_url(), "entries": [], "more": 0})

    async def entry(self, request: Request) -> Response:
        """What a folder's listing says of one path; null where it is not there."""
        path = path_of(request, b"/entries/")
        return as_json(await run_sync(transfers.row_of, self._workspace(request), path))

    async def download(self, request: Request) -> Response:
        """A file; with ``inline=1`` to be shown, where that is safe."""
        path = path_of(request, b"/files/")
        file = await run_sync(self._workspace(request).open_read, path)
        inline = request.query_params.get("inline") == "1"
        name = RelPath(path.name).shown
        return await transfers.hand_out(request, file, name, inline=inline)

    async def upload(self, request: Request) -> Response:
        """A new file; a name that exists keeps both."""
        path = path_of(request, b"/files/")
        return await transfers.take_in(request, self._workspace(request), path)

    async def remove(self, request: Request) -> Response:
        """Remove a file."""
        path = path_of(request, b"/files/")
        await run_sync(self._workspace(request).remove, path)
        return Response(status_code=204)

    async def output(self, request: Request) -> Response:
        """An output that was too long for the journal, whole."""
        outputs = Workspace(self._runs.folder(run_of(request)).outputs)
        name = request.path_params["name"]
        file = await run_sync(outputs.open_read, RelPath(name))
        return await transfers.hand_out(request, file, f"{name}.txt", inline=False)

    def _workspace(self, request: Request) -> Workspace:
        return self._runs.workspace(run_of(request))
