"""A folder that nobody may look into, and who did: the kernel tells of every open file in it."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ALL_EVENTS = 0xFFF
_libc = ctypes.CDLL(None, use_errno=True)


class AccessWatcher:
    """Watches folders and all that they hold from now on.

    Links that are made to them, and ``lstat`` through a handle, do not count: opening does, and
    whatever changes a name, a content or a mode.
    """

    def __init__(self, folders: Iterator[Path]) -> None:
        self._inotify = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in folders:
            assert _libc.inotify_add_watch(self._inotify, os.fsencode(path), _ALL_EVENTS) >= 0

    def was_accessed(self) -> bool:
        """Whether anything happened there since the start, or the last call."""
        try:
            return bool(os.read(self._inotify, 65536))
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Watch no more."""
        os.close(self._inotify)


@contextmanager
def assert_untouched(folder: Path) -> Iterator[AccessWatcher]:
    """Nobody may open anything at or below ``folder`` in the block."""
    wire = AccessWatcher(iter([folder, *folder.rglob("*")]))
    try:
        yield wire
        assert not wire.was_accessed(), f"{folder} was looked into or changed"
    finally:
        wire.close()
