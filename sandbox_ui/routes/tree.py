"""The tree of a run's workspace: what a folder holds, what a path is."""

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import WorkspaceError
from agent.workspace.paths import RelPath
from sandbox_ui import listing
from sandbox_ui.routes.serving import RUN, as_json, path_of, route, run_of
from sandbox_ui.runs import Runs


class Tree:
    """The routes of the tree.

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
        ]

    async def listing(self, request: Request) -> Response:
        """What a folder holds; ``folder`` is percent-encoded, the workspace itself if empty."""
        folder = RelPath.from_url(request.query_params.get("folder", ""))
        workspace = self._runs.workspace(run_of(request))
        try:
            return as_json(await run_sync(listing.listing, workspace, folder))
        except WorkspaceError:
            if workspace.root.is_dir():
                raise
        # It is being moved into a sandbox; the stream says when to list it again.
        return as_json({"folder": folder.to_url(), "entries": [], "more": 0})

    async def entry(self, request: Request) -> Response:
        """What a folder's listing says of one path; null where it is not there."""
        path = path_of(request, b"/entries/")
        return as_json(await run_sync(listing.row_of, self._runs.workspace(run_of(request)), path))
