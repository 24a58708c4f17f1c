"""Change hints, collected by one thread and consumed by others."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.workspace.paths import RelPath

MAX_HINTS = 50_000
_BATCH_SECONDS = 0.02
"""Seconds from the first change after an idle period to its report, to batch changes."""


@dataclass(frozen=True, slots=True)
class DirtySet:
    """All paths that may have changed since the last query, as far as is known.

    ``entries`` says of each path whether it was written to (else created, moved or removed).
    ``trees`` are new folders, whose contents may be unknown.
    """

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
    """Reports dirty folders from its own thread.

    It reports soon after the first change and then at most once in ``interval`` seconds.
    """

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
