"""Drops a process's network access and privileges; import all needed modules before."""

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


def import_encodings() -> None:
    """Import all encodings, which Python otherwise imports on first use."""
    for module in pkgutil.iter_modules(encodings.__path__):
        with suppress(ImportError):  # those of other systems
            importlib.import_module(f"encodings.{module.name}")


def leave_network() -> None:
    """Leave the network namespace, if the kernel allows it, and set ``no_new_privs``."""
    if _libc.unshare(_NEW_NETWORK) != 0:
        _libc.unshare(_NEW_USER | _NEW_NETWORK)
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def switch_to_nobody() -> None:
    """Switch to the user ``nobody`` if this process runs as root."""
    if os.geteuid() == 0:
        with suppress(OSError):
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
