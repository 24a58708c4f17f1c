"""Operations on opened folders: scan, walk, create, find free names."""

import errno
import os
import stat
from collections.abc import Iterator

from agent.workspace import paths


def scan(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    """Yield names in an opened folder with ``lstat`` results; skip vanished names."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def walk(root: int, folder: str) -> Iterator[tuple[str, os.stat_result | OSError]]:
    """Yield every path below ``folder``, parents first, sorted by name.

    A folder that cannot be listed is yielded a second time, with the ``OSError``. Links are
    yielded but not followed. The walk is not recursive and keeps one descriptor open, however
    deep the tree becomes meanwhile.
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
