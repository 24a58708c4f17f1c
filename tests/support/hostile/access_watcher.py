"""Detection of any access to a folder, with inotify."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ALL_EVENTS = 0xFFF
_libc = ctypes.CDLL(None, use_errno=True)


class AccessWatcher:
    """Watches folders and their contents from its creation on.

    New links to them and ``lstat`` through a descriptor are not detected; opening them and changing
    names, contents or modes is.
    """

    def __init__(self, folders: Iterator[Path]) -> None:
        self._inotify = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in folders:
            assert _libc.inotify_add_watch(self._inotify, os.fsencode(path), _ALL_EVENTS) >= 0

    def was_accessed(self) -> bool:
        """Whether anything was accessed since the start or the last call."""
        try:
            return bool(os.read(self._inotify, 65536))
        except BlockingIOError:
            return False

    def close(self) -> None:
        os.close(self._inotify)


@contextmanager
def assert_untouched(folder: Path) -> Iterator[AccessWatcher]:
    """Assert that nothing at or below ``folder`` is opened during the block."""
    watcher = AccessWatcher(iter([folder, *folder.rglob("*")]))
    try:
        yield watcher
        assert not watcher.was_accessed(), f"{folder} was accessed or changed"
    finally:
        watcher.close()
