"""Read manifest nodes from the file system and store their contents."""

import os
import stat
import time

from agent.workspace import paths
from agent.workspace.versions.blobs import BlobStore, StoreFull
from agent.workspace.versions.manifest import Node, NodeKind

MAX_KEPT = 64 * 1024**2
"""Size limit in bytes; larger contents are not kept."""

_FRESH = 50_000_000
"""Nanoseconds: after so recent a change, another one may have the same time stamp."""

_KINDS: dict[int, NodeKind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}

Mark = tuple[int, ...]


def mark_of(info: os.stat_result) -> Mark:
    """Return values that differ if a file has changed; a folder's times are ignored."""
    mode = info.st_mode
    if stat.S_ISDIR(mode):
        return (mode,)
    return (mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


class Reading:
    """Reads nodes.

    Args:
        blobs: Store for file contents.
        max_kept: Maximum size in bytes of a stored content.
    """

    def __init__(self, blobs: BlobStore, *, max_kept: int = MAX_KEPT) -> None:
        self.blobs = blobs
        self.max_kept = max_kept

    def node(self, folder: int, name: str, info: os.stat_result) -> tuple[Node, Mark | None]:
        """Read the node ``name`` in ``folder`` without following links or blocking.

        Returns:
            The node, and its mark (see ``mark_of``) for later comparison; None instead of the
            mark if the node must be read again.
        """
        kind = _KINDS.get(stat.S_IFMT(info.st_mode), "device")
        mode = stat.S_IMODE(info.st_mode)
        if kind == "file":
            return self._file(folder, name, info)
        if kind == "link":
            try:
                return Node("link", mode=mode, target=_target(folder, name)), mark_of(info)
            except OSError:
                return Node("link", mode=mode, kept=False, why="it was changing"), None
        return Node(kind, mode=mode), mark_of(info)

    def _file(self, folder: int, name: str, info: os.stat_result) -> tuple[Node, Mark | None]:
        for _ in range(2):
            if info.st_size > self.max_kept:
                limit = f"{self.max_kept // 1024**2} MB"
                return _unkept(info, f"it is larger than {limit}"), mark_of(info)
            try:
                file = paths.open_file(folder, name)
            except PermissionError:
                return _unkept(info, "the application may not read it"), mark_of(info)
            except OSError:
                break
            try:
                node, info = self._content(file)
            except StoreFull as full:
                return _unkept(info, str(full), full.digest), mark_of(info)
            except OSError as error:
                return _unkept(info, f"it cannot be read: {error.strerror}"), None
            if node is not None:
                return node, mark_of(info) if _settled(info) else None
        return _unkept(info, "it was changing while it was read"), None

    def _content(self, file: int) -> tuple[Node | None, os.stat_result]:
        """Return the node (None if the file changed while it was read) and its ``fstat``."""
        with os.fdopen(file, "rb") as opened:
            before = os.fstat(file)
            if before.st_size > self.max_kept:
                return None, before
            digest, count = self.blobs.put(opened, limit=before.st_size)
            after = os.fstat(file)
        if count != after.st_size or mark_of(before) != mark_of(after):
            return None, after
        return Node("file", after.st_size, stat.S_IMODE(after.st_mode), digest), after


def _target(folder: int, name: str) -> str:
    return os.readlink(name, dir_fd=folder)


def _unkept(info: os.stat_result, why: str, digest: str | None = None) -> Node:
    mode = stat.S_IMODE(info.st_mode)
    return Node("file", info.st_size, mode, digest, kept=False, why=why)


def _settled(info: os.stat_result) -> bool:
    return abs(time.time_ns() - info.st_ctime_ns) > _FRESH
