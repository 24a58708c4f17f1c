"""File access to a workspace from outside the sandbox."""

import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from agent.errors import ToolError, WorkspaceError
from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.staging import FileWriter, StagingFolder
from agent.workspace.tree import open_or_create_folders, scan

FileKind = Literal["file", "folder", "link", "other"]
STAGING = "staging"
FALLBACK_READ_LIMIT = 64 * 1024**2


class FallbackAccess(Protocol):
    """Fallback for files that the application's own user may not read or remove."""

    def read(self, path: str, *, limit: int) -> bytes:
        """Return the file's content, at most ``limit`` bytes."""

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with its contents."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One directory entry."""

    name: str  # not UTF-8: surrogate-escaped
    kind: FileKind  # links are not followed
    size: int
    mtime: float
    mode: int  # permission bits, with setuid and sticky


def entry_from_stat(name: str, info: os.stat_result) -> FileEntry:
    """Return the entry for ``name`` from its ``lstat`` result."""
    return FileEntry(
        name, kind_from_mode(info.st_mode), info.st_size, info.st_mtime, stat.S_IMODE(info.st_mode)
    )


def kind_from_mode(mode: int) -> FileKind:
    """Return the kind of a file from its mode."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


Listing = list[FileEntry]


class Workspace:
    """The folder that user and model share, accessed from outside the sandbox.

    Every method is safe against processes running in the sandbox at the same time: links are
    never followed, nothing outside ``root`` is read or written, and nothing blocks on a FIFO,
    a lease or a device. Methods raise ``WorkspaceError`` with a message for the user.

    ``staging`` holds unfinished uploads and files being removed, on the same file system and not
    seen by the sandbox. ``mounted`` keeps the root's disk mounted for each access.
    """

    def __init__(
        self,
        root: Path,
        *,
        staging: Path | None = None,
        fallback: FallbackAccess | None = None,
        mounted: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.root = root
        self.staging = StagingFolder(staging or root.parent / STAGING, mounted)
        self._mounted = mounted
        self.fallback = fallback

    @contextmanager
    def open_root(self, path: RelPath) -> Iterator[int]:
        """Open the root for the block; convert ``OSError`` to an error about ``path``."""
        try:
            with self._mounted(), paths.host_folder_fd(self.root) as root:
                yield root
        except OSError as error:
            raise paths.to_workspace_error(error, path) from error

    def list(self, folder: RelPath) -> Listing:
        """Return the entries of ``folder``: folders first, then by name, ignoring case."""
        with self.open_root(folder) as root, paths.folder_fd(root, folder) as opened:
            entries = [entry_from_stat(name, info) for name, info in scan(opened)]
        return sorted(entries, key=lambda entry: (entry.kind != "folder", entry.name.casefold()))

    def stat(self, path: RelPath) -> FileEntry:
        """Return the entry for ``path``, without following links."""
        with self.open_root(path) as root:
            return entry_from_stat(path.name, paths.lstat_below(root, path))

    def open_read(self, path: RelPath) -> BinaryIO:
        """Open the regular file ``path``, seekable; the caller closes it.

        Files that the application's user may not read are read by ``fallback``, up to 64 MB.
        """
        with self.open_root(path) as root:
            try:
                return os.fdopen(paths.open_file(root, path), "rb")
            except PermissionError as error:
                if self.fallback is None:
                    raise
                return io.BytesIO(self._read_with_fallback(self.fallback, path, error))

    def open_write(self, path: RelPath, max_size: int | None = None) -> FileWriter:
        """Start writing a file that appears, complete, when ``commit`` is called.

        Missing folders are created. An existing file is kept; the new one gets a free name.
        """
        if not path:
            raise WorkspaceError("The file has no name. Enter one.")
        return FileWriter(self, path, max_size)

    def write(self, path: RelPath, chunks: Iterable[bytes]) -> RelPath:
        """Write a new file atomically and return its path.

        If the name exists, the new file becomes ``name (2).ext``.
        """
        with self.open_write(path) as upload:
            for chunk in chunks:
                upload.write(chunk)
            return upload.commit()

    def make_folder(self, path: RelPath) -> None:
        """Create a folder and its missing parents; an existing folder is not an error."""
        with self.open_root(path) as root:
            os.close(open_or_create_folders(root, path))

    def remove(self, path: RelPath) -> None:
        """Remove a file, a link, or a folder with its contents, if it exists."""
        if not path:
            raise WorkspaceError("The workspace itself cannot be removed.")
        with self.open_root(path) as root:
            try:
                with paths.folder_fd(root, path.parent) as folder:
                    self.staging.discard(folder, path.name)
            except FileNotFoundError:
                return
            except PermissionError as error:
                if self.fallback is None:
                    raise
                self._remove_with_fallback(self.fallback, path, error)

    def _read_with_fallback(
        self, fallback: FallbackAccess, path: RelPath, error: PermissionError
    ) -> bytes:
        try:
            return fallback.read(f"/workspace/{path}", limit=FALLBACK_READ_LIMIT)
        except ToolError as refused:
            raise WorkspaceError(f"“{path.display}” cannot be read: {refused}") from error

    def _remove_with_fallback(
        self, fallback: FallbackAccess, path: RelPath, error: PermissionError
    ) -> None:
        try:
            fallback.remove(f"/workspace/{path}")
        except ToolError as refused:
            raise WorkspaceError(f"“{path.display}” cannot be removed: {refused}") from error
