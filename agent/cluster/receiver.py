"""Writes a run that a node carries out into the data folder, as an ordinary run."""

import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from agent.cluster.parts import CHUNK, Part
from agent.errors import RunError, WorkspaceError
from agent.runs.folder import RunFolder
from agent.tasks.setup import write_files
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.versions.blobs import BlobStore

_log = logging.getLogger(__name__)
_RECORD = re.compile(r"(?:outputs|requests)(?:/[.-]*\w[\w.-]*)+|manifests\.jsonl")
_FOLDERS = ("input", "output")


class Receiver:
    """Receives the parts of one run; a node may send nothing outside the run's own folders.

    Args:
        folder: The run's folder.
        inputs: The run's documents, which its workspace begins with.
        blobs: The data folder's store of file contents.
    """

    def __init__(self, folder: RunFolder, inputs: dict[str, bytes], blobs: BlobStore) -> None:
        self._folder = folder
        self._inputs = inputs
        self._blobs = blobs
        self._incoming = folder.path / "incoming"
        self._content = self._incoming / "content"

    def reset(self) -> None:
        """Forget what was received, before the run starts again; its documents are in place.

        Raises:
            OSError: The folder cannot be written.
            TaskError: A document cannot be written.
        """
        workspace = Workspace(self._folder.workspace)
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
        """Write a part.

        Raises:
            OSError: It cannot be written.
            RunError: It is for a path that is not the run's.
        """
        if part.kind == "journal":
            with self._folder.journal.open("ab") as file:
                file.write(part.data)
        elif part.kind in ("record", "blob", "file"):
            with self._content.open("ab") as file:
                file.write(part.data)
            if part.last:
                self._store(part)
        elif part.kind in ("folder", "link", "removed"):
            self._change(part)

    def close(self) -> None:
        """Make the record durable and remove what is unfinished."""
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
        with self._content.open("rb") as file:
            if part.kind == "blob":
                with suppress(WorkspaceError):  # a full store keeps no more versions
                    self._blobs.put(file, limit=os.fstat(file.fileno()).st_size)
            else:
                self._write_file(part, file)
        self._content.unlink()

    def _write_file(self, part: Part, source: BinaryIO) -> None:
        workspace = Workspace(self._folder.workspace)
        with self._skipping(part):
            path = RelPath(part.path)
            workspace.remove(path)
            workspace.write(path, iter(lambda: source.read(CHUNK), b""))
            with workspace.open_root(path) as root:
                opened = paths.open_file(root, path)
                try:
                    os.fchmod(opened, part.mode & 0o777 | 0o600)
                finally:
                    os.close(opened)

    def _change(self, part: Part) -> None:
        workspace = Workspace(self._folder.workspace)
        with self._skipping(part):
            path = RelPath(part.path)
            if part.kind == "folder":
                workspace.make_folder(path)
                return
            workspace.remove(path)
            if part.kind == "link":
                with workspace.open_root(path) as root, paths.folder_fd(root, path.parent) as at:
                    os.symlink(part.data, path.name, dir_fd=at)

    @contextmanager
    def _skipping(self, part: Part) -> Iterator[None]:
        """Leave out a path that the workspace does not accept, and say so in the log."""
        try:
            yield
        except WorkspaceError as error:
            _log.warning("Run %s: %.200r is left out: %s", self._folder.id, part.path, error)
