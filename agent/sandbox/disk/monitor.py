"""Disk quota of a sandbox, checked while its commands may be running.

Usage is counted only if the host's free space, which is fast to read, dropped enough. Between two
checks a sandbox cannot write faster than the disk: ``seccomp.json`` forbids fallocate.
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
from agent.util.text import format_size

MIN_FREE_BYTES = 1024**3
"""Free bytes on the host's disk below which commands are stopped."""

_MIN_FREE_INODES = 20_000
_SLACK_BYTES = 8 * 1024**2
_NEAR_LIMIT_BYTES = 1024**3
_POLL_SECONDS, _POLL_NEAR_LIMIT_SECONDS = 0.1, 0.02
_RECOUNT_SECONDS, _RECOUNT_COST_FACTOR = 30.0, 10.0
_GRACE_SECONDS = 1.0
_FORCE_AFTER_SECONDS = 3.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DiskLocations:
    """The locations on the host that a sandbox can fill."""

    workspace: Path
    count_elsewhere: Callable[[], int]
    count_deleted: Callable[[], int]  # deleted files that it has open
    count_usage: Callable[[Path], int]
    host_folders: tuple[Path, ...]  # one on each disk of the host


@dataclass(frozen=True, slots=True)
class _Usage:
    workspace: int
    elsewhere: int
    deleted: int

    @property
    def total(self) -> int:
        return self.workspace + self.elsewhere + self.deleted


