"""Writes a manifest's files, folders and links into a workspace, from the blob store."""

import errno
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from agent.errors import JournalError, StorageFull, WorkspaceError
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.tree import created_folder_fd, open_or_create_folders
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Node

_CHUNK = 1024**2
_MODES = 0o1777
"""Permission bits that are restored: never setuid or setgid, since the owner is another one."""

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class NotRestored:
    """A path that could not be written, and the reason for the user."""

    path: str
    reason: str


def not_kept(nodes: Mapping[str, Node], blobs: BlobStore) -> list[NotRestored]:
    """Return what ``restore`` would leave out, without writing anything."""
    missing = []
    for path, node in sorted(nodes.items()):
        reason = _problem(node)
        if not reason and node.kind == "file" and not (node.hash and _has(blobs, node.hash)):
            reason = "its content is not in the store any more"
        if reason:
            missing.append(NotRestored(path, reason))
    return missing


def restore(nodes: Mapping[str, Node], blobs: BlobStore, target: Workspace) -> list[NotRestored]:
    """Write a manifest's nodes, after ``StorageFull`` a part; return what is missing.

    Files are copies, so a sandbox cannot change the store. Files that exist are kept and reported.
    """
    missing = list[NotRestored]()
    order = {"folder": 0, "file": 1}  # links last: no file is written through one
    entries = sorted(nodes.items(), key=lambda item: (order.get(item[1].kind, 2), item[0]))
    with target.open_root(paths.ROOT) as root:
        for path, node in entries:
            try:
                _write(root, RelPath(path), node, blobs)
            except (WorkspaceError, JournalError) as error:
                missing.append(NotRestored(path, str(error)))
            except OSError as error:
                if error.errno in _NO_SPACE:
                    raise StorageFull(
                        "The disk has no space for the files. Free some space and try again."
                    ) from error
                missing.append(NotRestored(path, f"it cannot be written: {error.strerror}"))
        _set_folder_modes(root, nodes)
    return sorted(missing, key=lambda each: each.path)


def _problem(node: Node) -> str:
    """Return why a node cannot be written at all; empty if it can."""
    if node.kind not in ("file", "folder", "link"):
        return f"it is a {node.kind}"
    return (node.reason or "its content was not read") if not node.stored else ""


def _has(blobs: BlobStore, digest: str) -> bool:
    try:
        return blobs.has(digest)
    except JournalError:
        return False


def _write(root: int, path: RelPath, node: Node, blobs: BlobStore) -> None:
    problem = _problem(node)
    if problem:
        raise WorkspaceError(problem)
    if node.kind == "folder":
        return os.close(open_or_create_folders(root, path))
    with created_folder_fd(root, path.parent) as folder:
        if node.kind == "link":
            return os.symlink(node.target, path.name, dir_fd=folder)
        with blobs.open(node.hash or "") as content:
            return _copy(content, folder, path.name, node)


def _copy(content: BinaryIO, folder: int, name: str, node: Node) -> None:
    """Copy a content to a new file, and compare its hash; nothing is left if that fails."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    digest = hashlib.sha256()
    created = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(created, "wb") as file:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
            os.fchmod(file.fileno(), node.mode & _MODES)
        if digest.hexdigest() != node.hash:
            raise WorkspaceError("its stored content is damaged")
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise


def _set_folder_modes(root: int, nodes: Mapping[str, Node]) -> None:
    """Set the modes of folders, the innermost first: a parent may become read-only."""
    for path in sorted(
        (path for path, node in nodes.items() if node.kind == "folder"), reverse=True
    ):
        try:
            with paths.folder_fd(root, RelPath(path)) as folder:
                os.fchmod(folder, nodes[path].mode & _MODES)
        except (OSError, WorkspaceError):
            continue  # it is already reported
