"""Route for a user's file operations: create, rename, move, remove, and undo."""

from collections.abc import Callable, Iterable
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.errors import WorkspaceError
from agent.runs.user_changes import Deed, Item
from agent.workspace import operations
from agent.workspace.files import Workspace
from agent.workspace.operations import Changed
from agent.workspace.paths import RelPath
from sandbox_ui.routes.helpers import RUN, body_of, route, run_of
from sandbox_ui.runs.manager import Runs

_Wish = dict[str, Any]
_Done = tuple[Changed, list[Item]]


class Changes:
    """Route for file operations.

    Args:
        runs: The live runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [route(f"{RUN}/changes", self.change, "POST")]

    async def change(self, request: Request) -> Response:
        """Perform the operation that ``do`` names.

        Returns the new ``paths``, the token for ``undo`` or null, and after an undo the files that
        are ``missing``, by reason.
        """
        wish = await body_of(request)
        do = wish.get("do")
        if not isinstance(do, str) or do not in _DEEDS:
            raise WorkspaceError(f"What is to be done is one of: {', '.join(_DEEDS)}.")
        done = await run_sync(self._change, run_of(request), _DEEDS[do], wish)
        paths = [path.to_url() for path in done.paths]
        return JSONResponse({"paths": paths, "undo": done.undo, "missing": done.missing})

    def _change(self, run: str, act: Callable[[Workspace, _Wish], _Done], wish: _Wish) -> Changed:
        with self._runs.settled(run) as workspace:
            done, items = act(workspace, wish)
            self._runs.tell(run, items)
            return done


def _folder(workspace: Workspace, wish: _Wish) -> _Done:
    merge = wish.get("merge") is True
    done = operations.new_folder(workspace, _path(wish, "path"), merge=merge)
    return done, _items("made the folder", done.paths)


def _file(workspace: Workspace, wish: _Wish) -> _Done:
    done = operations.new_file(workspace, _path(wish, "path"))
    return done, _items("added", done.paths)


def _move(workspace: Workspace, wish: _Wish) -> _Done:
    paths = _paths(wish)
    done = operations.move(workspace, paths, _path(wish, "to"))
    return done, _moved(done)


def _rename(workspace: Workspace, wish: _Wish) -> _Done:
    done = operations.rename(workspace, _path(wish, "path"), _path(wish, "name"))
    return done, _moved(done)


def _remove(workspace: Workspace, wish: _Wish) -> _Done:
    done = operations.remove(workspace, _paths(wish))
    return done, _items("removed", done.paths)


def _undo(workspace: Workspace, wish: _Wish) -> _Done:
    token = wish.get("undo")
    done = operations.undo(workspace, token if isinstance(token, str) else "")
    if done.before:
        pairs = zip(done.before, done.paths, strict=True)
        return done, [Item("put back", old, to=new) for old, new in pairs]
    return done, _items("put back", done.paths)


_DEEDS: dict[str, Callable[[Workspace, _Wish], _Done]] = {
    "folder": _folder,
    "file": _file,
    "move": _move,
    "rename": _rename,
    "remove": _remove,
    "undo": _undo,
}


def _items(deed: Deed, paths: Iterable[RelPath]) -> list[Item]:
    return [Item(deed, path) for path in paths]


def _moved(done: Changed) -> list[Item]:
    pairs = zip(done.before, done.paths, strict=True)
    return [Item("moved", old, to=new) for old, new in pairs if old != new]


def _path(wish: _Wish, key: str) -> RelPath:
    said = wish.get(key)
    if not isinstance(said, str):
        raise WorkspaceError(f"“{key}” is missing; it is a path, percent-encoded.")
    return RelPath.from_url(said)


def _paths(wish: _Wish) -> list[RelPath]:
    said = wish.get("paths")
    if not isinstance(said, list) or not all(isinstance(each, str) for each in said):
        raise WorkspaceError("“paths” is missing; it is a list of paths, percent-encoded.")
    return [RelPath.from_url(each) for each in said]
