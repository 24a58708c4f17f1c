"""Operations on opened folders: scan, walk, create, rename without overwriting, remove."""

import ctypes
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress

from agent.workspace import paths

_libc = ctypes.CDLL(None, use_errno=True)
_NOREPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED_ERRNOS = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)
_MAX_PASSES = 100


def scan(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    """Yield names in an opened folder with ``lstat`` results; skip vanished names."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def walk(root: int, folder: str) -> Iterator[tuple[str, os.stat_result | OSError]]:
    """Yield every path below ``folder``, parents first, sorted by name; do not follow links.

    A folder that cannot be listed is yielded a second time, with the ``OSError``. One descriptor is
    open at a time, however deep the tree becomes meanwhile.
    """
    pending = [folder]
    while pending:
        current = pending.pop()
        try:
            with paths.folder_fd(root, current) as opened:
                entries = sorted(scan(opened), key=lambda entry: entry[0])
        except OSError as error:
            yield current, error
            continue
        inner = []
        for name, info in entries:
            path = paths.join(current, name)
            yield path, info
            if stat.S_ISDIR(info.st_mode):
                inner.append(path)
        pending.extend(reversed(inner))


def created_folder_fd(root: int, path: str) -> AbstractContextManager[int]:
    """Open the folder ``path`` below ``root`` for a block, creating the missing components."""
    return paths.closing_fd(open_or_create_folders(root, path))


def open_or_create_folders(root: int, path: str) -> int:
    """Open the folder ``path`` below ``root``, creating the missing components."""
    current = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    for name in path.split("/") if path else ():
        try:
            child = open_or_create_folder(current, name)
        finally:
            os.close(current)
        current = child
    return current


def open_or_create_folder(folder: int, name: str) -> int:
    """Open the folder ``name`` in ``folder``, creating it if it is missing."""
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise
    return paths.open_folder(folder, name)


def version_tag(info: os.stat_result) -> str:
    """Return a version tag of a file, from its mtime, size and inode."""
    return f"{info.st_mtime_ns:x}-{info.st_size:x}-{info.st_ino:x}"


def name_candidates(name: str) -> Iterator[str]:
    """Yield ``name``, ``name (2).ext``, ``name (3).ext``, … each within 255 bytes."""
    yield name
    stem, dot, ext = name.rpartition(".")
    if not stem or len(ext) > 12:
        stem, dot, ext = name, "", ""
    for number in range(2, 10_000):
        ending = f" ({number}){dot}{ext}"
        max_bytes = paths.MAX_NAME - len(os.fsencode(ending))
        yield _truncate(stem, max_bytes) + ending


def _truncate(text: str, max_bytes: int) -> str:
    raw = os.fsencode(text)
    return text if len(raw) <= max_bytes else raw[:max_bytes].decode("utf-8", "ignore")


def rename_noreplace(source: int, name: str, target: int, new: str) -> None:
    """Rename ``name`` in one opened folder to ``new`` in another; never overwrite, atomically."""
    try:
        _renameat2(source, name, target, new, _NOREPLACE)
    except OSError as error:
        if error.errno not in _UNSUPPORTED_ERRNOS:
            raise
        _rename_by_reserving(source, name, target, new)


def exchange(folder: int, name: str, other_folder: int, other_name: str) -> bool:
    """Swap two names atomically; return False if the file system does not support it."""
    try:
        _renameat2(folder, name, other_folder, other_name, _EXCHANGE)
    except OSError as error:
        if error.errno in _UNSUPPORTED_ERRNOS:
            return False
        raise
    return True


def _renameat2(source: int, name: str, target: int, new: str, flags: int) -> None:
    try:
        call = _libc.renameat2
    except AttributeError as error:  # C library older than 2018
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name) from error
    if call(source, os.fsencode(name), target, os.fsencode(new), ctypes.c_uint(flags)):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)


def _rename_by_reserving(source: int, name: str, target: int, new: str) -> None:
    """Rename without ``renameat2`` flags by reserving the new name first."""
    info = os.stat(name, dir_fd=source, follow_symlinks=False)
    if stat.S_ISDIR(info.st_mode):
        os.mkdir(new, dir_fd=target)
        try:
            os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
        except OSError:
            os.rmdir(new, dir_fd=target)
            raise
    else:
        os.link(name, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
        os.unlink(name, dir_fd=source)


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
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    with paths.closing_fd(paths.open_below(folder, name, flags)) as handle:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode) and mode & 0o700 != 0o700:
            with suppress(PermissionError):
                os.chmod(f"/proc/self/fd/{handle}", 0o700)  # noqa: PTH101 - a descriptor, not a path
