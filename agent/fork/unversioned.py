"""The files of a step of a run whose record has no versions: an exported folder, or no sandbox."""

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.errors import WorkspaceError
from agent.events import RunStarted, ToolStarted, WorkspaceChanged
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.tree import walk
from agent.workspace.versions.restore import NotRestored

_KINDS = ("run_started", "tool_started", "workspace_changed")
_CHANGED_LATER = "a later step has changed it, and the record has no versions of it"


@dataclass(frozen=True, slots=True)
class UnversionedFiles:
    """The files that are now as they were after a step, and those that have changed."""

    sizes: dict[str, int]
    missing: list[NotRestored]


def unversioned_files(folder: RunFolder, step: int) -> UnversionedFiles:
    """Return a run's current files as far as they are those of a step.

    If later steps have worked, these are the inputs and what the steps up to it have written,
    unless a later step has changed them. What a run has produced later is not among them.
    """
    inputs, written, later = set[str](), set[str](), set[str]()
    worked, complete = False, True
    for event in journal.read_kinds(folder.journal, _KINDS):
        match event:
            case RunStarted():
                inputs.update(f"input/{path}" for path in _decoded(event.inputs))
            case ToolStarted():
                worked |= event.step > step
            case WorkspaceChanged() if event.step > step:
                later.update(_decoded(each.path for each in event.changes))
                complete &= event.total <= len(event.changes)
            case WorkspaceChanged():
                written.update(_decoded(each.path for each in event.changes))
            case _:
                pass
    current = dict(_current_files(Workspace(folder.workspace)))
    if not worked:
        return UnversionedFiles(current, [])
    before = inputs | written
    known = (before if complete else inputs) - later
    kept = {path: size for path, size in current.items() if path in known}
    missing = [
        NotRestored(path, _CHANGED_LATER) for path in sorted(before & current.keys() - known)
    ]
    return UnversionedFiles(kept, missing)


def _decoded(urls: Iterable[str]) -> Iterator[str]:
    for url in urls:
        try:
            yield RelPath.from_url(url)
        except WorkspaceError:
            continue  # of a damaged record


def _current_files(workspace: Workspace) -> Iterator[tuple[str, int]]:
    with workspace.open_root(paths.ROOT) as root:
        for path, info in walk(root, ""):
            if not isinstance(info, OSError) and stat.S_ISREG(info.st_mode):
                yield path, info.st_size
