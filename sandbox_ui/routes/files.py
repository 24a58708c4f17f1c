"""A run's workspace over HTTP: handed out, added to, changed."""

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from sandbox_ui import transfers
from sandbox_ui.routes.serving import RUN, path_of, route, run_of, step_of
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
