"""Names below a root, and how they are opened without ever following a link.

A hostile program may rename, link and replace anything below the root at any moment. So a
path is never checked and then used: it is opened once, from a descriptor of the root, and
what was opened is looked at. A device is never opened at all, since opening alone can act.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from agent.errors import NoRoom, WorkspaceError

MAX_NAME = 255
MAX_PATH = 4095

_OPENAT2 = 437  # the same number on every architecture
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_libc = ctypes.CDLL(None, use_errno=True)
_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RelPath(str):
    """A path below a root: names joined by ``/``, the root itself being empty.

    Bytes that are not UTF-8 are carried as Python's file functions do (surrogateescape), so
    any name that Linux allows can be held. It never contains ``.``, ``..``, an empty name or
    NUL, and it is never absolute.

    Args:
        text: The path, as ``str`` or as raw bytes.

    Raises:
        WorkspaceError: the text is no such path; the message says why.
    """

    __slots__ = ()

    def __new__(cls, text: str | bytes) -> "RelPath":
        """Check ``text`` and hold it."""
        plain = os.fsdecode(text) if isinstance(text, bytes) else text
        _check(plain)
        return str.__new__(cls, plain)

    @classmethod
    def trusted(cls, text: str) -> "RelPath":
        """A path made of names that the kernel gave; of any length, not checked again."""
        return str.__new__(cls, text)

    @classmethod
    def from_url(cls, quoted: str | bytes) -> "RelPath":
        """The path that ``to_url`` wrote; an empty text is the root itself.

        Raises:
            WorkspaceError: as the constructor.
        """
        try:
            raw = unquote_to_bytes(quoted)
        except UnicodeEncodeError as error:
            raise WorkspaceError("The path is not valid text.") from error
        return cls(raw) if raw else ROOT

    def to_url(self) -> str:
        """The path as percent-encoded bytes: plain ASCII, ``/`` kept; for URLs and journals."""
        return quote_from_bytes(os.fsencode(self), safe="/")

    @property
    def name(self) -> str:
        """The last name; empty for the root."""
        return self.rpartition("/")[2]

    @property
    def parent(self) -> "RelPath":
        """The folder that holds it; the root is its own parent."""
        return RelPath.trusted(self.rpartition("/")[0])

    @property
    def shown(self) -> str:
        """Valid Unicode for people and archives: bytes that are no UTF-8 become ``%FF``."""
        return shown(self)

    def child(self, name: str) -> "RelPath":
        """The path of ``name`` in this folder.

        Raises:
            WorkspaceError: ``name`` is not a single name.
        """
        if "/" in name:
            raise WorkspaceError(f"“{shown(name)}” is not a single name.")
        return RelPath(join(self, name))


ROOT = RelPath.trusted("")


def join(folder: str, name: str) -> str:
    """``name`` below ``folder``, where the root is empty. Checks nothing."""
    return f"{folder}/{name}" if folder else name


def shown(text: str) -> str:
    """``text`` as valid Unicode: bytes that are no UTF-8 become ``%FF``."""
    return "".join(
        f"%{ord(char) - 0xDC00:02X}" if 0xDC80 <= ord(char) <= 0xDCFF else char for char in text
    )


def _check(text: str) -> None:
    if not text:
        raise WorkspaceError("The path is empty.")
    if "\0" in text:
        raise WorkspaceError("A path cannot contain a NUL character.")
    try:
        raw = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise WorkspaceError("The path is not valid text.") from error
    if text.startswith("/"):
        raise WorkspaceError(
            f"“{shown(text[:200])}” is absolute; a path below the folder is needed."
        )
    if len(raw) > MAX_PATH:
        raise WorkspaceError(f"The path is {len(raw)} bytes long; {MAX_PATH} is the most.")
    for name in raw.split(b"/"):
        if name in (b"", b".", b".."):
            raise WorkspaceError(f"“{shown(text[:200])}” contains an empty name, “.” or “..”.")
        if len(name) > MAX_NAME:
            raise WorkspaceError(
                f"A name of {len(name)} bytes is too long; {MAX_NAME} is the most."
            )


def _openat2(root: int, path: bytes, flags: int) -> int:
    """The kernel's own resolution below a descriptor; ``OSError`` as ``os.open``."""
    how = struct.pack("QQQ", flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
    opened: int = _libc.syscall(
        ctypes.c_long(_OPENAT2), ctypes.c_int(root), path, how, ctypes.c_size_t(len(how))
    )
    if opened < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fsdecode(path))
    return opened


