"""Read manifest nodes from the file system and store their contents."""

import hashlib
import math
import os
import stat
import time
from typing import BinaryIO

from agent.workspace import paths
from agent.workspace.versions.blobs import BlobStore, StoreFull
from agent.workspace.versions.manifest import Node, NodeKind

MAX_STORED_BYTES = 64 * 1024**2
"""Size limit in bytes; larger contents are not kept."""

_TIMESTAMP_RESOLUTION_NS = 50_000_000
"""Nanoseconds: after so recent a change, another one may have the same time stamp."""

_CHANGED_SINCE = "it changed after the step, before it was stored"
_CHUNK = 1024**2
_KINDS: dict[int, NodeKind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}

Fingerprint = tuple[int, ...]


def fingerprint(info: os.stat_result) -> Fingerprint:
    """Return values that differ if a file has changed; a folder's times are ignored."""
    mode = info.st_mode
    if stat.S_ISDIR(mode):
        return (mode,)
    return (mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


class ContentHashes:
    """Stores nothing: for a manifest whose contents are only compared."""

    def put(self, file: BinaryIO, *, limit: int) -> tuple[str, int]:
        """Return the SHA-256 of a content and its size; see ``BlobStore.put``."""
        digest, size = hashlib.sha256(), 0
        while size <= limit and (data := file.read(min(_CHUNK, limit + 1 - size))):
            digest.update(data)
            size += len(data)
        return digest.hexdigest(), size


ContentStore = BlobStore | ContentHashes


class NodeReader:
    """Reads nodes."""

    def __init__(self, blobs: ContentStore, *, max_stored: int = MAX_STORED_BYTES) -> None:
        self.blobs = blobs
        self.max_stored = max_stored

    def read(
        self, folder: int, name: str, info: os.stat_result, until: float = math.inf
    ) -> tuple[Node, Fingerprint | None]:
        """Read a node without following links or blocking; return its mark (``fingerprint``).

        Without a mark it must be read again. What changed after ``until`` (in ns) is recorded as
        not stored.
        """
        kind = _KINDS.get(stat.S_IFMT(info.st_mode), "device")
        mode = stat.S_IMODE(info.st_mode)
        if info.st_ctime_ns > until:
            size = info.st_size if kind == "file" else 0
            return Node(kind, size, mode, stored=False, reason=_CHANGED_SINCE), None
        if kind == "file":
            return self._read_file(folder, name, info, until)
        if kind == "link":
            try:
                return Node("link", mode=mode, target=_link_target(folder, name)), fingerprint(info)
            except OSError:
                return Node("link", mode=mode, stored=False, reason="it was changing"), None
        return Node(kind, mode=mode), fingerprint(info)

    def _read_file(
        self, folder: int, name: str, info: os.stat_result, until: float
    ) -> tuple[Node, Fingerprint | None]:
        for _ in range(2):
            if info.st_size > self.max_stored:
                limit = f"{self.max_stored // 1024**2} MB"
                return _unstored_node(info, f"it is larger than {limit}"), fingerprint(info)
            try:
                file = paths.open_file(folder, name)
            except PermissionError:
                return _unstored_node(info, "the application may not read it"), fingerprint(info)
            except OSError:
                break
            try:
                node, info = self._read_content(file)
            except StoreFull as full:
                return _unstored_node(info, str(full), full.digest), fingerprint(info)
            except OSError as error:
                return _unstored_node(info, f"it cannot be read: {error.strerror}"), None
            if info.st_ctime_ns > until:
                return _unstored_node(info, _CHANGED_SINCE), None
            if node is not None:
                return node, fingerprint(info) if _is_settled(info) else None
        return _unstored_node(info, "it was changing while it was read"), None

    def _read_content(self, file: int) -> tuple[Node | None, os.stat_result]:
        """Return the node (None if the file changed while it was read) and its ``fstat``."""
        with os.fdopen(file, "rb", 0) as opened:
            before = os.fstat(file)
            if before.st_size > self.max_stored:
                return None, before
            digest, count = self.blobs.put(opened, limit=before.st_size)
            after = os.fstat(file)
        if count != after.st_size or fingerprint(before) != fingerprint(after):
            return None, after
        return Node("file", after.st_size, stat.S_IMODE(after.st_mode), digest), after


def _link_target(folder: int, name: str) -> str:
    return os.readlink(name, dir_fd=folder)


def _unstored_node(info: os.stat_result, reason: str, digest: str | None = None) -> Node:
    mode = stat.S_IMODE(info.st_mode)
    return Node("file", info.st_size, mode, digest, stored=False, reason=reason)


def _is_settled(info: os.stat_result) -> bool:
    return abs(time.time_ns() - info.st_ctime_ns) > _TIMESTAMP_RESOLUTION_NS
