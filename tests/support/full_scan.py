"""An independent, simple and slow scan of a workspace."""

import hashlib
import os
import stat
from pathlib import Path

from agent.workspace.versions.manifest import Node, NodeKind

KINDS: dict[int, NodeKind] = {
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def full_scan(root: Path) -> dict[str, Node]:
    """Return the node of every path below ``root``, with newly computed hashes."""
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
