"""The files of a run or a sandbox, by path."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from agent.api import arguments
from agent.errors import NoSuchFile, WorkspaceError
from agent.workspace.files import FileEntry, Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.transfer.copy import CopyReport, copy_out

_WORKSPACE = "/workspace/"


@dataclass(frozen=True, slots=True)
class File:
    """A file of a workspace, as it was listed.

    Attributes:
        path: Its path in the workspace, such as ``output/chart.png``.
        size: Its size in bytes.
        modified: The time of its last change, in seconds since the epoch.
    """

    path: str
    size: int
    modified: float
    _workspace: Workspace = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return RelPath(self.path).name

    def open(self) -> BinaryIO:
        """Open it for reading; the caller closes it. Raises ``WorkspaceError`` if it is gone."""
        return self._workspace.open_read(RelPath(self.path))

    def read(self) -> bytes:
        """Return its content."""
        with self.open() as file:
            return file.read()

    def text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return its content as text."""
        return self.read().decode(encoding, errors)

    def save(self, destination: "str | os.PathLike[str]") -> Path:
        """Copy it to a file of this machine, or into a folder; replace what is there.

        Returns:
            The path of the copy.

        Raises:
            WorkspaceError: It is gone, or the destination cannot be written.
        """
        target = arguments.path("destination", destination)
        target = target / self.name if target.is_dir() else target
        with self.open() as source:
            try:
                with target.open("wb") as copy:
                    shutil.copyfileobj(source, copy)
            except OSError as error:
                raise WorkspaceError(f"{target} cannot be written: {error.strerror}.") from error
        return target


class Files(Mapping[str, File]):
    """The regular files of a workspace by path, such as ``files["output/chart.png"]``.

    It shows the workspace as it is at each call. Links are left out, and so are the folders.

    Args:
        workspace: Returns the workspace.
    """

    def __init__(self, workspace: Callable[[], Workspace]) -> None:
        self._workspace = workspace

    def __getitem__(self, path: "str | os.PathLike[str]") -> File:
        """Return the file at a path below ``/workspace``. Raises ``NoSuchFile``."""
        text = os.fspath(arguments.path("path", path)).removeprefix(_WORKSPACE)
        workspace = self._workspace()
        try:
            entry = workspace.stat(RelPath(text))
        except WorkspaceError as error:
            raise NoSuchFile(str(error)) from error
        if entry.kind != "file":
            raise NoSuchFile(f"“{text}” is not a file, but a {entry.kind}.")
        return _file(workspace, text, entry)

    def __iter__(self) -> Iterator[str]:
        """Yield the paths of all files, folder by folder."""
        return (each.path for each in self._walk(self._workspace(), ROOT))

    def __len__(self) -> int:
        """Return the number of files."""
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Files({list(self)})"

    def save(self, destination: "str | os.PathLike[str]", folder: str = "output") -> CopyReport:
        """Copy a folder of the workspace into a folder of this machine; overwrite nothing.

        Returns:
            What was copied, and what was left out and why.

        Raises:
            WorkspaceError: There is no such folder, or the destination cannot be written.
        """
        target = arguments.path("destination", destination)
        return copy_out(self._workspace(), RelPath(folder) if folder else ROOT, target)

    def _walk(self, workspace: Workspace, folder: RelPath) -> Iterator[File]:
        for entry in workspace.list(folder):
            path = folder.child(entry.name)
            if entry.kind == "folder":
                yield from self._walk(workspace, path)
            elif entry.kind == "file":
                yield _file(workspace, str(path), entry)


def _file(workspace: Workspace, path: str, entry: FileEntry) -> File:
    return File(path, entry.size, entry.mtime, workspace)
