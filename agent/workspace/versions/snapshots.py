"""Take a manifest after each step, scanning as little as is safe."""

import errno
import os
import stat
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.tree import scan
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.dirty_set import DirtySet, Sweep
from agent.workspace.versions.manifest import Delta, Manifest, Node
from agent.workspace.versions.reader import Mark, Reading, mark_of
from agent.workspace.versions.watch import Watch

MAX_NAMES = 200_000
"""Maximum number of names in a manifest; a larger tree is cut, with a note where."""

SWEEP_BELOW = 500
"""Number of names up to which a sweep (about 2 µs each) is no slower than the watch."""

_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class _Doubt(Exception):
    """The hints contradict the file system; a sweep is needed."""


class Snapshots:
    """Tracks the workspace's manifest, step by step.

    Args:
        root: The workspace's host folder.
        blobs: Store for file contents.
        watch: Source of change hints; without it every ``take`` is a sweep.
        manifest: Manifest of a run to continue; it is updated in place.
        sweep_below: Number of names up to which every ``take`` is a sweep.
        max_names: Maximum number of names in the manifest.
    """

    def __init__(
        self,
        root: Path,
        blobs: BlobStore,
        watch: Watch | None = None,
        *,
        manifest: Manifest | None = None,
        sweep_below: int = SWEEP_BELOW,
        max_names: int = MAX_NAMES,
    ) -> None:
        self.manifest = manifest or Manifest()
        self.sweeps = 0
        """Number of sweeps so far."""
        self._root, self._watch = root, watch
        self._reading = Reading(blobs)
        self._sweep_below, self._max_names = sweep_below, max_names
        self._seen: dict[str, tuple[Mark, Node]] = {}
        self._linked: set[str] = set()
        self._known = False
        self._lock = threading.Lock()

    def take(self, *, final: bool = False) -> Delta:
        """Return the changes since the last call and apply them to ``manifest``.

        Between steps this relies on the watch where that is safe. Until the next sweep it can
        miss writes through a memory map that is still mapped.

        Args:
            final: Force a sweep; for the end of a run.

        Raises:
            WorkspaceError: the workspace's folder cannot be read.
        """
        with self._lock:
            known, self._known = self._known, False
            try:
                with paths.opened_folder_path(self._root) as root:
                    delta = self._hinted(root) if known and not final else None
                    if delta is None:
                        delta = self._sweep(root)
            except OSError as error:
                raise paths.explain(error, "") from error
            self.manifest.apply(delta)
            self._known = True
            return delta

    def adopt(
        self,
        *,
        written: Iterable[str] = (),
        moved: Iterable[tuple[str, str]] = (),
        removed: Iterable[str] = (),
    ) -> Delta:
        """Apply changes made outside the sandbox, so that ``take`` does not report them.

        Changes the sandbox made meanwhile below a moved or removed path are left to ``take``.

        Args:
            written: Files and folders that were written and must be read.
            moved: Old and new paths.
            removed: Files and folders that were removed.

        Raises:
            WorkspaceError: the workspace's folder cannot be read.
        """
        with self._lock:
            before = self.manifest.nodes
            now: dict[str, Node] = {}
            gone = set(removed)
            for old, new in moved:
                gone.add(old)
                now |= {f"{new}{path[len(old) :]}": before[path] for path in _below(before, {old})}
            try:
                with paths.opened_folder_path(self._root) as root:
                    for path in written:
                        self._look_below(root, path, (now, gone))
            except OSError as error:
                raise paths.explain(error, "") from error
            delta = self._delta(now, gone)
            self.manifest.apply(delta)
            for path in delta.changed:
                self._seen.pop(path, None)  # the watch reports it again
            return delta

    def _look_below(self, root: int, path: str, found: tuple[dict[str, Node], set[str]]) -> None:
        """Read a path and all below it; leave a path in doubt to ``take``."""
        parent, _, name = path.rpartition("/")
        with suppress(_Doubt):
            self._look_in(root, parent, [(name, False)], found)
            if found[0].get(path, _FILE).kind == "folder":
                self._scan(root, path, found[0])

    def _hinted(self, root: int) -> Delta | None:
        """Return the delta from the watch's hints; None if a sweep is needed."""
        small = len(self.manifest.nodes) <= self._sweep_below
        if self._watch is None or self._linked or small:
            return None
        hints = self._watch.dirty_since_last()
        if isinstance(hints, Sweep):
            return None
        try:
            return self._look_at(root, hints)
        except _Doubt:
            return None

    def _sweep(self, root: int) -> Delta:
        self.sweeps += 1
        if self._watch is not None:
            self._watch.forget()
        self._linked.clear()
        now: dict[str, Node] = {}
        self._scan(root, "", now)
        delta = self.manifest.to(now)
        self._forget(delta.removed)
        if self._watch is not None and self._watch.degraded and delta:
            self._watch.announce(_folders(delta))
        return delta

    def _scan(self, root: int, top: str, now: dict[str, Node]) -> None:
        """Add every node below ``top`` to ``now``."""
        waiting = [top]
        while waiting:
            at = waiting.pop()
            try:
                with paths.opened_folder(root, at) as folder:
                    waiting += self._scan_folder(folder, at, now)
                if len(now) >= self._max_names:
                    raise OSError(errno.E2BIG, "the workspace holds too many names")
            except OSError as error:
                if at:
                    self._not_listed(at, error, now)
                elif error.errno != errno.E2BIG:
                    raise

    def _scan_folder(self, folder: int, at: str, now: dict[str, Node]) -> list[str]:
        inner = []
        for name, info in scan(folder):
            if len(now) >= self._max_names:
                break
            path = paths.join(at, name)
            now[path] = self._node(folder, path, name, info)
            if stat.S_ISDIR(info.st_mode):
                inner.append(path)
        return inner

    def _not_listed(self, path: str, error: OSError, now: dict[str, Node]) -> None:
        self._seen.pop(path, None)
        known = now.get(path)
        if error.errno in _GONE or known is None:
            now.pop(path, None)
        else:
            why = f"it cannot be looked into: {error.strerror}"
            now[path] = Node("folder", mode=known.mode, kept=False, why=why)

    def _node(self, folder: int, path: str, name: str, info: os.stat_result) -> Node:
        """Return the current node of ``path``, reading it only if its mark changed."""
        if info.st_nlink > 1 and stat.S_ISREG(info.st_mode):
            self._linked.add(path)
        seen = self._seen.get(path)
        if seen is not None and seen[0] == mark_of(info):
            return seen[1]
        node, mark = self._reading.node(folder, name, info)
        if mark is None:
            self._seen.pop(path, None)
        else:
            self._seen[path] = mark, node
        return node

    def _look_at(self, root: int, hints: DirtySet) -> Delta:
        now: dict[str, Node] = {}
        gone: set[str] = set()
        for parent, names in _by_folder(hints.entries).items():
            self._look_in(root, parent, names, (now, gone))
        for tree in hints.trees:
            if now.get(tree, _FILE).kind != "folder":
                raise _Doubt
            gone.add(tree)  # former contents that the scan does not find again
            self._scan(root, tree, now)
        if self._linked or len(self.manifest.nodes) + len(now) > self._max_names:
            raise _Doubt
        return self._delta(now, gone)

    def _look_in(
        self,
        root: int,
        parent: str,
        names: Iterable[tuple[str, bool]],
        found: tuple[dict[str, Node], set[str]],
    ) -> None:
        """Read some names in one folder.

        If a hint says that a file was written but it is missing or unchanged, the written file
        has been renamed or replaced, and may still exist under another hard link.
        """
        now, gone = found
        try:
            folder = paths.open_folder(root, parent)
        except OSError as error:
            if error.errno not in _GONE or any(written for _, written in names):
                raise _Doubt from error
            gone.update(paths.join(parent, name) for name, _ in names)
            return
        try:
            for name, written in names:
                path = paths.join(parent, name)
                try:
                    info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                except OSError as error:
                    if written or error.errno != errno.ENOENT:
                        raise _Doubt from error
                    gone.add(path)
                    continue
                if written and path in self._seen and self._seen[path][0] == mark_of(info):
                    raise _Doubt
                now[path] = self._node(folder, path, name, info)
        finally:
            os.close(folder)

    def _delta(self, now: dict[str, Node], gone: set[str]) -> Delta:
        before = self.manifest.nodes
        changed = {path: now[path] for path in sorted(now) if before.get(path) != now[path]}
        roots = {path for path in gone if path in before}
        roots |= {
            path
            for path, node in changed.items()
            if node.kind != "folder" and before.get(path, node).kind == "folder"
        }
        removed = tuple(sorted(_below(before, roots) - now.keys())) if roots else ()
        self._forget(removed)
        return Delta(changed, removed, frozenset(path for path in changed if path not in before))

    def _forget(self, removed: Iterable[str]) -> None:
        for path in removed:
            self._seen.pop(path, None)
            self._linked.discard(path)


_FILE = Node("file")


def _by_folder(entries: dict[str, bool]) -> dict[str, list[tuple[str, bool]]]:
    folders: dict[str, list[tuple[str, bool]]] = {}
    for path, written in entries.items():
        parent, _, name = path.rpartition("/")
        folders.setdefault(parent, []).append((name, written))
    return folders


def _below(listed: Iterable[str], roots: set[str]) -> set[str]:
    """Return the paths in ``listed`` that are one of ``roots`` or below one."""
    found = set()
    for path in listed:
        at = path
        while at:
            if at in roots:
                found.add(path)
                break
            at = at.rpartition("/")[0]
    return found


def _folders(delta: Delta) -> frozenset[RelPath]:
    return frozenset(RelPath.trusted(path).parent for path in (*delta.changed, *delta.removed))
