"""The user's input files: their names, and their text for plain mode."""

from collections.abc import Iterable, Iterator

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath

INPUT_FOLDER = RelPath("input")
_TOP = RelPath.from_url("")


def list_inputs(workspace: Workspace) -> list[RelPath]:
    """Return the files below ``input/`` in order, relative to it; none if missing."""
    if not any(entry.name == str(INPUT_FOLDER) for entry in workspace.list(_TOP)):
        return []
    return [
        RelPath.trusted(path.removeprefix("input/")) for path in _files(workspace, INPUT_FOLDER)
    ]


def read_texts(workspace: Workspace, inputs: Iterable[RelPath]) -> list[tuple[str, str]]:
    """Return the name and text of each input file, to be pasted into a prompt.

    A file without text gets the reason instead.
    """
    return [(path.display, _text(workspace, path)) for path in inputs]


def _text(workspace: Workspace, path: RelPath) -> str:
    from agent.documents.text import extract_text  # only plain mode pastes texts

    try:
        with workspace.open_read(RelPath(f"input/{path}")) as file:
            return extract_text(file, path.name).text
    except WorkspaceError as error:
        return f"[{error}]"


def _files(workspace: Workspace, folder: RelPath) -> Iterator[RelPath]:
    for entry in workspace.list(folder):
        path = folder.child(entry.name)
        if entry.kind == "folder":
            yield from _files(workspace, path)
        elif entry.kind == "file":
            yield path
