"""The user's input files: their names, and their text for plain mode."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath

INPUT_FOLDER = RelPath("input")
_TOP = RelPath.from_url("")


@dataclass(frozen=True, slots=True)
class InputText:
    """The text of an input file, or the ``reason`` for none; ``pages`` is 0 if unknown."""

    path: str  # in the workspace
    name: str  # below ``input/``, as it is shown
    text: str = ""
    reason: str = ""
    pages: int = 0

    @property
    def document(self) -> tuple[str, str]:
        """Its name, and its text or the reason."""
        return self.name, f"[{self.reason}]" if self.reason else self.text


def list_inputs(workspace: Workspace) -> list[RelPath]:
    """Return the files below ``input/`` in order, relative to it; none if missing."""
    if not any(entry.name == str(INPUT_FOLDER) for entry in workspace.list(_TOP)):
        return []
    return [
        RelPath.trusted(path.removeprefix("input/")) for path in _files(workspace, INPUT_FOLDER)
    ]


def read_texts(workspace: Workspace, inputs: Iterable[RelPath]) -> list[InputText]:
    """Return the text of each input file, to be pasted into a prompt."""
    return [read_text(workspace, RelPath.trusted(f"{INPUT_FOLDER}/{path}")) for path in inputs]


def read_text(workspace: Workspace, path: RelPath) -> InputText:
    """Return the text of a file of the workspace."""
    from agent.documents.text import NoText, extract_text  # only plain mode pastes texts

    name = path.display.removeprefix("input/")
    try:
        with workspace.open_read(RelPath(path)) as file:
            found = extract_text(file, path.name)
            return InputText(str(path), name, found.text, pages=found.pages or 0)
    except NoText as error:
        return InputText(str(path), name, reason=str(error), pages=error.pages or 0)
    except WorkspaceError as error:
        return InputText(str(path), name, reason=str(error))


def _files(workspace: Workspace, folder: RelPath) -> Iterator[RelPath]:
    for entry in workspace.list(folder):
        path = folder.child(entry.name)
        if entry.kind == "folder":
            yield from _files(workspace, path)
        elif entry.kind == "file":
            yield path
