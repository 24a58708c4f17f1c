"""State files that may be damaged: open what is a file, rename and log what is not readable."""

import errno
import logging
import os
import stat
from itertools import count
from pathlib import Path
from typing import BinaryIO

from agent.errors import RecordNotAFile

_log = logging.getLogger(__name__)
_BLOCK = 64 * 1024


def open_record(path: Path) -> BinaryIO:
    """Open a file of a run's record for reading; never wait, as an open FIFO would."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        opened = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise _not_a_file(path) from error
        raise
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise _not_a_file(path)
    return os.fdopen(opened, "rb")


def read_record(path: Path) -> bytes:
    """Return the content of a file of a run's record; raises as ``open_record``."""
    with open_record(path) as file:
        return file.read()


def last_newline(descriptor: int, end: int) -> int:
    """Return the offset of a file's last newline before ``end``, or -1."""
    while end:
        start = max(0, end - _BLOCK)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found
        end = start
    return -1


def _not_a_file(path: Path) -> RecordNotAFile:
    message = f"The run's record is damaged: {path.name} is not a file."
    return RecordNotAFile(errno.EINVAL, message, str(path))


def rename_damaged(file: Path, reason: object) -> Path:
    """Rename a damaged file, to which nothing may write, to ``NAME.damaged-N``; return the path."""
    names = (file.with_name(f"{file.name}.damaged-{number}") for number in count(1))
    damaged = next(name for name in names if not name.exists())
    file.rename(damaged)
    _log.error("%s cannot be read and was renamed to %s: %s", file, damaged.name, reason)
    return damaged
