#!/usr/bin/env -S python3 -IS
"""Runs Chromium without netlink sockets: it does not see the machine's networks change.

Chromium drops all its connections (ERR_NETWORK_CHANGED) when an address is added to or removed from
any interface, which every sandbox with a network does. No option turns this off. Without netlink,
Chromium assumes that it is online and observes nothing. Any user may install such a filter.

Where the headless shell is installed, it is the browser: the same engine without the window's own
pages, which take half of a page load's processor time. FULL_CHROMIUM in the environment selects
Chromium itself.
"""

import ctypes
import errno
import os
import platform
import socket
import struct
import sys

CHROMIUM, HEADLESS_SHELL = "/usr/bin/chromium", "/usr/bin/chromium-headless-shell"
SOCKET_CALL = {"x86_64": 41, "aarch64": 198}[platform.machine()]
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER_MODE = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
LOAD, SKIP_UNLESS_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
CALL_NUMBER, FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data
ALLOW, FAIL = 0x7FFF0000, 0x00050000

PROGRAM = (
    (LOAD, 0, 0, CALL_NUMBER),
    (SKIP_UNLESS_EQUAL, 0, 3, SOCKET_CALL),
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (SKIP_UNLESS_EQUAL, 0, 1, socket.AF_NETLINK),
    (RETURN, 0, 0, FAIL | errno.EAFNOSUPPORT),
    (RETURN, 0, 0, ALLOW),
)


class SocketFilter(ctypes.Structure):
    """``struct sock_fprog`` of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_char_p))


def deny_netlink() -> None:
    """Let this process and its children create no netlink sockets, for good."""
    instructions = b"".join(struct.pack("HBBI", *each) for each in PROGRAM)
    socket_filter = SocketFilter(len(PROGRAM), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (NO_NEW_PRIVILEGES, 1, 0, 0, 0),
        (SET_SECCOMP, FILTER_MODE, ctypes.byref(socket_filter), 0, 0),
    ):
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "seccomp is not available")


if __name__ == "__main__":
    deny_netlink()
    shell = os.path.exists(HEADLESS_SHELL) and "FULL_CHROMIUM" not in os.environ  # noqa: PTH110
    program = HEADLESS_SHELL if shell else CHROMIUM
    # The shell gives a sandboxed frame a process of its own only if it is told to.
    isolation = ["--site-per-process", "--enable-features=IsolateSandboxedIframes"] if shell else []
    os.execv(program, [program, *isolation, *sys.argv[1:]])
