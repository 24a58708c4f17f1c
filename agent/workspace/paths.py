"""Relative paths below a root, opened without following links.

A hostile program may rename, link and replace anything below the root at any moment. So a
path is never checked and then used: it is opened once, relative to a descriptor of the root,
and the checks use the resulting descriptor. Devices are never opened, because opening one can
have side effects.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from agent.errors import StorageFull, WorkspaceError

MAX_NAME = 255
MAX_PATH = 4095

_OPENAT2 = 437  # the same number on every architecture
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_libc = ctypes.CDLL(None, use_errno=True)
_PATH_FLAGS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RelPath(str):
    """A path below a root: names joined by ``/``; the root itself is empty.

    Bytes that are not UTF-8 are surrogate-escaped, so it can be any name that Linux allows. It
    never contains ``.``, ``..``, an empty name or NUL, and is never absolute (``WorkspaceError``).
    """

    __slots__ = ()

    def __new__(cls, text: str | bytes) -> "RelPath":
        """Validate ``text`` and create the path."""
        plain = os.fsdecode(text) if isinstance(text, bytes) else text
        _check(plain)
        return str.__new__(cls, plain)

    @classmethod
    def trusted(cls, text: str) -> "RelPath":
        """Create a path of any length from kernel-supplied names, without checks."""
        return str.__new__(cls, text)

    @classmethod
    def from_url(cls, quoted: str | bytes) -> "RelPath":
        """Parse the output of ``to_url``; an empty text is the root itself."""
        try:
            raw = unquote_to_bytes(quoted)
        except UnicodeEncodeError as error:
            raise WorkspaceError("The path is not valid text.") from error
        return cls(raw) if raw else ROOT

    def to_url(self) -> str:
        """Return the path as percent-encoded ASCII, for URLs and journals; ``/`` is kept."""
        return quote_from_bytes(os.fsencode(self), safe="/")

    @property
    def name(self) -> str:
        """The last name; empty for the root."""
        return self.rpartition("/")[2]

    @property
    def parent(self) -> "RelPath":
        """The containing folder; the root is its own parent."""
        return RelPath.trusted(self.rpartition("/")[0])

    @property
    def display(self) -> str:
        """Valid Unicode for display and archives; non-UTF-8 bytes become ``%FF``."""
        return display_text(self)

    def child(self, name: str) -> "RelPath":
        """Return the path of ``name``, a single name, in this folder."""
        if "/" in name:
            raise WorkspaceError(f"“{display_text(name)}” is not a single name.")
        return RelPath(join(self, name))


ROOT = RelPath.trusted("")


def join(folder: str, name: str) -> str:
    """Join ``folder`` (empty for the root) and ``name`` without checks."""
    return f"{folder}/{name}" if folder else name


def display_text(text: str) -> str:
    """Return ``text`` as valid Unicode: bytes that are not UTF-8 become ``%FF``."""
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
            f"“{display_text(text[:200])}” is absolute; a path below the folder is needed."
        )
    if len(raw) > MAX_PATH:
        raise WorkspaceError(f"The path is too long: {len(raw)} bytes; the maximum is {MAX_PATH}.")
    for name in raw.split(b"/"):
        if name in (b"", b".", b".."):
            raise WorkspaceError(
                f"“{display_text(text[:200])}” contains an empty name, “.” or “..”."
            )
        if len(name) > MAX_NAME:
            raise WorkspaceError(
                f"A name in the path is too long: {len(name)} bytes; the maximum is {MAX_NAME}."
            )


def _openat2(root: int, path: bytes, flags: int) -> int:
    """Open a path below a descriptor with ``openat2``. Raises ``OSError``."""
    how = struct.pack("QQQ", flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
    opened: int = _libc.syscall(
        ctypes.c_long(_OPENAT2), ctypes.c_int(root), path, how, ctypes.c_size_t(len(how))
    )
    if opened < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fsdecode(path))
    return opened


def _detect_openat2() -> bool:
    with host_folder_fd(Path("/")) as root:
        try:
            os.close(_openat2(root, b".", _PATH_FLAGS))
        except OSError:
            return False
    return True


def _open_by_walking(root: int, path: str, flags: int) -> int:
    """Emulate ``_openat2`` on kernels before 5.6: open name by name, rejecting links."""
    *folders, last = path.split("/")
    current = os.dup(root)
    try:
        for name in folders:
            child = os.open(name, _PATH_FLAGS | os.O_DIRECTORY, dir_fd=current)
            os.close(current)
            current = child
        return os.open(last, flags | os.O_NOFOLLOW, dir_fd=current)
    finally:
        os.close(current)


def open_below(root: int, path: str, flags: int) -> int:
    """Open ``path`` below the descriptor ``root``; no component may be a link.

    A parent folder that is a link raises ``ELOOP`` or ``ENOTDIR``. ``O_PATH`` opens a link itself.
    """
    if not path:
        return os.open(".", flags, dir_fd=root)
    if not HAS_OPENAT2:
        return _open_by_walking(root, path, flags)
    return _openat2(root, os.fsencode(path), flags | os.O_NOFOLLOW)


def open_folder(root: int, path: str) -> int:
    """Open the folder ``path`` below ``root`` for reading. Raises ``OSError``."""
    return open_below(root, path, _FOLDER_FLAGS)


def open_file(folder: int, path: str) -> int:
    """Open a regular file for reading, without waiting for leases (``BlockingIOError``).

    Other types are never opened (``EINVAL``): the type of an ``O_PATH`` handle is checked, and only
    then that same file is opened.
    """
    with closing_fd(open_below(folder, path, _PATH_FLAGS)) as handle:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open(f"/proc/self/fd/{handle}", flags)


def lstat_below(root: int, path: str) -> os.stat_result:
    """Return the ``lstat`` result of ``path`` below ``root``. Raises ``OSError``."""
    with closing_fd(open_below(root, path, _PATH_FLAGS)) as handle:
        return os.fstat(handle)


@contextmanager
def closing_fd(opened: int) -> Iterator[int]:
    """Close a descriptor at the end of the block."""
    try:
        yield opened
    finally:
        os.close(opened)


def host_folder_fd(path: Path) -> AbstractContextManager[int]:
    """Open a folder of the application for a block; not a link, which another user may have set."""
    return closing_fd(os.open(path, _FOLDER_FLAGS))


def folder_fd(root: int, path: str) -> AbstractContextManager[int]:
    """Open a folder with ``open_folder``, for a block."""
    return closing_fd(open_folder(root, path))


_DISK_FAILED = (
    "cannot be read or written: the run's disk failed, as it does when the studio's disk is full. "
    "Free some space, then send a message: the run's next command repairs it"
)


def to_workspace_error(error: OSError, path: str) -> WorkspaceError:
    """Convert an ``OSError`` about ``path`` to an error with a message for the user."""
    name = f"“{display_text(path[-200:])}”" if path else "The workspace"
    reasons = {
        errno.ENOENT: "does not exist",
        errno.ELOOP: "is a link, or its path contains one; links are not followed",
        errno.EXDEV: "is outside the workspace",
        errno.ENOTDIR: "is not a folder, or its path contains a name that is not a folder",
        errno.EISDIR: "is a folder",
        errno.EINVAL: "is not a regular file",
        errno.ENAMETOOLONG: "has a name that is too long",
        errno.EACCES: "cannot be read or changed by the application: permission denied",
        errno.EPERM: "cannot be read or changed by the application: not permitted",
        errno.EAGAIN: "is locked by a program in the sandbox; try again",
        errno.EEXIST: "already exists",
        errno.ENOSPC: "does not fit: the disk is full",
        errno.EDQUOT: "does not fit: the quota is used up",
        errno.EFBIG: "is larger than the file system or a limit allows",
        errno.EROFS: _DISK_FAILED,
        errno.EIO: _DISK_FAILED,
    }
    kind = StorageFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else WorkspaceError
    unknown = f"cannot be used: {error.strerror or type(error).__name__}"
    return kind(f"{name} {reasons.get(error.errno or 0, unknown)}.")


HAS_OPENAT2 = _detect_openat2()
