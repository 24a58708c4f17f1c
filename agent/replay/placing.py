"""Put recorded files into the workspace of a replay: the inputs, and the user's later changes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from agent.errors import StorageFull, WorkspaceError
from agent.runs.user_changes import ChangeKind, UserChange
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath, display_text
from agent.workspace.versions.blobs import StoredContents
from agent.workspace.versions.manifest import Delta
from agent.workspace.versions.restore import not_kept, restore


@dataclass(slots=True)
class Placed:
    """What was put into a workspace.

    Attributes:
        changes: The changes, as the user's.
        missing: A sentence for each path that could not be restored, by path.
    """

    changes: list[UserChange] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def place(workspace: Workspace, deltas: Iterable[Delta], contents: StoredContents) -> Placed:
    """Apply deltas to a workspace: remove, write and link what they say.

    Every write is confined to the workspace, whatever the record or a process in the sandbox does.
    A file whose content was not kept stays as it is.
    """
    placed = Placed()
    for delta in deltas:
        _place(placed, workspace, delta, contents)
    return placed


def is_file(workspace: Workspace, path: str) -> bool:
    """Return whether a path of a record, which may be none, is a file of the workspace."""
    return _kind(workspace, path) == "file"


def _place(placed: Placed, workspace: Workspace, delta: Delta, contents: StoredContents) -> None:
    problems = {each.path: each.reason for each in not_kept(delta.changed, contents)}
    nodes = {path: node for path, node in sorted(delta.changed.items()) if path not in problems}
    kinds: dict[str, ChangeKind] = dict.fromkeys(sorted(delta.removed, reverse=True), "removed")
    kinds |= {path: "folder_created" for path, node in nodes.items() if node.kind == "folder"}
    for path, node in nodes.items():
        if node.kind != "folder":
            kinds[path] = "changed" if _kind(workspace, path) else "added"
    for path, kind in kinds.items():
        if kind in ("removed", "changed"):
            try:
                workspace.remove(RelPath(path))
            except WorkspaceError as error:
                problems[path] = str(error)
    try:
        problems = {
            each.path: each.reason for each in restore(nodes, contents, workspace)
        } | problems
    except StorageFull as error:
        problems = dict.fromkeys(nodes, str(error)) | problems
    for path, problem in problems.items():
        placed.missing[path] = f"“{display_text(path)}”: {problem.removesuffix('.')}."
    for path, kind in kinds.items():
        if path not in problems:
            size = nodes[path].size if path in nodes else 0
            placed.changes.append(UserChange(kind, RelPath(path), size or None))


def _kind(workspace: Workspace, path: str) -> str:
    """Return the kind of a path of a record, which may be none; empty if it does not exist."""
    try:
        return workspace.stat(RelPath(path)).kind
    except WorkspaceError:
        return ""