class DiskMonitor:
    """Monitors a sandbox's disk in a thread; ``halt(force)`` terminates its commands."""

    def __init__(
        self,
        locations: DiskLocations,
        limit: int,
        halt: Callable[[bool], None],
        *,
        min_free: int = MIN_FREE_BYTES,
    ) -> None:
        self._locations, self._limit, self._halt, self._min_free = locations, limit, halt, min_free
        self._changed = threading.Condition()
        self._active = False
        self._thread: threading.Thread | None = None
        self._own_disk = volume.disk_image(locations.workspace.parent).exists()
        self._message = ""
        self._max_used, self._min_free_now = limit, min_free
        self._usage = _Usage(0, 0, 0)
        self._free_when_counted: dict[int, int] = {}
        self._counted_at = self._count_interval = 0.0
        self._full_since = self._halted_at = 0.0

    def start(self) -> None:
        """Start monitoring a command; over its limit, a sandbox may delete but not grow."""
        with self._changed:
            tight = (
                self._message
                or self._usage.total > self._limit - _NEAR_LIMIT_BYTES
                or not self._thread
            )
            if tight:
                self._count_usage()
            self._message = ""
            self._full_since = self._halted_at = 0.0
            self._max_used = max(self._limit, self._usage.total + _SLACK_BYTES)
            self._min_free_now = min(
                self._min_free, min(self._free_by_device().values(), default=0) - _SLACK_BYTES
            )
            self._active = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="disk monitor", daemon=True)
                self._thread.start()

    def message(self) -> str:
        """Return what was full since ``start``, as a sentence; empty if nothing was."""
        with self._changed:
            if not self._message and self._own_disk and self._own_disk_full():
                self._count_usage()
                self._message = self._quota_message()
            return self._message

    def stop(self) -> None:
        """Stop monitoring; no command's process runs any more."""
        with self._changed:
            self._active, self._thread = False, None
            self._changed.notify_all()

    def _run(self) -> None:
        mine = threading.current_thread()
        while True:
            try:
                force = self._check()
                if force is not None:
                    self._halt(force)
            except (OSError, SandboxError) as error:  # removed, or being moved
                _log.debug("A sandbox's disk usage cannot be read: %s", error)
            with self._changed:
                near = self._message or self._usage.total > self._limit - _NEAR_LIMIT_BYTES
                self._changed.wait(_POLL_NEAR_LIMIT_SECONDS if near else _POLL_SECONDS)
                if not self._active or self._thread is not mine:
                    return

    def _check(self) -> bool | None:
        """Return None if no halt is needed, otherwise whether to force it."""
        with self._changed:
            reason = self._full_reason()
            now = time.monotonic()
            if not reason:
                return None
            self._message = self._message or reason
            if not self._halted_at:
                self._halted_at = now
                return False
            if now - self._halted_at < _FORCE_AFTER_SECONDS:
                return None
            self._halted_at = now  # still running despite the previous halt
            return True

    def _full_reason(self) -> str:
        free = self._free_by_device()
        left = ""
        if min(free.values(), default=self._min_free_now) < self._min_free_now:
            left = f"{format_size(max(0, min(free.values())))} free"
        elif not self._has_free_inodes():
            left = "it has too many files"
        if left:
            return (
                f"The disk of the host machine is nearly full ({left}). "
                "Delete files that are no longer needed, wherever they are, before you continue."
            )
        if self._own_disk and self._own_disk_full():
            self._full_since = self._full_since or time.monotonic()
            if time.monotonic() - self._full_since > _GRACE_SECONDS:
                self._count_usage()
                return self._quota_message()
            return ""
        self._full_since = 0.0
        lost = sum(
            max(0, before - free.get(each, 0)) for each, before in self._free_when_counted.items()
        )
        since = time.monotonic() - self._counted_at
        if self._usage.total + lost <= self._max_used * 0.9 and since < _RECOUNT_SECONDS:
            return ""
        if since < self._count_interval:
            return ""
        self._count_usage()
        return self._quota_message() if self._usage.total > self._max_used else ""

    def _quota_message(self) -> str:
        if self._own_disk and (known := os.statvfs(self._locations.workspace)).f_favail < 1:
            return (
                f"The sandbox has no room for more files: {known.f_files - known.f_ffree:,} of "
                f"{known.f_files:,} in /workspace, /tmp, caches and homes. "
                "Delete files that are no longer needed before you continue."
            )
        use = self._usage
        own = "/workspace, /tmp, caches and homes" if self._own_disk else "/workspace"
        deleted = f", {format_size(use.deleted)} in deleted files that were still open"
        return (
            f"The sandbox's disk is full: {format_size(use.total)} of {format_size(self._limit)} "
            "used, "
            f"{format_size(use.workspace)} in {own} and {format_size(use.elsewhere)} elsewhere"
            f"{deleted if use.deleted else ''}. "
            "Delete files that are no longer needed before you continue."
        )

    def _count_usage(self) -> None:
        began = time.monotonic()
        self._free_when_counted = self._free_by_device()
        folder = self._locations.workspace
        if self._own_disk:
            known = os.statvfs(folder)
            used = (known.f_blocks - known.f_bfree) * known.f_frsize
        else:
            used = self._locations.count_usage(folder.parent)
        self._usage = _Usage(
            used, self._locations.count_elsewhere(), self._locations.count_deleted()
        )
        self._counted_at = time.monotonic()
        self._count_interval = _RECOUNT_COST_FACTOR * (self._counted_at - began)

    def _own_disk_full(self) -> bool:
        """Whether the workspace's own disk has run out of bytes or inodes."""
        known = os.statvfs(self._locations.workspace)
        return known.f_bavail * known.f_frsize < 64 * 1024 or known.f_favail < 1

    def _free_by_device(self) -> dict[int, int]:
        """Return the free bytes on the host's disks, by device."""
        found = {}
        for path in self._locations.host_folders:
            known = os.statvfs(path)
            found[path.stat().st_dev] = known.f_bavail * known.f_frsize
        return found

    def _has_free_inodes(self) -> bool:
        """Whether enough inodes are free on the host's disks; some do not report a number."""
        known = [os.statvfs(path) for path in self._locations.host_folders]
        return all(each.f_files == 0 or each.f_favail > _MIN_FREE_INODES for each in known)
