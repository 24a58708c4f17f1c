"""A folder beside the workspace, out of the sandbox's sight: files not yet whole, and ruins."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.tree import free_names, make_folders

_PATIENCE = 100


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
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with paths.opened_folder_path(self.folder) as opened:
            yield opened

    def create(self) -> tuple[str, int]:
        """A new empty file: its name here, and a descriptor to write with."""
        name = f"part-{secrets.token_hex(8)}"
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
            ruin = f"ruin-{secrets.token_hex(8)}"
            os.rename(name, ruin, src_dir_fd=folder, dst_dir_fd=here)
            try:
                _demolish(here, ruin)
            except OSError:
                with suppress(OSError):
                    os.rename(ruin, name, src_dir_fd=here, dst_dir_fd=folder)
                raise

    def tidy(self) -> None:
        """Remove what a process that died left here; for when nobody else uses the folder."""
        if not self.folder.exists():
            return
        with self.opened() as here:
            for left in self.folder.iterdir():
                with suppress(OSError):
                    _demolish(here, left.name)


def _demolish(here: int, ruin: str) -> None:
    """Remove a name in ``here``; folders are flattened first, so that depth costs nothing."""
    waiting = [ruin]
    for _ in range(_PATIENCE):
        left = []
        while waiting:
            name = waiting.pop()
            try:
                os.unlink(name, dir_fd=here)
            except IsADirectoryError:
                waiting += _flatten(here, name)
                left.append(name)
            except FileNotFoundError:
                continue
        waiting = [name for name in left if not _rmdir(here, name)]
        if not waiting:
            return


def _rmdir(here: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=here)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _flatten(here: int, name: str) -> list[str]:
    """Empty the folder ``name``; its folders are moved beside it under the names returned."""
    moved = []
    with paths.opened_folder(here, name) as folder, os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError, IsADirectoryError):
                    os.unlink(entry.name, dir_fd=folder)
                continue
            beside = f"ruin-{secrets.token_hex(8)}"
            with suppress(FileNotFoundError):
                os.rename(entry.name, beside, src_dir_fd=folder, dst_dir_fd=here)
                moved.append(beside)
    return moved


class Upload:
    """A file on its way into the workspace; nobody sees it before ``commit``.

    As a context manager it is aborted unless it was committed. Made by ``Workspace.begin``.
    """

    def __init__(self, staging: Staging, root: Path, path: RelPath) -> None:
        self._staging, self._root, self._path = staging, root, path
        with self._speaking():
            self._part, self._file = staging.create()
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

    def write(self, data: bytes) -> None:
        """Append ``data``. A full disk ends the upload with ``WorkspaceError``, leaving nothing."""
        with self._speaking():
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._file, rest) :]

    def commit(self) -> RelPath:
        """Put the file in its place and return the path that it got.

        A name that exists is never touched: the file becomes ``name (2).ext``.

        Raises:
            WorkspaceError: a folder on the way is none, or the disk is full; nothing is left.
        """
        with self._speaking(), paths.opened_folder_path(self._root) as root:
            folder = make_folders(root, self._path.parent)
            try:
                name = self._link(folder)
            finally:
                os.close(folder)
        self.abort()
        return RelPath.trusted(paths.join(self._path.parent, name))

    def abort(self) -> None:
        """Forget the file. After ``commit``, or a second time, this does nothing."""
        if self._open:
            self._open = False
            os.close(self._file)
            with self._staging.opened() as here, suppress(FileNotFoundError):
                os.unlink(self._part, dir_fd=here)

    def _link(self, folder: int) -> str:
        with self._staging.opened() as here:
            for name in free_names(self._path.name):
                try:
                    os.link(self._part, name, src_dir_fd=here, dst_dir_fd=folder)
                except FileExistsError:
                    continue
                return name
        raise WorkspaceError(f"“{self._path.shown}” and all names like it are taken.")

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn the kernel's refusals into sentences, leaving nothing of the upload."""
        try:
            yield
        except OSError as error:
            if hasattr(self, "_file"):
                self.abort()
            raise paths.explain(error, self._path) from error
