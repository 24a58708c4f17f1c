"""Routes of workspace files: download, upload, remove."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent.errors import RunError, WorkspaceError
from agent.runs.outputs.pictures import is_picture_name
from agent.runs.user_changes import UserChange
from agent.workspace.files import FileWriter, Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.uploads import check_space
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_path, get_run_id, get_step
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.workspace import file_response
from sandbox_ui.workspace.body_writer import write_body
from sandbox_ui.workspace.listing import entry_row

RemainingBytes = Callable[[str], int | None]
_FILE = f"{RUN_PATH}/files/{{path:any}}"


@dataclass(frozen=True)
class FileRoutes(Routes):
    """Routes of workspace files."""

    _runs: RunManager
    _remaining_bytes: RemainingBytes = lambda _: None

    @at(_FILE)
    async def download(self, request: Request) -> Response:
        """Return a file as of a ``step``; ``inline=1`` displays it if that is safe."""
        path = get_path(request, b"/files/")
        file = await run_sync(self._runs.open_file, get_run_id(request), path, get_step(request))
        inline = request.query_params.get("inline") == "1"
        name = RelPath(path.name).display
        return await file_response.serve_file(request, file, name, inline=inline)

    @at(_FILE, method="PUT")
    async def upload(self, request: Request) -> Response:
        """Create a file; if the name exists, the new file gets another name.

        With ``If-Match``, replace the existing file if it still has this ``ETag``.
        """
        run, path = get_run_id(request), get_path(request, b"/files/")
        version = _if_match_version(request.headers.get("if-match"))
        size = int(request.headers.get("content-length", "0"))
        upload = await run_sync(self._begin, run, path, size)
        try:
            if not await write_body(request, upload.write):
                return Response(status_code=499)
            fields, etag = await run_sync(self._commit, run, upload, version)
        finally:
            await run_sync(self._abort, run, upload)
        return JSONResponse(fields, 200 if version else 201, headers={"ETag": etag})

    @at(_FILE, method="DELETE")
    def remove(self, request: Request) -> Response:
        """Remove a file or a folder permanently; a missing one is not an error."""
        run, path = get_run_id(request), get_path(request, b"/files/")
        with self._runs.locked_workspace(run) as workspace:
            try:
                workspace.stat(path)
            except WorkspaceError:
                changes = []
            else:
                changes = [UserChange("removed", path)]
            workspace.remove(path)
            self._runs.record_user_changes(run, changes)
        return Response(status_code=204)

    def _begin(self, run: str, path: RelPath, size: int) -> FileWriter:
        with self._runs.locked_workspace(run) as workspace:
            # A body may have no declared size, so the limit also holds while it is received.
            max_bytes = check_space(workspace, path, size, quota_left=self._remaining_bytes(run))
            return workspace.open_write(path, max_bytes)

    def _commit(self, run: str, upload: FileWriter, version: str) -> tuple[dict[str, object], str]:
        with self._runs.locked_workspace(run) as workspace:
            upload.set_workspace(workspace)
            path = upload.replace(version) if version else upload.commit()
            with workspace.open_read(path) as file:
                etag = file_response.etag_of(file)
            entry = workspace.stat(path)
            self._runs.record_user_changes(
                run, [UserChange("changed" if version else "added", path, entry.size)]
            )
            return entry_row(path.parent, entry), etag

    def _abort(self, run: str, upload: FileWriter) -> None:
        with suppress(RunError), self._runs.locked_workspace(run) as workspace:
            upload.set_workspace(workspace)
        upload.abort()

    @at(f"{RUN_PATH}/outputs/{{name}}")
    async def output(self, request: Request) -> Response:
        """Return an output that was too long for the journal, or a picture for display."""
        outputs = Workspace(self._runs.folder(get_run_id(request)).outputs)
        name = request.path_params["name"]
        file = await run_sync(outputs.open_read, RelPath(name))
        if is_picture_name(name):
            return await file_response.serve_file(request, file, name, inline=True)
        return await file_response.serve_file(request, file, f"{name}.txt", inline=False)


def _if_match_version(header: str | None) -> str:
    """Return the version in an ``If-Match`` header; empty without the header."""
    return (header or "").strip().removeprefix("W/").strip('"')
