"""Staging folder, hidden from the sandbox: unfinished uploads and removed files."""

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from agent.errors import ChangedMeanwhile, NoRoom, WorkspaceError
from agent.util.text import size_of
from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.rename import exchange, rename_new
from agent.workspace.rmtree import demolish, taken_out
from agent.workspace.tree import free_names, make_folders, version_of

UNDO_SECONDS = 600.0
"""Time in which a removal can be undone."""

UPLOAD_SECONDS = 24 * 3600.0
"""Time for which an idle unfinished upload is kept."""

ANY = "*"
"""Matches any version of a file."""

_KEPT = {"upload-": UPLOAD_SECONDS, "gone-": UNDO_SECONDS}


class Staging:
    """The staging folder, created on first use with mode 0700.

    Args:
        folder: Its path; on the workspace's file system, outside the sandbox's mounts.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Open the folder for the block. Raises ``OSError``."""
        if self.folder.parent.is_dir():  # else the sandbox was deleted: do not recreate it
            self.folder.mkdir(mode=0o700, exist_ok=True)
        with paths.opened_folder_path(self.folder) as opened:
            yield opened

    def create(self, name: str = "") -> tuple[str, int]:
        """Create an empty file; return its name and a descriptor open for writing."""
        name = name or f"part-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self.opened() as here:
            return name, os.open(name, flags, 0o644, dir_fd=here)

    def discard(self, folder: int, name: str) -> None:
        """Move ``name`` out of an opened folder, then remove it with its contents.

        A process that still writes into the folder can slow the removal down but cannot
        redirect it. A folder that keeps being refilled stays in staging until ``tidy``.

        Raises:
            OSError: it cannot be removed; it is moved back if possible.
        """
        with self.opened() as here:
            ruin = taken_out(folder, name, here)
            try:
                demolish(here, ruin)
            except OSError:
                with suppress(OSError):
                    os.rename(ruin, name, src_dir_fd=here, dst_dir_fd=folder)
                raise

    def drop(self, name: str) -> None:
        """Remove ``name`` with its contents, if it exists. Raises ``OSError``."""
        with self.opened() as here:
            demolish(here, name)

    def tidy(self, now: float | None = None, *, alone: bool = True) -> None:
        """Remove leftovers of dead processes, expired uploads and expired removals.

        Args:
            now: Seconds since the epoch; the current time by default.
            alone: Whether no other process uses the folder, so that files being written are
                leftovers too.
        """
        now = time.time() if now is None else now
        if not self.folder.exists():
            return
        with self.opened() as here, os.scandir(here) as entries:
            for entry in entries:
                kept = next((s for begin, s in _KEPT.items() if entry.name.startswith(begin)), 0.0)
                with suppress(OSError):
                    age = now - entry.stat(follow_symlinks=False).st_mtime
                    if age > (kept or (0.0 if alone else UPLOAD_SECONDS)) or (alone and not kept):
                        demolish(here, entry.name)


class Home(Protocol):
    """Destination of uploads: a ``Workspace``."""

    root: Path
    staging: Staging


