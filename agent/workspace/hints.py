"""Hints of change, gathered by one thread and taken by others."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.workspace.paths import RelPath

MAX_HINTS = 50_000
_SOON = 0.02
"""Seconds from the first change after a rest until it is told, with those that came with it."""


@dataclass(frozen=True, slots=True)
class DirtySet:
    """Every path that may differ from the last time; nothing else does, so far as is known.

    Attributes:
        entries: Single names, and whether each was written to (else made, moved, removed).
        trees: Folders that came anew: all that they hold may be unknown.
    """

    entries: dict[str, bool] = field(default_factory=dict)
    trees: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Sweep:
    """The hints are incomplete: look at everything.

    Attributes:
        why: What happened, for a log.
    """

    why: str


class Gathered:
    """What was seen since the last ``take``; of the watch's reader and of who asks it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._dirty = DirtySet()
        self._lost = ""
        self.degraded = ""

    def add(self, path: str, *, written: bool) -> None:
        """Note one name; past ``MAX_HINTS`` of them, looking at everything is cheaper."""
        with self._lock:
            self._dirty.entries[path] = written or self._dirty.entries.get(path, False)
            if len(self._dirty.entries) > MAX_HINTS:
                self._dirty, self._lost = DirtySet(), "too much changed to list it"

    def add_tree(self, path: str) -> None:
        """Note a folder that came anew."""
        with self._lock:
            self._dirty.trees.add(path)

    def lost(self, why: str) -> None:
        """Note that hints are missing."""
        with self._lock:
            self._lost = why

    def take(self) -> DirtySet | Sweep:
        """All that was noted since the last call."""
        with self._lock:
            dirty, lost = self._dirty, self._lost
            self._dirty, self._lost = DirtySet(), ""
        why = self.degraded or lost
        return Sweep(why) if why else dirty


class News:
    """Gathers dirty folders and hands them on in its own thread: soon, then once in ``pause`` s."""

    def __init__(self, on_dirty: Callable[[frozenset[RelPath]], None] | None, pause: float) -> None:
        self._on_dirty, self._pause = on_dirty, pause
        self._folders: set[str] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="workspace-news", daemon=True)
        if on_dirty is not None:
            self._thread.start()

    def add(self, folder: str) -> None:
        """Note a folder; it is handed on within ``pause``."""
        if self._on_dirty is None or folder in self._folders:
            return
        with self._changed:
            self._folders.add(folder)
            self._changed.notify()

    def close(self) -> None:
        """End the thread; what was not handed on is dropped."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        handed_on = -self._pause
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._folders or self._closed)
            rest = handed_on + self._pause - time.monotonic()
            time.sleep(0 if self._closed else max(min(_SOON, self._pause), rest))
            handed_on = time.monotonic()
            with self._changed:
                if self._closed:
                    return
                folders, self._folders = self._folders, set()
            if self._on_dirty is not None:
                self._on_dirty(frozenset(map(RelPath.trusted, folders)))
