"""File access to a workspace from outside the sandbox."""

import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, Self

from agent.errors import EditConflict, StorageFull, ToolError, WorkspaceError
from agent.util.text import format_size
from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.staging import StagingFolder, move_to_free_name
from agent.workspace.tree import (
    created_folder_fd,
    exchange,
    open_or_create_folders,
    scan,
    version_tag,
)

FileKind = Literal["file", "folder", "link", "other"]
STAGING = "staging"
ANY_VERSION = "*"
"""Matches any version of a file."""

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


class FileWriter:
    """A file being written to the workspace; invisible before ``commit``."""

    def __init__(self, workspace: "Workspace", path: RelPath, max_size: int | None = None) -> None:
        self._workspace, self._path, self._max_size = workspace, path, max_size
        self._size = 0
        with self._convert_errors():
            self._staged_name, self._file = workspace.staging.create()
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def write(self, *data: bytes) -> None:
        """Append ``data``; a full disk or the size limit aborts the upload with ``StorageFull``."""
        self._size += sum(map(len, data))
        if self._max_size is not None and self._size > self._max_size:
            self.abort()
            raise StorageFull(
                f"“{self._path.display}” does not fit: it has more than "
                f"{format_size(self._max_size)}, which is the space left."
            )
        with self._convert_errors():
            for each in data:
                rest = memoryview(each)
                while rest:
                    rest = rest[os.write(self._file, rest) :]

    def set_workspace(self, workspace: "Workspace") -> None:
        """Set a new destination after the workspace and its staging folder were moved."""
        self._workspace = workspace

    def commit(self) -> RelPath:
        """Move the file to its target, or to a free name, and return its path."""
        with self._convert_errors():
            path = move_from_staging(self._workspace, self._staged_name, self._path)
        self.abort()
        return path

    def replace(self, version: str) -> RelPath:
        """Replace a file of this version or ``ANY_VERSION``, keep its mode; or ``EditConflict``."""
        try:
            with self._convert_errors():
                _replace_file(self._workspace, (self._staged_name, self._file), self._path, version)
        finally:
            self.abort()
        return self._path

    def abort(self) -> None:
        """Discard the file. Does nothing after ``commit`` or a previous ``abort``."""
        if self._open:
            self._open = False
            os.close(self._file)
            with suppress(FileNotFoundError):
                self._workspace.staging.remove(self._staged_name)

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Convert ``OSError`` to an error for the user and abort the upload."""
        try:
            yield
        except OSError as error:
            if hasattr(self, "_file"):
                self.abort()
            raise paths.to_workspace_error(error, self._path) from error


def move_from_staging(workspace: "Workspace", staged_name: str, path: RelPath) -> RelPath:
    """Move ``staged_name`` from the staging folder to ``path``, or to a free name like it."""
    with (
        workspace.staging.open() as staging,
        paths.host_folder_fd(workspace.root) as root,
        created_folder_fd(root, path.parent) as folder,
    ):
        name = move_to_free_name(staging, staged_name, folder, path.name)
    return RelPath.trusted(paths.join(path.parent, name))


def _replace_file(
    workspace: "Workspace", staged: tuple[str, int], path: RelPath, version: str
) -> None:
    name, file = staged
    with (
        workspace.staging.open() as staging,
        paths.host_folder_fd(workspace.root) as root,
        paths.folder_fd(root, path.parent) as folder,
    ):
        _check_version(folder, path.name, path, version)
        before = paths.lstat_below(folder, path.name)
        with suppress(PermissionError):
            os.fchown(file, before.st_uid, before.st_gid)
        os.fchmod(file, before.st_mode & 0o777)
        if not exchange(staging, name, folder, path.name):
            os.rename(name, path.name, src_dir_fd=staging, dst_dir_fd=folder)
            return
        try:
            _check_version(staging, name, path, version)
        except EditConflict:
            exchange(staging, name, folder, path.name)
            raise


def _check_version(folder: int, name: str, path: RelPath, version: str) -> None:
    try:
        info = paths.lstat_below(folder, name)
    except FileNotFoundError as error:
        raise EditConflict(f"“{path.display}” no longer exists.") from error
    if not stat.S_ISREG(info.st_mode):
        raise EditConflict(f"“{path.display}” is no longer a file.")
    if version not in (ANY_VERSION, version_tag(info)):
        raise EditConflict(f"“{path.display}” has changed since you opened it.")


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
        """Open a regular file, seekable; ``fallback`` reads up to 64 MB of a forbidden one."""
        with self.open_root(path) as root:
            try:
                return os.fdopen(paths.open_file(root, path), "rb")
            except PermissionError as error:
                if self.fallback is None:
                    raise
                return io.BytesIO(self._read_with_fallback(self.fallback, path, error))

    def open_write(self, path: RelPath, max_size: int | None = None) -> FileWriter:
        """Start writing a file, and its folders; it appears, under a free name, on ``commit``."""
        if not path:
            raise WorkspaceError("The file has no name. Enter one.")
        return FileWriter(self, path, max_size)

    def write(self, path: RelPath, chunks: Iterable[bytes]) -> RelPath:
        """Write a new file atomically, under a free name; return its path."""
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