def _kernel_resolves() -> bool:
    with opened_folder_path(Path("/")) as root:
        try:
            os.close(_openat2(root, b".", _HANDLE))
        except OSError:
            return False
    return True


def _walk(root: int, path: str, flags: int) -> int:
    """``_openat2`` for kernels before 5.6: one name after the other, none of them a link."""
    *folders, last = path.split("/")
    at = os.dup(root)
    try:
        for name in folders:
            below = os.open(name, _HANDLE | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        return os.open(last, flags | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)


def open_below(root: int, path: str, flags: int) -> int:
    """Open ``path`` below the descriptor ``root``; no component of it may be a link.

    Args:
        root: Descriptor of a folder.
        path: Names joined by ``/``; empty for the root itself.
        flags: As for ``os.open``. ``O_PATH`` gives a handle on a link itself.

    Raises:
        OSError: as ``os.open``; ``ELOOP`` or ``ENOTDIR`` where a folder on the way is a link.
    """
    if not path:
        return os.open(".", flags, dir_fd=root)
    if not KERNEL_RESOLVES:
        return _walk(root, path, flags)
    return _openat2(root, os.fsencode(path), flags | os.O_NOFOLLOW)


def open_folder(root: int, path: str) -> int:
    """A readable descriptor of the folder ``path`` below ``root``. Raises ``OSError``."""
    return open_below(root, path, _FOLDER)


def open_file(folder: int, path: str) -> int:
    """A readable descriptor of the regular file ``path`` below ``folder``.

    Whatever else it names is not opened: a handle is taken, looked at, and only then turned
    into a descriptor of that same file. It does not wait for leases (``BlockingIOError``).

    Raises:
        OSError: as ``os.open``; ``EINVAL`` where it is no regular file.
    """
    handle = open_below(folder, path, _HANDLE)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open(f"/proc/self/fd/{handle}", flags)
    finally:
        os.close(handle)


def lstat_below(root: int, path: str) -> os.stat_result:
    """What ``path`` below ``root`` is, a link being a link. Raises ``OSError``."""
    handle = open_below(root, path, _HANDLE)
    try:
        return os.fstat(handle)
    finally:
        os.close(handle)


@contextmanager
def opened_folder_path(path: Path) -> Iterator[int]:
    """A descriptor of a folder that we own ourselves, closed at the end of the block.

    Its last name may be no link, in case that somebody else came to own it after all.
    """
    opened = os.open(path, _FOLDER)
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def opened_folder(root: int, path: str) -> Iterator[int]:
    """``open_folder``, closed at the end of the block."""
    opened = open_folder(root, path)
    try:
        yield opened
    finally:
        os.close(opened)


def explain(error: OSError, path: str) -> WorkspaceError:
    """The sentence that a person reads for what the kernel said about ``path``."""
    name = f"“{shown(path[-200:])}”" if path else "The workspace"
    reasons = {
        errno.ENOENT: "is not there",
        errno.ELOOP: "is a link, or lies behind one; links are not followed",
        errno.EXDEV: "leads out of the workspace",
        errno.ENOTDIR: "is not a folder, or lies behind something that is not one",
        errno.EISDIR: "is a folder",
        errno.EINVAL: "is not a regular file",
        errno.ENAMETOOLONG: "has a name that is too long",
        errno.EACCES: "may not be read or changed by the application",
        errno.EPERM: "may not be read or changed by the application",
        errno.EAGAIN: "is held by a program in the sandbox; try again",
        errno.EEXIST: "is there already",
        errno.ENOSPC: "does not fit: the disk is full",
        errno.EDQUOT: "does not fit: the quota is used up",
        errno.EFBIG: "is larger than the file system or a limit allows",
    }
    kind = NoRoom if error.errno in (errno.ENOSPC, errno.EDQUOT) else WorkspaceError
    return kind(f"{name} {reasons.get(error.errno or 0, f'cannot be used: {error}')}.")


KERNEL_RESOLVES = _kernel_resolves()
