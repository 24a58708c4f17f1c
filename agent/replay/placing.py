"""Put recorded files into the workspace of a replay: the inputs, and the user's later changes."""

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

from agent.errors import JournalError, WorkspaceError
from agent.runs.user_changes import ChangeKind, UserChange
from agent.workspace import paths
from agent.workspace.files import FileWriter, Workspace
from agent.workspace.paths import RelPath
from agent.workspace.tree import created_folder_fd
from agent.workspace.versions.blobs import StoredContents
from agent.workspace.versions.manifest import Delta, Node

_CHUNK = 1024**2
_PERMISSIONS = 0o777


@dataclass(slots=True)
class Placed:
    """What was put into a workspace, and a sentence for each missing path."""

    changes: list[UserChange] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def place(workspace: Workspace, deltas: Iterable[Delta], contents: StoredContents) -> Placed:
    """Apply deltas to a workspace, confined to it whatever the record or the sandbox does."""
    placed = Placed()
    for delta in deltas:
        for path in sorted(delta.removed, reverse=True):
            _try(placed, path, partial(_remove, workspace, path))
        folders = [path for path, node in delta.changed.items() if node.kind == "folder"]
        for path in [*sorted(folders), *sorted(set(delta.changed).difference(folders))]:
            node = delta.changed[path]
            _try(placed, path, partial(_write, workspace, path, node, contents))
        for path in sorted(folders, reverse=True):
            if path not in placed.missing:
                mode = delta.changed[path].mode
                _try(placed, path, partial(_set_mode, workspace, RelPath(path), mode))
    return placed


def is_file(workspace: Workspace, path: str) -> bool:
    """Return whether a path of a record, which may be none, is a file of the workspace."""
    try:
        return workspace.stat(RelPath(path)).kind == "file"
    except WorkspaceError:
        return False


def _try(placed: Placed, path: str, action: Callable[[], UserChange | None]) -> None:
    try:
        change = action()
    except (WorkspaceError, JournalError) as error:
        placed.missing[path] = str(error)
    except OSError as error:
        placed.missing[path] = f"“{paths.display_text(path)}”: {error.strerror}."
    else:
        if change is not None:
            placed.changes.append(change)


def _remove(workspace: Workspace, path: str) -> UserChange:
    checked = RelPath(path)
    workspace.remove(checked)
    return UserChange("removed", checked)


def _write(workspace: Workspace, path: str, node: Node, contents: StoredContents) -> UserChange:
    checked = RelPath(path)
    if node.kind == "folder":
        workspace.make_folder(checked)
        return UserChange("folder_created", checked)
    kind: ChangeKind = "changed" if _exists(workspace, checked) else "added"
    if node.kind == "link" and node.stored:
        workspace.remove(checked)
        _link(workspace, checked, node.target)
    elif node.kind == "file" and node.hash is not None and node.stored:
        with closing(contents.open(node.hash)) as content:
            workspace.remove(checked)
            with workspace.open_write(checked) as writer:
                _write_content(writer, content)
        _set_mode(workspace, checked, node.mode)
    else:
        why = node.reason or "only files, folders and links are restored"
        raise WorkspaceError(f"“{checked.display}” was not kept: {why}.")
    return UserChange(kind, checked, node.size or None)


def _write_content(writer: FileWriter, content: BinaryIO) -> None:
    while chunk := content.read(_CHUNK):
        writer.write(chunk)
    writer.commit()


def _exists(workspace: Workspace, path: RelPath) -> bool:
    try:
        workspace.stat(path)
    except WorkspaceError:
        return False
    return True


def _link(workspace: Workspace, path: RelPath, target: str) -> None:
    with workspace.open_root(path) as root, created_folder_fd(root, path.parent) as folder:
        os.symlink(target, path.name, dir_fd=folder)


def _set_mode(workspace: Workspace, path: RelPath, mode: int) -> None:
    """Set the permissions of a file or folder, without following a link."""
    with workspace.open_root(path) as root:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
        with paths.closing_fd(paths.open_below(root, path, flags)) as opened:
            os.fchmod(opened, mode & _PERMISSIONS)
