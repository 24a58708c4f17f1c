"""Change hints for a workspace from inotify. The only importer of watchdog.

watchdog's own observers hide an overflow, delay moves by half a second, and add watches by a path
that a hostile program can redirect. So this uses its inotify reader (``InotifyFD``) directly, and
watches every folder through a descriptor that was opened without following a link.
"""

import errno
import itertools
import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchDescriptor,
)

from agent.util.closing import ClosingContext
from agent.workspace import paths
from agent.workspace.paths import RelPath

MAX_HINTS = 50_000
_BATCH_SECONDS = 0.02
"""Seconds from the first change after an idle period to its report, to batch changes."""

MAX_FOLDERS = 16_384
_MASK = Mask(
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVE
    | InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_ATTRIB
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_ONLYDIR
)
_IGNORED_ERRNOS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.ENAMETOOLONG)
"""Errors to ignore: a removed or replaced folder has its own event; no sweep enters the rest."""
_WRITE_MASK = (
    InotifyConstants.IN_MODIFY | InotifyConstants.IN_ATTRIB | InotifyConstants.IN_CLOSE_WRITE
)


@dataclass(frozen=True, slots=True)
class DirtySet:
    """Paths that may have changed, and whether each was written; ``trees`` are new folders."""

    entries: dict[str, bool] = field(default_factory=dict)
    trees: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class SweepNeeded:
    """The hints are incomplete; a full sweep is needed."""

    reason: str


class HintCollector:
    """Hints since the last ``take``, shared by the watch's reader thread and callers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._dirty = DirtySet()
        self._incomplete_reason = ""
        self.degraded_reason = ""

    def add(self, path: str, *, written: bool) -> None:
        """Add one path; above ``MAX_HINTS`` paths, a full sweep is cheaper."""
        with self._lock:
            self._dirty.entries[path] = written or self._dirty.entries.get(path, False)
            if len(self._dirty.entries) > MAX_HINTS:
                self._dirty, self._incomplete_reason = DirtySet(), "too many paths changed"

    def add_tree(self, path: str) -> None:
        """Add a new folder."""
        with self._lock:
            self._dirty.trees.add(path)

    def mark_incomplete(self, reason: str) -> None:
        """Record that hints were lost."""
        with self._lock:
            self._incomplete_reason = reason

    def take(self) -> DirtySet | SweepNeeded:
        """Return the hints since the last call."""
        with self._lock:
            dirty, lost = self._dirty, self._incomplete_reason
            self._dirty, self._incomplete_reason = DirtySet(), ""
        reason = self.degraded_reason or lost
        return SweepNeeded(reason) if reason else dirty


class DirtyFolderNotifier:
    """Reports dirty folders from its own thread, once in ``interval`` seconds at most."""

    def __init__(
        self, on_dirty: Callable[[frozenset[RelPath]], None] | None, interval: float
    ) -> None:
        self._on_dirty, self._interval = on_dirty, interval
        self._folders: set[str] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="change hints", daemon=True)
        if on_dirty is not None:
            self._thread.start()

    def add(self, folder: str) -> None:
        """Add a folder; it is reported within ``interval`` seconds."""
        if self._on_dirty is None or folder in self._folders:
            return
        with self._changed:
            self._folders.add(folder)
            self._changed.notify()

    def close(self) -> None:
        """Stop the thread; drop folders not yet reported."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        last_report = -self._interval
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._folders or self._closed)
            delay = last_report + self._interval - time.monotonic()
            time.sleep(0 if self._closed else max(min(_BATCH_SECONDS, self._interval), delay))
            last_report = time.monotonic()
            with self._changed:
                if self._closed:
                    return
                folders, self._folders = self._folders, set()
            if self._on_dirty is not None:
                self._on_dirty(frozenset(map(RelPath.trusted, folders)))


