"""Remove folder trees that a hostile process wrote and may still be writing to."""

import errno
import os
import secrets
import stat
from contextlib import suppress

from agent.workspace import paths

_MAX_PASSES = 100


def remove_tree(parent: int, target: str) -> None:
    """Remove a file or a tree of any depth in ``parent`` by flattening its folders."""
    pending = [target]
    for _ in range(_MAX_PASSES):
        remaining = []
        while pending:
            name = pending.pop()
            try:
                os.unlink(name, dir_fd=parent)
            except IsADirectoryError:
                pending += _flatten(parent, name)
                remaining.append(name)
            except FileNotFoundError:
                continue
        pending = [name for name in remaining if not _rmdir(parent, name)]
        if not pending:
            return


def _rmdir(parent: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _flatten(parent: int, name: str) -> list[str]:
    """Empty the folder ``name``; move subfolders to ``parent`` and return their names."""
    moved = []
    _make_writable(parent, name)
    with paths.folder_fd(parent, name) as folder, os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError, IsADirectoryError):
                    os.unlink(entry.name, dir_fd=folder)
                continue
            with suppress(FileNotFoundError):
                moved.append(move_out(folder, entry.name, parent))
    return moved


def move_out(folder: int, name: str, destination: int) -> str:
    """Move ``name`` from an opened folder to ``destination`` and return its new name."""
    new_name = f"ruin-{secrets.token_hex(8)}"
    try:
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=destination)
    except PermissionError:  # moving a folder requires write permission on it
        _make_writable(folder, name)
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=destination)
    return new_name


def _make_writable(folder: int, name: str) -> None:
    """Make a folder that the application owns readable and writable, to remove it."""
    handle = paths.open_below(folder, name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode) and mode & 0o700 != 0o700:
            with suppress(PermissionError):
                os.chmod(f"/proc/self/fd/{handle}", 0o700)  # noqa: PTH101 - a descriptor, not a path
    finally:
        os.close(handle)
