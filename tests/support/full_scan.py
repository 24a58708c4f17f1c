"""The workspace as a plain, slow, independent look at everything finds it."""

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
    """Every path below ``root`` and its node, each content hashed anew."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder) / name
            found[str(path.relative_to(root))] = node_at(path)
    return found


def node_at(path: Path) -> Node:
    """The node of one path, a link being a link."""
    info = path.lstat()
    mode = stat.S_IMODE(info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        return Node("link", mode=mode, target=str(path.readlink()))
    if stat.S_ISREG(info.st_mode):
        return Node("file", info.st_size, mode, hashlib.sha256(path.read_bytes()).hexdigest())
    return Node(KINDS[stat.S_IFMT(info.st_mode)], mode=mode)
