"""Staging folder, hidden from the sandbox: unfinished uploads and removed files."""

import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Protocol, Self

from agent.errors import EditConflict, StorageFull, WorkspaceError
from agent.util.text import format_size
from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.tree import (
    exchange,
    move_out,
    name_candidates,
    open_or_create_folders,
    remove_tree,
    rename_noreplace,
    version_tag,
)

UNDO_SECONDS = 600.0
"""Time in which a removal can be undone."""

UPLOAD_SECONDS = 24 * 3600.0
"""Time for which an idle unfinished upload is kept."""

ANY_VERSION = "*"
"""Matches any version of a file."""

_RETENTION_SECONDS = {"upload-": UPLOAD_SECONDS, "gone-": UNDO_SECONDS}


class StagingFolder:
    """The staging folder, created on first use with mode 0700."""

    def __init__(
        self,
        folder: Path,
        mounted: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.folder = folder
        self._mounted = mounted

    @contextmanager
    def open(self) -> Iterator[int]:
        """Open the folder for the block. Raises ``OSError``."""
        with self._mounted():
            if self.folder.parent.is_dir():  # else the sandbox was deleted: do not recreate it
                self.folder.mkdir(mode=0o700, exist_ok=True)
            with paths.host_folder_fd(self.folder) as opened:
                yield opened

    def create(self, name: str = "") -> tuple[str, int]:
        """Create an empty file; return its name and a descriptor open for writing."""
        name = name or f"part-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self.open() as here:
            return name, os.open(name, flags, 0o644, dir_fd=here)

    def discard(self, folder: int, name: str) -> None:
        """Move ``name`` out of an opened folder, then remove it with its contents.

        A process that still writes into the folder can slow the removal down but cannot
        redirect it. A folder that keeps being refilled stays in staging until ``clean_up``. If it
        cannot be removed, it is moved back if possible.
        """
        with self.open() as staging:
            moved_name = move_out(folder, name, staging)
            try:
                remove_tree(staging, moved_name)
            except OSError:
                with suppress(OSError):
                    os.rename(moved_name, name, src_dir_fd=staging, dst_dir_fd=folder)
                raise

    def remove(self, name: str) -> None:
        """Remove ``name`` with its contents, if it exists. Raises ``OSError``."""
        with self.open() as here:
            remove_tree(here, name)

    def clean_up(self, now: float | None = None, *, exclusive: bool = True) -> None:
        """Remove leftovers of dead processes, expired uploads and expired removals.

        With ``exclusive`` no other process uses the folder: files being written are leftovers too.
        """
        now = time.time() if now is None else now
        if not self.folder.exists():
            return
        with self.open() as staging, os.scandir(staging) as entries:
            for entry in entries:
                retention = next(
                    (s for begin, s in _RETENTION_SECONDS.items() if entry.name.startswith(begin)),
                    0.0,
                )
                with suppress(OSError):
                    age = now - entry.stat(follow_symlinks=False).st_mtime
                    if age > (retention or (0.0 if exclusive else UPLOAD_SECONDS)) or (
                        exclusive and not retention
                    ):
                        remove_tree(staging, entry.name)


class UploadDestination(Protocol):
    """Destination of uploads: a ``Workspace``."""

    root: Path
    staging: StagingFolder


class FileWriter:
    """A file being written to the workspace; invisible before ``commit``.

    The context manager aborts it unless it was committed. Created by ``Workspace.open_write``.
    """

    def __init__(
        self, workspace: UploadDestination, path: RelPath, max_size: int | None = None
    ) -> None:
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

    def set_workspace(self, workspace: UploadDestination) -> None:
        """Set a new destination after the workspace and its staging folder were moved."""
        self._workspace = workspace

    def commit(self) -> RelPath:
        """Move the file to its target and return the resulting path.

        An existing file is never replaced: the new one becomes ``name (2).ext``.
        """
        with self._convert_errors():
            path = move_from_staging(self._workspace, self._staged_name, self._path)
        self.abort()
        return path

    def replace(self, version: str) -> RelPath:
        """Replace the existing file, keeping its mode, if it has this version or ``ANY_VERSION``.

        ``EditConflict`` if it has another version or is missing.
        """
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


def move_from_staging(workspace: UploadDestination, staged_name: str, path: RelPath) -> RelPath:
    """Move ``staged_name`` from the staging folder to ``path``, or to a free name like it."""
    with workspace.staging.open() as staging, paths.host_folder_fd(workspace.root) as root:
        folder = open_or_create_folders(root, path.parent)
        try:
            name = move_to_free_name(staging, staged_name, folder, path.name)
        finally:
            os.close(folder)
    return RelPath.trusted(paths.join(path.parent, name))


def move_to_free_name(source: int, source_name: str, folder: int, wanted: str) -> str:
    """Move ``source_name`` to a free name like ``wanted`` in ``folder``; return the name."""
    for name in name_candidates(wanted):
        try:
            rename_noreplace(source, source_name, folder, name)
        except FileExistsError:
            continue
        return name
    raise WorkspaceError(f"“{paths.display_text(wanted)}” and all similar names are taken.")


def _replace_file(
    workspace: UploadDestination, staged: tuple[str, int], path: RelPath, version: str
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