class WorkspaceWatcher(ClosingContext):
    """Watches the folder ``workspace`` in a sandbox's folder until ``close``.

    A file created in the sibling folder ``marker``, which the sandbox cannot see, raises an
    event in the same queue: once that event is read, all earlier ones have been read too. Only a
    sweep finds writes through a memory map that is still mapped, or through another hard link.
    ``on_dirty`` gets the folders whose listing changed, from a thread of the watch. Above
    ``max_folders`` the watch gives up, since all this user's processes share one limit.
    """

    def __init__(
        self,
        folder: Path,
        on_dirty: Callable[[frozenset[RelPath]], None] | None = None,
        *,
        interval: float = 0.1,
        max_folders: int = MAX_FOLDERS,
    ) -> None:
        self._workspace = folder / "workspace"
        self._marker = folder / "marker"
        self._marker.mkdir(exist_ok=True)
        self._hints = HintCollector()
        self._notifier = DirtyFolderNotifier(on_dirty, interval)
        self._pending_markers: dict[bytes, threading.Event] = {}
        self._folders = _FolderWatches(max_folders)
        self._event_lock = threading.Lock()  # held by the first walk, then by each event in turn
        self._closed = False
        self._reader: InotifyFD | None = None
        self._marker_wd = WatchDescriptor(-1)
        self._ids = itertools.count(1)
        self._start()

    @property
    def degraded_reason(self) -> str:
        """Reason, for the user, why only sweeps find changes; empty if the watch works."""
        return self._hints.degraded_reason

    def take_changes(self, *, timeout: float = 1.0) -> DirtySet | SweepNeeded:
        """Return all changes since the last call (or ``discard_hints``, or the start)."""
        if self.degraded_reason:
            return SweepNeeded(self.degraded_reason)
        if not self._wait_until_current(timeout):
            self._hints.take()
            return SweepNeeded("the watcher did not catch up in time")
        return self._hints.take()

    def discard_hints(self) -> None:
        """Drop the hints collected so far, just before a sweep makes them redundant."""
        self._hints.take()

    def close(self) -> None:
        """Stop watching. May be called twice."""
        self._notifier.close()
        with self._event_lock:
            closed, self._closed = self._closed, True
        if self._reader is not None and not closed:
            self._reader.stop()
            self._reader.join()

    def _start(self) -> None:
        try:
            self._reader = InotifyFD()
        except OSError as error:
            self._degrade(error)
            return
        self._reader.start()
        try:
            self._marker_wd, _ = self._add(os.fsencode(self._marker))
            with self._event_lock:
                self._watch_below("")
        except OSError as error:
            self._degrade(error)

    def _degrade(self, error: OSError) -> None:
        limits = {
            errno.ENOSPC: "the limit fs.inotify.max_user_watches is reached",
            errno.EMFILE: "the limit fs.inotify.max_user_instances is reached",
            errno.E2BIG: "there are too many folders to watch",
        }
        reason = limits.get(error.errno or 0, str(error))
        self._hints.degraded_reason = (
            f"File changes are detected only at the end of a step: {reason}."
        )

    def _wait_until_current(self, timeout: float) -> bool:
        """Return whether all events before this call have been read."""
        reader = self._reader
        if reader is None or not reader.is_alive():
            return False
        name = secrets.token_hex(8)
        seen = self._pending_markers[name.encode()] = threading.Event()
        marker = self._marker / name
        try:
            marker.touch()
            return seen.wait(timeout)
        except OSError:
            return False
        finally:
            del self._pending_markers[name.encode()]
            marker.unlink(missing_ok=True)

    # All methods below run in the reader's thread, except the first `_watch_below`.

    def on_event(self, event: InotifyEvent) -> None:
        """Handle one event. Part of watchdog's callback protocol."""
        if event.wd == self._marker_wd:
            if event.is_create and (seen := self._pending_markers.get(event.name)):
                seen.set()
            return
        with self._event_lock:
            self._on_change(event)

    def _on_change(self, event: InotifyEvent) -> None:
        folder = self._folders.path_of(event.wd)
        if folder is None or not event.name or self._closed:
            return
        path = paths.join(folder, os.fsdecode(event.name))
        is_folder = bool(event.mask & InotifyConstants.IN_ISDIR)
        if is_folder:
            self._on_folder_event(event, path)
        self._hints.add(path, written=not is_folder and bool(event.mask & _WRITE_MASK))
        self._notifier.add(folder)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """Handle the removal of a watched folder. Part of watchdog's callback protocol."""
        with self._event_lock:
            if self._folders.path_of(wd) == "" and not self._closed:
                self._degrade(OSError(errno.ENOENT, "the workspace's folder is gone"))
            self._folders.remove(wd)

    def on_queue_overflow(self) -> None:
        """Handle lost events; a callback of watchdog's protocol.

        A second sweep must follow the last watch that is added again: otherwise a write to a folder
        not yet watched would never be found.
        """
        self._hints.mark_incomplete("the kernel's queue of events ran over")
        with self._event_lock:
            self._unwatch("")
            self._watch_tree("")
        self._hints.mark_incomplete("the kernel's queue of events ran over")
        for seen in list(self._pending_markers.values()):
            seen.set()  # its event may be lost, and a sweep follows anyway
        self._notifier.add("")

    def _on_folder_event(self, event: InotifyEvent, path: str) -> None:
        if event.is_moved_from:
            self._unwatch(path)
        elif event.is_delete:
            return  # it was empty, and the kernel reports the end of its watch separately
        elif event.is_create or event.is_moved_to or not self._folders.is_watched(path):
            self._unwatch(path)
            self._watch_tree(path)
            self._hints.add_tree(path)

    def _unwatch(self, path: str) -> None:
        self._remove_callbacks(self._folders.remove_tree(path))

    def _remove_callbacks(self, watches: list[tuple[WatchDescriptor, CallbackId]]) -> None:
        if watches and self._reader is not None and not self._closed:
            self._reader.remove_callbacks(watches)

    def _watch_tree(self, path: str) -> None:
        if self.degraded_reason or self._closed:
            return
        try:
            self._watch_below(path)
        except OSError as error:
            self._degrade(error)

    def _watch_below(self, top: str) -> None:
        """Watch ``top`` and all folders below it, adding each watch before listing."""
        pending = [top]
        with paths.host_folder_fd(self._workspace) as root:
            while pending:
                path = pending.pop()
                try:
                    folder = paths.open_folder(root, path)
                except OSError as error:
                    if error.errno in _IGNORED_ERRNOS:
                        continue
                    raise
                with paths.closing_fd(folder):
                    wd, callback = self._add(b"/proc/self/fd/%d" % folder)
                    self._remove_callbacks(self._folders.add(wd, callback, path))
                    pending += [paths.join(path, name) for name in _subfolders(folder)]

    def _add(self, path: bytes) -> tuple[WatchDescriptor, CallbackId]:
        """Watch a folder under a new id, since it may already be watched by another path."""
        callback = CallbackId(next(self._ids))
        reader = cast(InotifyFD, self._reader)
        return reader.add_callback(path, _MASK, self, callback), callback


