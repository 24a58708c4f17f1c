"""Renames below opened folders that never overwrite what they do not mean to."""

import ctypes
import errno
import os
import stat

_libc = ctypes.CDLL(None, use_errno=True)
_NOREPLACE, _EXCHANGE = 1, 2
_UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def rename_new(source: int, name: str, target: int, new: str) -> None:
    """Rename ``name`` in one opened folder to ``new`` in another, where nothing has that name.

    Raises:
        FileExistsError: the new name is taken, at this very moment; nothing was done.
        OSError: as ``os.rename``.
    """
    try:
        _renameat2(source, name, target, new, _NOREPLACE)
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
        _reserved(source, name, target, new)


def exchange(one: int, name: str, other: int, new: str) -> bool:
    """Let two names swap what they name, in one moment; false where the disk cannot.

    Raises:
        OSError: as ``os.rename``; both have to be there.
    """
    try:
        _renameat2(one, name, other, new, _EXCHANGE)
    except OSError as error:
        if error.errno in _UNKNOWN:
            return False
        raise
    return True


def _renameat2(source: int, name: str, target: int, new: str, flags: int) -> None:
    try:
        call = _libc.renameat2
    except AttributeError as error:  # a C library from before 2018
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name) from error
    if call(source, os.fsencode(name), target, os.fsencode(new), ctypes.c_uint(flags)):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)


def _reserved(source: int, name: str, target: int, new: str) -> None:
    """The same where the file system knows no flags: the new name is taken first."""
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
