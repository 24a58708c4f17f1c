"""Route for a user's file operations: create, rename, move, remove, and undo."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent.errors import WorkspaceError
from agent.runs.user_changes import ChangeKind, UserChange
from agent.workspace import operations
from agent.workspace.files import Workspace
from agent.workspace.operations import ChangeResult
from agent.workspace.paths import RelPath
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_run_id, read_json
from sandbox_ui.runs.manager import RunManager

_Body = dict[str, Any]
_OperationResult = tuple[ChangeResult, list[UserChange]]


@dataclass(frozen=True)
class FileOperationRoutes(Routes):
    """Route for file operations."""

    _runs: RunManager

    @at(f"{RUN_PATH}/changes", method="POST")
    async def change(self, request: Request) -> Response:
        """Perform the operation that ``operation`` names.

        Returns the new ``paths``, the token for ``undo`` or null, and after an undo the
        reasons of the ``failures``.
        """
        body = await read_json(request)
        name = body.get("operation")
        if not isinstance(name, str) or name not in _OPERATIONS:
            raise WorkspaceError(f"“operation” must be one of: {', '.join(_OPERATIONS)}.")
        result = await run_sync(self._change, get_run_id(request), _OPERATIONS[name], body)
        paths = [path.to_url() for path in result.paths]
        return JSONResponse(
            {"paths": paths, "undo": result.undo_token, "failures": result.failures}
        )

    def _change(
        self, run: str, operation: Callable[[Workspace, _Body], _OperationResult], body: _Body
    ) -> ChangeResult:
        with self._runs.locked_workspace(run) as workspace:
            result, changes = operation(workspace, body)
            self._runs.record_user_changes(run, changes)
            return result


def _create_folder(workspace: Workspace, body: _Body) -> _OperationResult:
    merge = body.get("merge") is True
    result = operations.new_folder(workspace, _path(body, "path"), merge=merge)
    return result, _user_changes("folder_created", result.paths)


def _create_file(workspace: Workspace, body: _Body) -> _OperationResult:
    result = operations.new_file(workspace, _path(body, "path"))
    return result, _user_changes("added", result.paths)


def _move(workspace: Workspace, body: _Body) -> _OperationResult:
    paths = _paths(body)
    result = operations.move(workspace, paths, _path(body, "to"))
    return result, _move_changes(result)


def _rename(workspace: Workspace, body: _Body) -> _OperationResult:
    result = operations.rename(workspace, _path(body, "path"), _path(body, "name"))
    return result, _move_changes(result)


def _remove(workspace: Workspace, body: _Body) -> _OperationResult:
    result = operations.remove(workspace, _paths(body))
    return result, _user_changes("removed", result.paths)


def _undo(workspace: Workspace, body: _Body) -> _OperationResult:
    token = body.get("undo")
    result = operations.undo(workspace, token if isinstance(token, str) else "")
    if result.old_paths:
        pairs = zip(result.old_paths, result.paths, strict=True)
        return result, [UserChange("restored", old, new_path=new) for old, new in pairs]
    return result, _user_changes("restored", result.paths)


_OPERATIONS: dict[str, Callable[[Workspace, _Body], _OperationResult]] = {
    "create_folder": _create_folder,
    "create_file": _create_file,
    "move": _move,
    "rename": _rename,
    "remove": _remove,
    "undo": _undo,
}


def _user_changes(kind: ChangeKind, paths: Iterable[RelPath]) -> list[UserChange]:
    return [UserChange(kind, path) for path in paths]


def _move_changes(result: ChangeResult) -> list[UserChange]:
    pairs = zip(result.old_paths, result.paths, strict=True)
    return [UserChange("moved", old, new_path=new) for old, new in pairs if old != new]


def _path(body: _Body, key: str) -> RelPath:
    value = body.get(key)
    if not isinstance(value, str):
        raise WorkspaceError(f"“{key}” is missing; give a percent-encoded path.")
    return RelPath.from_url(value)


def _paths(body: _Body) -> list[RelPath]:
    values = body.get("paths")
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise WorkspaceError("“paths” is missing; give a list of percent-encoded paths.")
    return [RelPath.from_url(each) for each in values]
