"""What is done with opened folders: looking through them, making them, finding free names."""

import errno
import os
import stat
from collections.abc import Iterator

from agent.workspace import paths


def scan(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    """The names in an opened folder with their ``lstat``; those that vanish are left out."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def walk(root: int, folder: str) -> Iterator[tuple[str, os.stat_result | OSError]]:
    """Everything below ``folder``, parents first, in the order of names.

    A folder that cannot be listed comes a second time, with the ``OSError`` that says why;
    links are yielded, never followed. It holds one descriptor and no recursion, however
    deep the tree is made while it walks.
    """
    waiting = [folder]
    while waiting:
        at = waiting.pop()
        try:
            with paths.opened_folder(root, at) as opened:
                entries = sorted(scan(opened), key=lambda entry: entry[0])
        except OSError as error:
            yield at, error
            continue
        inner = []
        for name, info in entries:
            path = paths.join(at, name)
            yield path, info
            if stat.S_ISDIR(info.st_mode):
                inner.append(path)
        waiting.extend(reversed(inner))


def make_folders(root: int, path: str) -> int:
    """Make ``path`` below ``root`` as far as it is missing; a descriptor of it.

    Raises:
        OSError: ``ENOTDIR`` or ``ELOOP`` where a name on the way is no folder.
    """
    at = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    for name in path.split("/") if path else ():
        try:
            below = enter(at, name)
        finally:
            os.close(at)
        at = below
    return at


def enter(folder: int, name: str) -> int:
    """A descriptor of the folder ``name`` in ``folder``, made if it is missing."""
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise
    return paths.open_folder(folder, name)


def version_of(info: os.stat_result) -> str:
    """What tells two versions of a file apart: its content's time, its size, its node."""
    return f"{info.st_mtime_ns:x}-{info.st_size:x}-{info.st_ino:x}"


def free_names(name: str) -> Iterator[str]:
    """``name`` and then ``name (2).ext``, ``name (3).ext``, … each within 255 bytes."""
    yield name
    stem, dot, ext = name.rpartition(".")
    if not stem or len(ext) > 12:
        stem, dot, ext = name, "", ""
    for number in range(2, 10_000):
        ending = f" ({number}){dot}{ext}"
        room = paths.MAX_NAME - len(os.fsencode(ending))
        yield _cut(stem, room) + ending


def _cut(text: str, room: int) -> str:
    raw = os.fsencode(text)
    return text if len(raw) <= room else raw[:room].decode("utf-8", "ignore")
