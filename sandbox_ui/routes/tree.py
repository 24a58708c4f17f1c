"""The tree of a run's workspace: what a folder holds, what a path is."""

from anyio.to_thread import run_sync
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from sandbox_ui import listing
from sandbox_ui.listing import MAX_ROWS, SORTS, Wanted
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
        """Rows of a folder; ``folder`` is percent-encoded, the workspace itself if empty.

        ``from`` and ``count`` say which, in the order of ``sort`` (name, time or size);
        ``filter`` looks through all folders below; ``hidden=1`` shows names with a dot, too;
        ``at`` (percent-encoded, as often as wished) and ``seek`` ask where a name is. A folder
        that is not there has no rows and is ``gone``: a page asks for what has just been there.
        """
        folder = RelPath.from_url(request.query_params.get("folder", ""))
        wanted = _wanted(request.query_params)
        workspace = self._runs.workspace(run_of(request))
        try:
            return as_json(await run_sync(listing.listing, workspace, folder, wanted))
        except WorkspaceError:
            is_there = workspace.root.is_dir()
            if is_there and await run_sync(_is_folder, workspace, folder):
                raise
        # Where all is gone it is being moved into a sandbox; the stream says when to list again.
        nothing = {"folder": folder.to_url(), "entries": [], "total": 0, "more": 0}
        return as_json(nothing | {"gone": is_there})

    async def entry(self, request: Request) -> Response:
        """What a folder's listing says of one path; null where it is not there."""
        path = path_of(request, b"/entries/")
        return as_json(await run_sync(listing.row_of, self._runs.workspace(run_of(request)), path))


def _is_folder(workspace: Workspace, path: RelPath) -> bool:
    row = listing.row_of(workspace, path) if path else None
    return not path or (row is not None and row["kind"] == "folder")


def _wanted(query: QueryParams) -> Wanted:
    sort = next((each for each in SORTS if each == query.get("sort", "name")), None)
    if sort is None:
        raise WorkspaceError("Files are ordered by name, time or size.")
    return Wanted(
        sort=sort,
        first=_number(query, "from", 0),
        count=min(_number(query, "count", MAX_ROWS), MAX_ROWS),
        hidden=query.get("hidden") == "1",
        words=query.get("filter", ""),
        at=[RelPath.from_url(path) for path in query.getlist("at") if path],
        seek=query.get("seek", ""),
        after=_number(query, "after", 0),
    )


def _number(query: QueryParams, name: str, default: int) -> int:
    text = query.get(name) or str(default)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise WorkspaceError(f"“{text[:40]}” is no number of rows.")
    return int(text)
