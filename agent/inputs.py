"""The files that a person gave: their names, and their text for the mode without a sandbox."""

from collections.abc import Iterable, Iterator

from agent.documents import text_of
from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath

INPUT = RelPath("input")
_TOP = RelPath.from_url("")


def given(workspace: Workspace) -> list[RelPath]:
    """The files below ``input/``, in order, as paths from there; none where it is gone."""
    if not any(entry.name == str(INPUT) for entry in workspace.list(_TOP)):
        return []
    return [RelPath.trusted(path.removeprefix("input/")) for path in _files(workspace, INPUT)]


def pasted(workspace: Workspace, inputs: Iterable[RelPath]) -> list[tuple[str, str]]:
    """The given files as text to be pasted into a prompt: name and text of each.

    A file that has no text is named with the reason why.
    """
    return [(path.shown, _text(workspace, path)) for path in inputs]


def _text(workspace: Workspace, path: RelPath) -> str:
    try:
        with workspace.open_read(RelPath(f"input/{path}")) as file:
            return text_of(file, path.name).text
    except WorkspaceError as error:
        return f"[{error}]"


def _files(workspace: Workspace, folder: RelPath) -> Iterator[RelPath]:
    for entry in workspace.list(folder):
        path = folder.child(entry.name)
        if entry.kind == "folder":
            yield from _files(workspace, path)
        elif entry.kind == "file":
            yield path
