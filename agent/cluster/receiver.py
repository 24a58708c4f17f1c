"""Writes what another machine sends: files into a workspace, a run into the data folder."""

import hashlib
import logging
import os
import re
import shutil
import stat
from contextlib import suppress

from agent.cluster.parts import Part
from agent.errors import RunError, StorageFull, WorkspaceError
from agent.runs.folder import RunFolder
from agent.tasks.setup import write_files
from agent.util.text import format_size
from agent.workspace import paths
from agent.workspace.files import ANY_VERSION, FileKind, FileWriter, Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Node

_log = logging.getLogger(__name__)
_RECORD = re.compile(r"(?:outputs|requests)(?:/[.-]*\w[\w.-]*)+|manifests\.jsonl")
_FOLDERS = ("input", "output")


class FileReceiver:
    """Writes files, folders and links, ``limit`` bytes at most, into a workspace only."""

    def __init__(self, workspace: Workspace, limit: int | None = None) -> None:
        self._workspace = workspace
        self._limit = limit
        self._sizes: dict[str, int] = {}
        self._total = 0
        self._path = ""
        self._upload: FileWriter | None = None
        self._digest = hashlib.sha256()
        self._size = 0

    def receive(self, part: Part) -> Node | None:
        """Write a part; return the path's node, None if it was removed or is incomplete."""
        path = RelPath(part.path)
        if part.kind == "file":
            return self._receive_content(path, part)
        self.abort()
        if part.kind == "folder":
            return self._make_folder(path)
        self._remove(path)
        return self._make_link(path, part.data) if part.kind == "link" else None

    def abort(self) -> None:
        """Discard a file whose content is incomplete."""
        if self._upload is not None:
            self._upload.abort()
        self._upload, self._path = None, ""

    def _receive_content(self, path: RelPath, part: Part) -> Node | None:
        if path != self._path:
            self.abort()
            self._path, self._digest, self._size = path, hashlib.sha256(), 0
            self._upload = self._workspace.open_write(path)
        if self._upload is None:  # its beginning was refused
            return None
        try:
            self._write(self._upload, path, part.data)
            return self._finish(self._upload, path, part.mode) if part.last else None
        except WorkspaceError:
            self._upload.abort()
            self._upload = None
            raise
        finally:
            if part.last:
                self.abort()

    def _write(self, upload: FileWriter, path: RelPath, data: bytes) -> None:
        self._size += len(data)
        total = self._total - self._sizes.get(path, 0) + self._size
        if self._limit is not None and total > self._limit:
            raise StorageFull(
                f"“{path.display}” does not fit: the files have more than "
                f"{format_size(self._limit)} together."
            )
        upload.write(data)
        self._digest.update(data)

    def _finish(self, upload: FileWriter, path: RelPath, mode: int) -> Node:
        before = self._kind(path)
        if before == "file":
            upload.replace(ANY_VERSION)
        else:
            if before is not None:
                self._remove(path)
            upload.commit()
        self._total -= self._sizes.pop(path, 0)
        self._sizes[path] = self._size
        self._total += self._size
        with self._workspace.open_root(path) as root:
            opened = paths.open_file(root, path)
            try:
                os.fchmod(opened, mode & 0o777 | 0o600)
                now = stat.S_IMODE(os.fstat(opened).st_mode)
            finally:
                os.close(opened)
        return Node("file", self._size, now, self._digest.hexdigest())

    def _make_folder(self, path: RelPath) -> Node:
        if self._kind(path) not in ("folder", None):
            self._remove(path)
        self._workspace.make_folder(path)
        return Node("folder", mode=self._workspace.stat(path).mode)

    def _make_link(self, path: RelPath, target: bytes) -> Node:
        with self._workspace.open_root(path) as root, paths.folder_fd(root, path.parent) as at:
            os.symlink(target, path.name, dir_fd=at)
        return Node("link", mode=0o777, target=os.fsdecode(target))

    def _kind(self, path: RelPath) -> FileKind | None:
        try:
            return self._workspace.stat(path).kind
        except WorkspaceError:
            return None

    def _remove(self, path: RelPath) -> None:
        """Remove a path, and count the files at and below it no longer."""
        removed: list[str] = [path] if path in self._sizes else []
        if self._kind(path) == "folder":
            removed = [each for each in self._sizes if each.startswith(f"{path}/")]
        self._workspace.remove(path)
        self._total -= sum(map(self._sizes.pop, removed))


class Receiver:
    """Receives the parts of one run; a node may send nothing outside the run's own folders."""

    def __init__(self, folder: RunFolder, inputs: dict[str, bytes], blobs: BlobStore) -> None:
        self._folder = folder
        self._inputs = inputs
        self._blobs = blobs
        self._incoming = folder.path / "incoming"
        self._content = self._incoming / "content"
        self._files: FileReceiver | None = None

    def reset(self) -> None:
        """Forget what was received, before the run starts again; its documents are in place."""
        workspace = Workspace(self._folder.workspace)
        self._abort()
        self._files = FileReceiver(workspace)
        for entry in workspace.list(ROOT):
            workspace.remove(ROOT.child(entry.name))
        for name in _FOLDERS:
            workspace.make_folder(RelPath(name))
        write_files(self._folder.id, self._inputs, workspace)
        for path in self._folder.path.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "run.json":
                path.unlink()
        self._folder.outputs.mkdir(mode=0o700)
        self._incoming.mkdir(mode=0o700)

    def receive(self, part: Part) -> None:
        """Write a part. Raises ``WorkspaceError``, after which the rest of its file is ignored."""
        if part.kind == "journal":
            with self._folder.journal.open("ab") as file:
                file.write(part.data)
        elif part.kind in ("record", "blob"):
            with self._content.open("ab") as file:
                file.write(part.data)
            if part.last:
                self._store(part)
        elif part.kind in ("file", "folder", "link", "removed"):
            self._change(part)

    def close(self) -> None:
        """Make the record durable and remove what is unfinished."""
        self._abort()
        with suppress(FileNotFoundError), self._folder.journal.open("rb") as file:
            os.fsync(file.fileno())
        shutil.rmtree(self._incoming, ignore_errors=True)

    def _store(self, part: Part) -> None:
        """Move a complete content to its place."""
        if part.kind == "record":
            if not _RECORD.fullmatch(part.path):
                raise RunError(f"A node sent {part.path!r:.80}, which is no part of a run.")
            target = self._folder.path / part.path
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._content.replace(target)
            return
        with self._content.open("rb") as file, suppress(WorkspaceError):
            # A full store keeps no more versions.
            self._blobs.put(file, limit=os.fstat(file.fileno()).st_size)
        self._content.unlink()

    def _change(self, part: Part) -> None:
        """Change the workspace; leave out what it does not accept, and say so in the log."""
        if self._files is None:
            self._files = FileReceiver(Workspace(self._folder.workspace))
        try:
            self._files.receive(part)
        except WorkspaceError as error:
            _log.warning("Run %s: %.200r is left out: %s", self._folder.id, part.path, error)

    def _abort(self) -> None:
        if self._files is not None:
            self._files.abort()
