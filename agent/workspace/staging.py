"""A folder beside the workspace, out of the sandbox's sight: files not yet whole, and ruins."""

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
from agent.legible import size_of
from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.renaming import exchange, rename_new
from agent.workspace.ruins import demolish, taken_out
from agent.workspace.tree import free_names, make_folders, version_of

UNDO_SECONDS = 600.0
"""How long what was removed can be brought back."""

UPLOAD_SECONDS = 24 * 3600.0
"""How long an upload that nobody goes on with is kept."""

ANY = "*"
"""Stands for whatever version of a file is there."""

_KEPT = {"upload-": UPLOAD_SECONDS, "gone-": UNDO_SECONDS}


class Staging:
    """The folder; made when it is first needed, mode 0700.

    Args:
        folder: Where; on the workspace's file system, outside of what the sandbox mounts.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor of the folder for the block. Raises ``OSError``."""
        if self.folder.parent.is_dir():  # else its sandbox is gone, and is not to be made again
            self.folder.mkdir(mode=0o700, exist_ok=True)
        with paths.opened_folder_path(self.folder) as opened:
            yield opened

    def create(self, name: str = "") -> tuple[str, int]:
        """A new empty file: its name here, and a descriptor to write with."""
        name = name or f"part-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self.opened() as here:
            return name, os.open(name, flags, 0o644, dir_fd=here)

    def discard(self, folder: int, name: str) -> None:
        """Take ``name`` out of an opened folder at once, then remove it with all it holds.

        Whoever still works inside a folder that is being removed can slow this down, but
        not lead it elsewhere. What keeps being refilled stays here until ``tidy``.

        Raises:
            OSError: it cannot be removed; it is back in its place where that was possible.
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
        """Remove ``name`` here, with all it holds; missing is no error. Raises ``OSError``."""
        with self.opened() as here:
            demolish(here, name)

    def tidy(self, now: float | None = None, *, alone: bool = True) -> None:
        """Remove what is left here: by a process that died, or by people for too long.

        Args:
            now: Seconds since the epoch; the present by default.
            alone: Nobody else uses the folder: what is being written is a ruin, too.
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
    """Where files come to: a ``Workspace``."""

    root: Path
    staging: Staging


class Upload:
    """A file on its way into the workspace; nobody sees it before ``commit``.

    As a context manager it is aborted unless it was committed. Made by ``Workspace.begin``.

    Args:
        home: The workspace.
        path: What it is to become.
        room: Bytes that it may have; None for as many as the disk takes.
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
            NoRoom: the disk is full, or it is more than there was room for; nothing is left.
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
        """The workspace was moved, and the staging folder with it; that is where it goes."""
        self._home = home

    def commit(self) -> RelPath:
        """Put the file in its place and return the path that it got.

        A name that exists is never touched: the file becomes ``name (2).ext``.

        Raises:
            WorkspaceError: a folder on the way is none, or the disk is full; nothing is left.
        """
        with self._speaking():
            path = put(self._home, self._part, self._path)
        self.abort()
        return path

    def replace(self, version: str) -> RelPath:
        """Put the file in the place of the one that is there, with its mode.

        Args:
            version: What ``version_of`` said of that one, or ``ANY``.

        Raises:
            ChangedMeanwhile: there is another version, or none; it is left as it is.
            WorkspaceError: as ``commit``.
        """
        try:
            with self._speaking():
                _put_over(self._home, (self._part, self._file), self._path, version)
        finally:
            self.abort()
        return self._path

    def abort(self) -> None:
        """Forget the file. After ``commit``, or a second time, this does nothing."""
        if self._open:
            self._open = False
            os.close(self._file)
            with suppress(FileNotFoundError):
                self._home.staging.drop(self._part)

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn the kernel's refusals into sentences, leaving nothing of the upload."""
        try:
            yield
        except OSError as error:
            if hasattr(self, "_file"):
                self.abort()
            raise paths.explain(error, self._path) from error


def put(home: Home, part: str, path: RelPath) -> RelPath:
    """Move ``part`` of the staging folder to ``path``, or to a free name like it.

    Raises:
        OSError: a folder on the way is none, or may not be written.
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
    """Rename ``part`` in an opened folder into another, to a free name; returns that.

    Raises:
        OSError: it cannot be renamed.
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
