"""Take a manifest after each step, scanning as little as is safe."""

import errno
import math
import os
import stat
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from agent.workspace import paths
from agent.workspace.versions.manifest import Delta, Manifest, Node
from agent.workspace.versions.reader import (
    MAX_STORED_BYTES,
    ContentStore,
    Fingerprint,
    NodeReader,
    fingerprint,
)
from agent.workspace.versions.watch import DirtySet, SweepNeeded, WorkspaceWatcher

MAX_NAMES = 200_000
"""Maximum number of names in a manifest; a larger tree is cut, with a note where."""

SWEEP_BELOW = 500
"""Number of names up to which a sweep (about 2 µs each) is no slower than the watch."""

FIRST_FILES, FIRST_BYTES = 250, 16 * 1024**2
"""How many new files, and how many changed ones, ``list_changes`` reads, up to so many bytes."""

_GONE_ERRNOS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class _InconsistentHints(Exception):
    """The hints contradict the file system; a sweep is needed."""


class SnapshotTracker:
    """Tracks the workspace's manifest, step by step.

    Without a ``watch``, or with at most ``sweep_below`` names, every ``take`` is a sweep.
    ``manifest`` is that of a run to continue, and updated in place. Files above ``max_stored``
    bytes are neither stored nor compared.
    """

    def __init__(
        self,
        root: Path,
        blobs: ContentStore,
        watch: WorkspaceWatcher | None = None,
        *,
        manifest: Manifest | None = None,
        sweep_below: int = SWEEP_BELOW,
        max_names: int = MAX_NAMES,
        max_stored: int = MAX_STORED_BYTES,
    ) -> None:
        self.manifest = manifest or Manifest()
        self.sweeps = 0
        """Number of sweeps so far."""
        self._root, self._watch = root, watch
        self._reader = NodeReader(blobs, max_stored=max_stored)
        self._sweep_below, self._max_names = sweep_below, max_names
        self._cache: dict[str, tuple[Fingerprint, Node]] = {}
        self._unread: set[str] = set()
        self._listed_at = 0.0
        self._hard_linked: set[str] = set()
        self._consistent = False
        self._lock = threading.Lock()

    def take(self, *, final: bool = False) -> Delta:
        """Return the changes since the last call and apply them to ``manifest``.

        Until the next sweep, which ``final`` forces, it can miss writes through a mapped memory
        map.
        """
        delta = self.list_changes(final=final)
        self._listed_at = math.inf  # there was no time to change anything
        return self.complete(delta)

    def list_changes(self, *, final: bool = False) -> Delta:
        """Return the changes for ``complete``; most new files are still unread."""
        with self._lock:
            known, self._consistent = self._consistent, False
            self._unread.clear()
            try:
                with paths.host_folder_fd(self._root) as root:
                    delta = self._delta_from_hints(root) if known and not final else None
                    if delta is None:
                        delta = self._sweep(root)
                    self._listed_at = time.time_ns()
                    self._read_first(root, delta.changed)
            except OSError as error:
                raise paths.to_workspace_error(error, "") from error
            return delta

    @property
    def is_complete(self) -> bool:
        """Whether ``list_changes`` has read all that ``complete`` needs."""
        return not self._unread

    def complete(self, delta: Delta) -> Delta:
        """Read the rest of the last ``list_changes``, and apply the changes.

        A file that changed after it was listed is recorded without content.
        """
        with self._lock:
            try:
                with paths.host_folder_fd(self._root) as root:
                    self._read(root, self._unread, delta.changed, until=self._listed_at)
            except OSError as error:
                raise paths.to_workspace_error(error, "") from error
            gone = {path for path in self._unread if path not in delta.changed}
            if gone:
                removed = sorted({*delta.removed, *(gone & self.manifest.nodes.keys())})
                delta = replace(delta, removed=tuple(removed), added=delta.added - gone)
                self._forget(gone)
            self._unread.clear()
            self.manifest.apply(delta)
            self._consistent = True
            return delta

    def record_user_changes(
        self,
        *,
        written: Iterable[str] = (),
        moved: Iterable[tuple[str, str]] = (),
        removed: Iterable[str] = (),
    ) -> Delta:
        """Apply changes from outside, which ``take`` then does not report.

        What the sandbox changed meanwhile below a moved or removed path is left to ``take``.
        ``moved`` has old and new paths.
        """
        with self._lock:
            before = self.manifest.nodes
            now: dict[str, Node] = {}
            gone = set(removed)
            for old, new in moved:
                gone.add(old)
                now |= {
                    f"{new}{path[len(old) :]}": before[path]
                    for path in _within_roots(before, {old})
                }
            try:
                with paths.host_folder_fd(self._root) as root:
                    for path in written:
                        self._read_subtree(root, path, (now, gone))
                    self._read(root, tuple(self._unread), now)
                    self._unread.clear()
            except OSError as error:
                raise paths.to_workspace_error(error, "") from error
            delta = self._delta(now, gone)
            self.manifest.apply(delta)
            for path in delta.changed:
                self._cache.pop(path, None)  # the watch reports it again
            return delta

    def _read_subtree(self, root: int, path: str, found: tuple[dict[str, Node], set[str]]) -> None:
        """Read a path and all below it; leave a path in doubt to ``take``."""
        parent, _, name = path.rpartition("/")
        with suppress(_InconsistentHints):
            self._read_names(root, parent, [(name, False)], found)
            if found[0].get(path, _FILE_NODE).kind == "folder":
                self._scan(root, path, found[0])

    def _delta_from_hints(self, root: int) -> Delta | None:
        """Return the delta from the watch's hints; None if a sweep is needed."""
        small = len(self.manifest.nodes) <= self._sweep_below
        if self._watch is None or self._hard_linked or small:
            return None
        hints = self._watch.take_changes()
        if isinstance(hints, SweepNeeded):
            return None
        if len(hints.entries) > max(SWEEP_BELOW, len(self.manifest.nodes)):
            return None  # most files are new
        try:
            return self._apply_hints(root, hints)
        except _InconsistentHints:
            return None

    def _sweep(self, root: int) -> Delta:
        self.sweeps += 1
        if self._watch is not None:
            self._watch.discard_hints()
        self._hard_linked.clear()
        now: dict[str, Node] = {}
        self._scan(root, "", now)
        delta = self.manifest.diff(now)
        self._forget(delta.removed)
        return delta

    def _scan(self, root: int, top: str, now: dict[str, Node]) -> None:
        """Add every node below ``top`` to ``now``."""
        pending = [top]
        while pending:
            current = pending.pop()
            try:
                with paths.folder_fd(root, current) as folder:
                    pending += self._scan_folder(folder, current, now)
                if len(now) >= self._max_names:
                    raise OSError(errno.E2BIG, "the workspace holds too many names")
            except OSError as error:
                if current:
                    self._record_unreadable(current, error, now)
                elif error.errno != errno.E2BIG:
                    raise

    def _scan_folder(self, folder: int, parent: str, now: dict[str, Node]) -> list[str]:
        inner, known, prefix = [], self.manifest.nodes, f"{parent}/" if parent else ""
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(now) >= self._max_names:
                    break
                path = prefix + entry.name
                if path not in known and not entry.is_dir(follow_symlinks=False):
                    now[path] = _UNREAD  # a system call less for each new file
                    self._unread.add(path)
                    continue
                try:
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                now[path] = self._current_node(folder, path, entry.name, info)
                if stat.S_ISDIR(info.st_mode):
                    inner.append(path)
        return inner

    def _record_unreadable(self, path: str, error: OSError, now: dict[str, Node]) -> None:
        self._cache.pop(path, None)
        known = now.get(path)
        if error.errno in _GONE_ERRNOS or known is None:
            now.pop(path, None)
        else:
            why = f"it cannot be looked into: {error.strerror}"
            now[path] = Node("folder", mode=known.mode, stored=False, reason=why)

    def _current_node(self, folder: int, path: str, name: str, info: os.stat_result) -> Node:
        """Return a path's node, read if its mark changed, unless it is new or of another size."""
        self._note_hard_links(path, info)
        seen = self._cache.get(path)
        if seen is not None and seen[0] == fingerprint(info):
            return seen[1]
        if stat.S_ISREG(info.st_mode):
            node, known = _unread_node(info), self.manifest.nodes.get(path)
            if known is None or (known.kind, known.size) != ("file", node.size):
                self._unread.add(path)
                return node
        return self._read_node(folder, path, name, info)

    def _note_hard_links(self, path: str, info: os.stat_result) -> None:
        if info.st_nlink > 1 and stat.S_ISREG(info.st_mode):
            self._hard_linked.add(path)

    def _read_first(self, root: int, changed: dict[str, Node]) -> None:
        """Read the first unread nodes, and as many of those that were there before."""
        new, known = list[str](), list[str]()
        for path in changed:
            if path in self._unread:
                (known if path in self.manifest.nodes else new).append(path)
        first = [*known[:FIRST_FILES], *new[:FIRST_FILES]]
        self._read(root, first, changed, limit=FIRST_BYTES)

    def _read(
        self,
        root: int,
        unread: Iterable[str],
        nodes: dict[str, Node],
        *,
        until: float = math.inf,
        limit: float = math.inf,
    ) -> None:
        """Read nodes into ``nodes``, beyond ``limit`` bytes only sizes; remove missing ones."""
        for parent, entries in _group_by_folder(dict.fromkeys(unread, False)).items():
            with ExitStack() as opened:
                folder: int | None = None
                for name, _ in entries:
                    path = paths.join(parent, name)
                    try:
                        if folder is None:
                            folder = opened.enter_context(paths.folder_fd(root, parent))
                        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    except OSError as error:
                        self._record_unread(path, error, nodes)
                        continue
                    limit -= info.st_size
                    if limit < 0:
                        nodes[path] = _unread_node(info)
                    else:
                        self._note_hard_links(path, info)
                        nodes[path] = self._read_node(folder, path, name, info, until)
                        self._unread.discard(path)

    def _read_node(
        self, folder: int, path: str, name: str, info: os.stat_result, until: float = math.inf
    ) -> Node:
        node, mark = self._reader.read(folder, name, info, until)
        if mark is None:
            self._cache.pop(path, None)
        else:
            self._cache[path] = mark, node
        return node

    def _record_unread(self, path: str, error: OSError, nodes: dict[str, Node]) -> None:
        if error.errno in _GONE_ERRNOS:
            nodes.pop(path, None)  # may have been gone at the first reading, too
        else:
            why = f"it cannot be read: {error.strerror}"
            nodes[path] = replace(nodes.get(path, _FILE_NODE), stored=False, reason=why)
            self._unread.discard(path)

    def _apply_hints(self, root: int, hints: DirtySet) -> Delta:
        now: dict[str, Node] = {}
        gone: set[str] = set()
        for parent, names in _group_by_folder(hints.entries).items():
            self._read_names(root, parent, names, (now, gone))
        for tree in hints.trees:
            if now.get(tree, _FILE_NODE).kind != "folder":
                raise _InconsistentHints
            gone.add(tree)  # former contents that the scan does not find again
            self._scan(root, tree, now)
        if self._hard_linked or len(self.manifest.nodes) + len(now) > self._max_names:
            raise _InconsistentHints
        return self._delta(now, gone)

    def _read_names(
        self,
        root: int,
        parent: str,
        names: Iterable[tuple[str, bool]],
        found: tuple[dict[str, Node], set[str]],
    ) -> None:
        """Read some names in one folder.

        A file that a hint calls written, but is missing or unchanged, was renamed or replaced, and
        may still exist under another hard link.
        """
        now, gone = found
        try:
            folder = paths.open_folder(root, parent)
        except OSError as error:
            if error.errno not in _GONE_ERRNOS or any(written for _, written in names):
                raise _InconsistentHints from error
            gone.update(paths.join(parent, name) for name, _ in names)
            return
        with paths.closing_fd(folder):
            for name, written in names:
                path = paths.join(parent, name)
                try:
                    info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                except OSError as error:
                    if written or error.errno != errno.ENOENT:
                        raise _InconsistentHints from error
                    gone.add(path)
                    continue
                if written and path in self._cache and self._cache[path][0] == fingerprint(info):
                    raise _InconsistentHints
                now[path] = self._current_node(folder, path, name, info)

    def _delta(self, now: dict[str, Node], gone: set[str]) -> Delta:
        before = self.manifest.nodes
        changed = {path: now[path] for path in sorted(now) if before.get(path) != now[path]}
        roots = {path for path in gone if path in before}
        roots |= {
            path
            for path, node in changed.items()
            if node.kind != "folder" and before.get(path, node).kind == "folder"
        }
        removed = tuple(sorted(_within_roots(before, roots) - now.keys())) if roots else ()
        self._forget(removed)
        return Delta(changed, removed, frozenset(path for path in changed if path not in before))

    def _forget(self, removed: Iterable[str]) -> None:
        for path in removed:
            self._cache.pop(path, None)
            self._hard_linked.discard(path)


_FILE_NODE = Node("file")
_UNREAD = Node("file", stored=False, reason="it was not read")


def _unread_node(info: os.stat_result) -> Node:
    return Node("file", info.st_size, stat.S_IMODE(info.st_mode))


def _group_by_folder(entries: dict[str, bool]) -> dict[str, list[tuple[str, bool]]]:
    folders: dict[str, list[tuple[str, bool]]] = {}
    for path, written in entries.items():
        parent, _, name = path.rpartition("/")
        folders.setdefault(parent, []).append((name, written))
    return folders


def _within_roots(listed: Iterable[str], roots: set[str]) -> set[str]:
    """Return the paths in ``listed`` that are one of ``roots`` or below one."""
    found = set()
    for path in listed:
        current = path
        while current:
            if current in roots:
                found.add(path)
                break
            current = current.rpartition("/")[0]
    return found
