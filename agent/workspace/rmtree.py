"""Remove folder trees that a hostile process wrote and may still be writing to."""

import errno
import os
import secrets
import stat
from contextlib import suppress

from agent.workspace import paths

_PATIENCE = 100


def demolish(here: int, ruin: str) -> None:
    """Remove a file or a tree of any depth in ``here`` by flattening its folders."""
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
    """Empty the folder ``name``; move subfolders to ``here`` and return their names."""
    moved = []
    _permit(here, name)
    with paths.opened_folder(here, name) as folder, os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError, IsADirectoryError):
                    os.unlink(entry.name, dir_fd=folder)
                continue
            with suppress(FileNotFoundError):
                moved.append(taken_out(folder, entry.name, here))
    return moved


def taken_out(folder: int, name: str, here: int) -> str:
    """Move ``name`` from an opened folder to ``here`` and return its new name."""
    ruin = f"ruin-{secrets.token_hex(8)}"
    try:
        os.rename(name, ruin, src_dir_fd=folder, dst_dir_fd=here)
    except PermissionError:  # moving a folder requires write permission on it
        _permit(folder, name)
        os.rename(name, ruin, src_dir_fd=folder, dst_dir_fd=here)
    return ruin


def _permit(folder: int, name: str) -> None:
    """Make a folder that the application owns readable and writable, to remove it."""
    handle = paths.open_below(folder, name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode) and mode & 0o700 != 0o700:
            with suppress(PermissionError):
                os.chmod(f"/proc/self/fd/{handle}", 0o700)  # noqa: PTH101 - a descriptor, not a path
    finally:
        os.close(handle)
