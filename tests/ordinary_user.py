"""Being someone else for a moment: what an application that is not root would meet."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_libc = ctypes.CDLL(None, use_errno=True)
NOBODY = 65534


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """This thread meets file permissions as an ordinary user does, root's rights dropped."""
    if os.geteuid() != 0:
        yield
        return
    _libc.setfsgid(NOBODY)
    _libc.setfsuid(NOBODY)
    try:
        yield
    finally:
        _libc.setfsuid(0)
        _libc.setfsgid(0)
