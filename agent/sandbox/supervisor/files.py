"""File operations that yield chunks or raise ``OSError``; refuse devices, which could block."""

# Paths are bytes, and pathlib would double the start-up time.
# ruff: noqa: PTH103, PTH104, PTH108, PTH106, PTH116, PTH118, PTH120, PTH208

import errno
import heapq
import os
import stat
from collections.abc import Callable, Generator, Iterator

from .frames import CHUNK_BYTES

Operation = Generator[bytes, bytes, None]

_BATCH_SIZE = 500
_OPEN_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def _os_error(number: int, path: bytes) -> OSError:
    return OSError(number, os.strerror(number), path)


def _kind_from_mode(mode: int) -> bytes:
    if stat.S_ISREG(mode):
        return b"file"
    return b"folder" if stat.S_ISDIR(mode) else b"other"


def kind(path: bytes) -> Operation:
    """Yield the kind of ``path``, following links."""
    try:
        yield _kind_from_mode(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        yield b"missing"


def _check_regular(mode: int, path: bytes) -> None:
    if stat.S_ISDIR(mode):
        raise _os_error(errno.EISDIR, path)
    if not stat.S_ISREG(mode):
        raise _os_error(errno.ENODEV, path)


def read(path: bytes, limit: bytes) -> Operation:
    """Yield the bytes of a regular file; ``EFBIG`` as soon as there are more than ``limit``."""
    _check_regular(os.stat(path).st_mode, path)
    descriptor = os.open(path, _OPEN_READ)
    try:
        status = os.fstat(descriptor)
        _check_regular(status.st_mode, path)
        left = int(limit)
        if status.st_size > left:
            raise _os_error(errno.EFBIG, path)
        while chunk := os.read(descriptor, CHUNK_BYTES):
            left -= len(chunk)
            if left < 0:
                raise _os_error(errno.EFBIG, path)
            yield chunk
    finally:
        os.close(descriptor)


def write(path: bytes, exclusive: bytes) -> Operation:
    """Receive chunks until an empty one, then move them into place as one file."""
    if exclusive and os.path.lexists(path):
        raise _os_error(errno.EEXIST, path)
    target = path if exclusive else os.path.realpath(path)
    folder = os.path.dirname(target)
    if path.endswith(b"/"):
        raise _os_error(errno.EISDIR, path)
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        raise _os_error(errno.ENOTDIR, folder) from None
    old = _stat_replaced_file(target)
    temporary = os.path.join(folder, b".studio-" + os.urandom(8).hex().encode() + b".tmp")
    descriptor = os.open(temporary, _OPEN_NEW, 0o666 if old is None else 0o600)
    try:
        try:
            while chunk := (yield b""):
                _write_all(descriptor, chunk)
            if old is not None:
                os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        finally:
            os.close(descriptor)
        if exclusive:
            os.link(temporary, target)
        else:
            os.rename(temporary, target)
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)


def _stat_replaced_file(target: bytes) -> os.stat_result | None:
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return None
    _check_regular(status.st_mode, target)
    return status


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def list_folder(path: bytes, depth: bytes, limit: bytes) -> Operation:
    """Yield NUL-terminated records ``kind size path``, several per chunk, in tree order."""
    lines: list[bytes] = []
    left = int(limit)
    for line in _walk(path, int(depth), left):
        lines.append(line)
        left -= 1
        if len(lines) == _BATCH_SIZE:
            yield b"".join(lines)
            lines.clear()
        if left <= 0:
            break
    if lines:
        yield b"".join(lines)


def _walk(folder: bytes, depth: int, limit: int) -> Iterator[bytes]:
    with os.scandir(folder) as found:
        visible = (entry for entry in found if not entry.name.startswith(b"."))
        names = heapq.nsmallest(limit, (entry.name for entry in visible))
    for name in names:
        path = os.path.join(folder, name)
        try:
            status = os.stat(path, follow_symlinks=False)
        except OSError:
            continue
        mode = status.st_mode
        what = b"other" if stat.S_ISLNK(mode) else _kind_from_mode(mode)
        yield b"%s %d %s\0" % (what, status.st_size, path)
        if stat.S_ISDIR(mode) and depth > 1:
            try:
                yield from _walk(path, depth - 1, limit)
            except OSError:
                continue


def remove(path: bytes) -> Operation:
    """Remove a name recursively without following links; yield every few hundred names."""
    done = 0
    try:
        for _ in _remove_tree(path):
            done += 1
            if done % _BATCH_SIZE == 0:
                yield b""
    except FileNotFoundError:
        return
    except OSError as error:
        # The workspace itself is a mount point: it can be emptied but not removed.
        if error.errno != errno.EBUSY or not os.path.ismount(path) or os.listdir(path):
            raise


def _remove_tree(path: bytes) -> Iterator[None]:
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        yield
        return
    with os.scandir(path) as found:
        for entry in found:
            yield from _remove_tree(entry.path)
    os.rmdir(path)
    yield


OPERATIONS: dict[bytes, Callable[..., Operation]] = {
    b"kind": kind,
    b"read": read,
    b"write": write,
    b"entries": list_folder,
    b"remove": remove,
}