class Upload:
    """A file being written to the workspace; invisible before ``commit``.

    The context manager aborts it unless it was committed. Created by ``Workspace.begin``.

    Args:
        home: The workspace.
        path: Target path.
        room: Maximum size in bytes; None for no limit but the disk.
    """

    def __init__(self, home: Home, path: RelPath, room: int | None = None) -> None:
        self._home, self._path, self._room = home, path, room
        self._size = 0
        with self._speaking():
            self._part, self._file = home.staging.create()
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.abort()

    def write(self, *data: bytes) -> None:
        """Append ``data``.

        Raises:
            NoRoom: the disk is full or the size limit is exceeded; the upload is aborted.
        """
        self._size += sum(map(len, data))
        if self._room is not None and self._size > self._room:
            self.abort()
            raise NoRoom(
                f"“{self._path.shown}” does not fit: it has more than the "
                f"{size_of(self._room)} that there is room for."
            )
        with self._speaking():
            for each in data:
                rest = memoryview(each)
                while rest:
                    rest = rest[os.write(self._file, rest) :]

    def follow(self, home: Home) -> None:
        """Set a new destination after the workspace and its staging folder were moved."""
        self._home = home

    def commit(self) -> RelPath:
        """Move the file to its target and return the resulting path.

        An existing file is never replaced: the new one becomes ``name (2).ext``.

        Raises:
            WorkspaceError: a parent is not a folder, or the disk is full; the upload is aborted.
        """
        with self._speaking():
            path = put(self._home, self._part, self._path)
        self.abort()
        return path

    def replace(self, version: str) -> RelPath:
        """Replace the existing file, keeping its mode.

        Args:
            version: Result of ``version_of`` for the existing file, or ``ANY``.

        Raises:
            ChangedMeanwhile: the file has another version or is missing; it is not changed.
            WorkspaceError: as for ``commit``.
        """
        try:
            with self._speaking():
                _put_over(self._home, (self._part, self._file), self._path, version)
        finally:
            self.abort()
        return self._path

    def abort(self) -> None:
        """Discard the file. Does nothing after ``commit`` or a previous ``abort``."""
        if self._open:
            self._open = False
            os.close(self._file)
            with suppress(FileNotFoundError):
                self._home.staging.drop(self._part)

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Convert ``OSError`` to an error for the user and abort the upload."""
        try:
            yield
        except OSError as error:
            if hasattr(self, "_file"):
                self.abort()
            raise paths.explain(error, self._path) from error


def put(home: Home, part: str, path: RelPath) -> RelPath:
    """Move ``part`` from the staging folder to ``path``, or to a free name like it.

    Raises:
        OSError: a parent is not a folder or not writable.
        WorkspaceError: all names like it are taken.
    """
    with paths.opened_folder_path(home.root) as root, home.staging.opened() as here:
        folder = make_folders(root, path.parent)
        try:
            name = move_free(here, part, folder, path.name)
        finally:
            os.close(folder)
    return RelPath.trusted(paths.join(path.parent, name))


def move_free(source: int, part: str, folder: int, wanted: str) -> str:
    """Move ``part`` to a free name like ``wanted`` in ``folder``; return the name.

    Raises:
        OSError: it cannot be moved.
        WorkspaceError: all names like ``wanted`` are taken.
    """
    for name in free_names(wanted):
        try:
            rename_new(source, part, folder, name)
        except FileExistsError:
            continue
        return name
    raise WorkspaceError(f"“{paths.shown(wanted)}” and all names like it are taken.")


def _put_over(home: Home, part: tuple[str, int], path: RelPath, version: str) -> None:
    name, file = part
    with (
        paths.opened_folder_path(home.root) as root,
        paths.opened_folder(root, path.parent) as folder,
        home.staging.opened() as here,
    ):
        _check(folder, path.name, path, version)
        before = paths.lstat_below(folder, path.name)
        with suppress(PermissionError):
            os.fchown(file, before.st_uid, before.st_gid)
        os.fchmod(file, before.st_mode & 0o777)
        if not exchange(here, name, folder, path.name):
            os.rename(name, path.name, src_dir_fd=here, dst_dir_fd=folder)
            return
        try:
            _check(here, name, path, version)
        except ChangedMeanwhile:
            exchange(here, name, folder, path.name)
            raise


def _check(folder: int, name: str, path: RelPath, version: str) -> None:
    try:
        info = paths.lstat_below(folder, name)
    except FileNotFoundError as error:
        raise ChangedMeanwhile(f"“{path.shown}” is not there any more.") from error
    if not stat.S_ISREG(info.st_mode):
        raise ChangedMeanwhile(f"“{path.shown}” is not a file any more.")
    if version not in (ANY, version_of(info)):
        raise ChangedMeanwhile(f"“{path.shown}” has changed since it was opened here.")
