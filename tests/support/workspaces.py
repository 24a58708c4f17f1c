"""Helpers for tests of workspaces."""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.operations import ChangeResult, undo
from agent.workspace.versions.manifest import Node, NodeKind


def staged_names(workspace: Workspace) -> list[str]:
    folder = workspace.staging.folder
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def assert_refused(*operations: Callable[[], object], match: str | None = None) -> None:
    for operation in operations:
        with pytest.raises(WorkspaceError, match=match):
            operation()


def undo_change(workspace: Workspace, change: ChangeResult) -> ChangeResult:
    assert change.undo_token
    return undo(workspace, change.undo_token)


KINDS: dict[int, NodeKind] = {
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def full_scan(root: Path) -> dict[str, Node]:
    """Return the node of every path below ``root``, with new hashes: simple and slow."""
    nodes = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder) / name
            nodes[str(path.relative_to(root))] = node_at(path)
    return nodes


def node_at(path: Path) -> Node:
    """Return the node of a path, without following links."""
    info = path.lstat()
    mode = stat.S_IMODE(info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        return Node("link", mode=mode, target=str(path.readlink()))
    if stat.S_ISREG(info.st_mode):
        return Node("file", info.st_size, mode, hashlib.sha256(path.read_bytes()).hexdigest())
    return Node(KINDS[stat.S_IFMT(info.st_mode)], mode=mode)
