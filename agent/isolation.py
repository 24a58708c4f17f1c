"""What a process gives up before it reads a hostile file: the network, and who it is.

Python's own modules may not be readable afterwards: what is needed is imported before.
"""

import ctypes
import encodings
import importlib
import os
import pkgutil
from contextlib import suppress

_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_NO_NEW_PRIVILEGES = 38
_NOBODY = 65534
_libc = ctypes.CDLL(None, use_errno=True)


def know_encodings() -> None:
    """Import them all, since Python does so only when one is asked for."""
    for module in pkgutil.iter_modules(encodings.__path__):
        with suppress(ImportError):  # those of other systems
            importlib.import_module(f"encodings.{module.name}")


def leave_network() -> None:
    """Leave the network, where the kernel lets us, and gain no rights any more."""
    if _libc.unshare(_NEW_NETWORK) != 0:
        _libc.unshare(_NEW_USER | _NEW_NETWORK)
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def become_nobody() -> None:
    """Be nobody from here on, where this process is root."""
    if os.geteuid() == 0:
        with suppress(OSError):
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
