"""Disk quota of a sandbox, checked while its commands may be running.

Disk usage is counted only if the host's free space has dropped enough that the quota may be
exceeded; reading the free space takes microseconds. Between two checks a sandbox can write at
most what the disk's throughput allows, because it cannot allocate with fallocate (see
``seccomp.json``).
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.errors import SandboxError
from agent.sandbox.disk import volume
from agent.util.text import size_of

FLOOR = 1024**3
"""Free bytes on the host's disk below which commands are stopped."""

_NODES = 20_000
_SLACK = 8 * 1024**2
_NEAR = 1024**3
_LOOK, _LOOK_NEAR = 0.1, 0.02
_COUNT_AGAIN, _SHARE = 30.0, 10.0
_GRACE = 1.0
_PATIENCE = 3.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Places:
    """The locations on the host that a sandbox can fill.

    Attributes:
        workspace: The sandbox's workspace.
        elsewhere: Counts the bytes that the sandbox wrote outside the workspace.
        deleted: Counts the bytes of deleted files that the sandbox has open, which ``usage``
            cannot find by name.
        usage: Counts the bytes that a folder takes.
        hosts: One folder on each of the host's disks that store these locations.
    """

    workspace: Path
    elsewhere: Callable[[], int]
    deleted: Callable[[], int]
    usage: Callable[[Path], int]
    hosts: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class _Use:
    workspace: int
    elsewhere: int
    deleted: int

    @property
    def total(self) -> int:
        return self.workspace + self.elsewhere + self.deleted


class Gauge:
    """Monitors one sandbox's disk usage in a separate thread from ``begin`` to ``end``.

    Args:
        places: The locations that the sandbox can fill.
        limit: Bytes that the sandbox may use in total.
        halt: Terminates all processes of commands; the argument is whether to force it.
        floor: Bytes of the host's disk that must stay free.
    """

    def __init__(
        self, places: Places, limit: int, halt: Callable[[bool], None], *, floor: int = FLOOR
    ) -> None:
        self._places, self._limit, self._halt, self._floor = places, limit, halt, floor
        self._changed = threading.Condition()
        self._at_work = False
        self._thread: threading.Thread | None = None
        self._own_disk = volume.image(places.workspace.parent).exists()
        self._told = ""
        self._most, self._least = limit, floor
        self._use = _Use(0, 0, 0)
        self._free: dict[int, int] = {}
        self._counted = self._pause = 0.0
        self._full_since = self._halted = 0.0

    def begin(self) -> None:
        """Start monitoring a command.

        A sandbox already over its limit may run commands and delete files, but not grow.
        """
        with self._changed:
            tight = self._told or self._use.total > self._limit - _NEAR or not self._thread
            if tight:
                self._count()
            self._told = ""
            self._full_since = self._halted = 0.0
            self._most = max(self._limit, self._use.total + _SLACK)
            self._least = min(self._floor, min(self._host_free().values(), default=0) - _SLACK)
            self._at_work = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="gauge", daemon=True)
                self._thread.start()

    def told(self) -> str:
        """Return what was full since ``begin``, as a sentence; empty if nothing was."""
        with self._changed:
            if not self._told and self._own_disk and self._crammed():
                self._count()
                self._told = self._sentence()
            return self._told

    def end(self) -> None:
        """Stop monitoring; no command's process runs any more."""
        with self._changed:
            self._at_work, self._thread = False, None
            self._changed.notify_all()

    def _watch(self) -> None:
        mine = threading.current_thread()
        while True:
            try:
                force = self._look()
                if force is not None:
                    self._halt(force)
            except (OSError, SandboxError) as error:  # removed, or being moved
                _log.debug("A sandbox's disk cannot be looked at: %s", error)
            with self._changed:
                near = self._told or self._use.total > self._limit - _NEAR
                self._changed.wait(_LOOK_NEAR if near else _LOOK)
                if not self._at_work or self._thread is not mine:
                    return

    def _look(self) -> bool | None:
        """Return None if no halt is needed, otherwise whether to force it."""
        with self._changed:
            why = self._full()
            now = time.monotonic()
            if not why:
                return None
            self._told = self._told or why
            if not self._halted:
                self._halted = now
                return False
            if now - self._halted < _PATIENCE:
                return None
            self._halted = now  # still running despite the previous halt
            return True

    def _full(self) -> str:
        free = self._host_free()
        if min(free.values(), default=self._least) < self._least or not self._nodes_left():
            left = size_of(max(0, min(free.values())))
            return (
                f"The disk of the machine itself is nearly full ({left} are left). "
                "Delete what is not needed any more, wherever it is, before you go on."
            )
        if self._own_disk and self._crammed():
            self._full_since = self._full_since or time.monotonic()
            if time.monotonic() - self._full_since > _GRACE:
                self._count()
                return self._sentence()
            return ""
        self._full_since = 0.0
        lost = sum(max(0, before - free.get(each, 0)) for each, before in self._free.items())
        since = time.monotonic() - self._counted
        if self._use.total + lost <= self._most * 0.9 and since < _COUNT_AGAIN:
            return ""
        if since < self._pause:
            return ""
        self._count()
        return self._sentence() if self._use.total > self._most else ""

    def _sentence(self) -> str:
        use = self._use
        own = "/workspace, /tmp, caches and homes" if self._own_disk else "/workspace"
        held = f", {size_of(use.deleted)} in deleted files that were still open"
        return (
            f"The sandbox's disk is full: {size_of(use.total)} of {size_of(self._limit)} are used, "
            f"{size_of(use.workspace)} in {own} and {size_of(use.elsewhere)} elsewhere"
            f"{held if use.deleted else ''}. "
            "Delete what is not needed any more before you go on."
        )

    def _count(self) -> None:
        began = time.monotonic()
        self._free = self._host_free()
        folder = self._places.workspace
        if self._own_disk:
            known = os.statvfs(folder)
            used = (known.f_blocks - known.f_bfree) * known.f_frsize
        else:
            used = self._places.usage(folder.parent)
        self._use = _Use(used, self._places.elsewhere(), self._places.deleted())
        self._counted = time.monotonic()
        self._pause = _SHARE * (self._counted - began)

    def _crammed(self) -> bool:
        """Whether the workspace's own disk has run out of bytes or inodes."""
        known = os.statvfs(self._places.workspace)
        return known.f_bavail * known.f_frsize < 64 * 1024 or known.f_favail < 1

    def _host_free(self) -> dict[int, int]:
        """Return the free bytes on the host's disks, by device."""
        found = {}
        for path in self._places.hosts:
            known = os.statvfs(path)
            found[path.stat().st_dev] = known.f_bavail * known.f_frsize
        return found

    def _nodes_left(self) -> bool:
        """Whether enough inodes are free on the host's disks; some do not report a number."""
        known = [os.statvfs(path) for path in self._places.hosts]
        return all(each.f_files == 0 or each.f_favail > _NODES for each in known)
