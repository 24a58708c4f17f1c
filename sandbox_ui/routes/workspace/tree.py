"""Routes for a workspace's file tree: folder listings and single entries."""

from dataclasses import dataclass

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from sandbox_ui.routes.helpers import (
    RUN_PATH,
    Routes,
    at,
    get_path,
    get_run_id,
    get_step,
    json_response,
)
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.workspace import listing, past_listing
from sandbox_ui.workspace.listing import MAX_ROWS, SORTS, ListingQuery


@dataclass(frozen=True)
class TreeRoutes(Routes):
    """Routes for the file tree."""

    _runs: RunManager

    @at(f"{RUN_PATH}/files")
    def listing(self, request: Request) -> Response:
        """List rows of a folder (percent-encoded ``folder``; empty for the root).

        Query parameters: ``from`` and ``count``: the range of rows; ``sort``: by name, time or
        size; ``filter``: search in all subfolders; ``hidden=1``: include dot files
        and caches; ``locate`` (percent-encoded, repeatable): return these paths' rows with their
        ``index``; ``seek``: return the position of the first name with this beginning, from row
        ``start`` on. A missing folder returns no rows and ``missing``, since the page may request
        one that was just deleted. ``step``: the folder as it was after this step; see
        ``sandbox_ui.workspace.past_listing``.
        """
        folder = RelPath.from_url(request.query_params.get("folder", ""))
        listing_query = _listing_query(request.query_params)
        step = get_step(request)
        if step is not None:
            versions = self._runs.file_versions(get_run_id(request))
            return json_response(
                past_listing.list_past_folder(versions, folder, step, listing_query)
            )
        workspace = self._runs.workspace(get_run_id(request))
        try:
            return json_response(listing.list_folder(workspace, folder, listing_query))
        except WorkspaceError:
            workspace_exists = workspace.root.is_dir()
            if workspace_exists and _is_folder(workspace, folder):
                raise
        # A missing workspace is being moved into a sandbox; the stream reports when to list again.
        empty = {"folder": folder.to_url(), "entries": [], "total": 0, "more": 0}
        return json_response(empty | {"missing": workspace_exists})

    @at(f"{RUN_PATH}/entries/{{path:any}}")
    def entry(self, request: Request) -> Response:
        """Return the listing row of a path, now or after ``step``; null if it is missing."""
        path, step = get_path(request, b"/entries/"), get_step(request)
        if step is not None:
            versions = self._runs.file_versions(get_run_id(request))
            return json_response(past_listing.past_row(versions, path, step))
        return json_response(listing.row_for_path(self._runs.workspace(get_run_id(request)), path))


def _is_folder(workspace: Workspace, path: RelPath) -> bool:
    row = listing.row_for_path(workspace, path) if path else None
    return not path or (row is not None and row["kind"] == "folder")


def _listing_query(query: QueryParams) -> ListingQuery:
    sort = next((each for each in SORTS if each == query.get("sort", "name")), None)
    if sort is None:
        raise WorkspaceError("Files can be sorted by name, time or size.")
    return ListingQuery(
        sort=sort,
        first=_get_number(query, "from", 0),
        count=min(_get_number(query, "count", MAX_ROWS), MAX_ROWS),
        hidden=query.get("hidden") == "1",
        words=query.get("filter", ""),
        locate_paths=[RelPath.from_url(path) for path in query.getlist("locate") if path],
        seek_prefix=query.get("seek", ""),
        seek_start=_get_number(query, "start", 0),
    )


def _get_number(query: QueryParams, name: str, default: int) -> int:
    text = query.get(name) or str(default)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise WorkspaceError(f"“{text[:40]}” is not a number of rows.")
    return int(text)
