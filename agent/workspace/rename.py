"""Renames below opened folders that never overwrite files unintentionally."""

import ctypes
import errno
import os
import stat

_libc = ctypes.CDLL(None, use_errno=True)
_NOREPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED_ERRNOS = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


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