def _subfolders(folder: int) -> list[str]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []


class _FolderWatches:
    """Mapping between watches and folders."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._by_wd: dict[WatchDescriptor, tuple[str, CallbackId]] = {}
        self._by_path: dict[str, WatchDescriptor] = {}

    def add(
        self, wd: WatchDescriptor, callback: CallbackId, path: str
    ) -> list[tuple[WatchDescriptor, CallbackId]]:
        """Add a watch; return the one it replaces: the same folder under its former path."""
        before = self._by_wd.get(wd)
        if before is not None and self._by_path.get(before[0]) == wd:
            del self._by_path[before[0]]
        self._by_wd[wd] = path, callback
        self._by_path[path] = wd
        if len(self._by_wd) > self._limit:
            raise OSError(errno.E2BIG, "too many folders")
        return [(wd, before[1])] if before is not None else []

    def path_of(self, wd: WatchDescriptor) -> str | None:
        found = self._by_wd.get(wd)
        return found[0] if found is not None else None

    def is_watched(self, path: str) -> bool:
        return path in self._by_path

    def remove(self, wd: WatchDescriptor) -> None:
        found = self._by_wd.pop(wd, None)
        if found is not None and self._by_path.get(found[0]) == wd:
            del self._by_path[found[0]]

    def remove_tree(self, top: str) -> list[tuple[WatchDescriptor, CallbackId]]:
        """Remove a folder and all below it; return their watches."""
        if top not in self._by_path:
            return []
        below = f"{top}/" if top else ""
        gone = [path for path in self._by_path if path == top or path.startswith(below)]
        watches = [self._by_path.pop(path) for path in gone]
        return [(wd, self._by_wd.pop(wd)[1]) for wd in watches]
