"""A node's side of a workspace that is kept equal to its copy on the driver.

The sandbox's changes are sent in parts with a version, completely at the end of each command; the
driver waits for the version that this end names. The parts carry the number of the last user change
that the node had received, so that the driver can ignore what the user has overwritten since.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.cluster.parts import MAX_FILE_BYTES, Part, batches, node_parts
from agent.cluster.receiver import FileReceiver
from agent.errors import WorkspaceError
from agent.sandbox.base import Sandbox
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.manifest import Delta, Node
from agent.workspace.versions.reader import ContentHashes
from agent.workspace.versions.snapshots import SnapshotTracker
from agent.workspace.versions.watch import WorkspaceWatcher

_INTERVAL_SECONDS = 0.25
_PAUSE_FACTOR = 4
"""Pause after looking for changes during a command, as a multiple of the time it took."""
_LARGE_BYTES = 8 * 1024**2
"""Size of a file above which it is sent at the end of a command only: it may still grow."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Changes:
    """Changes to be sent, and their version."""

    version: int
    seen: int
    removed: list[str]
    changed: dict[str, Node]


class WorkspaceMirror:
    """Sends what changes in a sandbox's workspace, and writes what the user changes."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        root = folder / "workspace"
        self._workspace = Workspace(root, fallback=sandbox)
        self._receiver = FileReceiver(self._workspace)
        self._changed = threading.Condition()
        self._unsent = deque[_Changes]()
        self._postponed: dict[str, Node] = {}
        self._version = self._seen = 0
        self._dirty = self._closed = False
        self._due = 0.0
        self._watcher = WorkspaceWatcher(folder, self._on_dirty, interval=_INTERVAL_SECONDS)
        self._tracker = create_tracker(root, self._watcher)

    def begin(self, wanted: Mapping[str, Node]) -> list[str]:
        """Remove what the driver's manifest lacks; return the paths that the driver has to send."""
        with self._changed:
            self._tracker.take(final=True)
            own = self._tracker.manifest.nodes
            kept = [path for path, node in own.items() if path not in wanted and _is_local(node)]
            needed = {*wanted, *kept, *(above for path in kept for above in parents_of(path))}
            for path in _roots(path for path in own if path not in needed):
                try:
                    self._apply(Part("removed", path))
                except WorkspaceError as error:  # such as a path that is too long
                    _log.warning("%.200r stays in a workspace: %s", path, error)
            return [path for path, node in wanted.items() if _differ(own.get(path), node)]

    def put(self, parts: Iterable[Part]) -> int:
        """Write changes of the user, all that can be written; return the number of sets so far."""
        refused: WorkspaceError | None = None
        with self._changed:
            for part in parts:
                try:
                    self._apply(part)
                except WorkspaceError as error:
                    refused = error
            self._seen += 1
            if refused is not None:
                raise refused
            return self._seen

    def flush(self, *, in_progress: bool = False) -> int:
        """Queue what has changed; return its version. While ``in_progress``, large files wait."""
        with self._changed:
            delta = self._tracker.take()
            changed = {**self._postponed, **delta.changed}
            for path in delta.removed:
                changed.pop(path, None)
            self._postponed = {
                path: node for path, node in changed.items()
                if in_progress and node.size > _LARGE_BYTES
            }  # fmt: skip
            now = {path: changed[path] for path in sorted(changed.keys() - self._postponed.keys())}
            if now or delta.removed:
                self._version += 1
                removed = list(_roots(delta.removed))
                self._unsent.append(_Changes(self._version, self._seen, removed, now))
                self._changed.notify_all()
            return self._version

    def changes(self) -> Iterator[list[Part]]:
        """Yield the changes in batches until ``close``; one thread at a time."""
        while (changes := self._next()) is not None:
            yield from batches(self._parts(changes))

    def close(self) -> None:
        """End ``changes``."""
        with self._changed:
            self._closed = True
            self._receiver.abort()
            self._changed.notify_all()
        self._watcher.close()

    def _apply(self, part: Part) -> None:
        """Write a part and make it known to the manifest, so that it is not sent back."""
        try:
            node = self._receiver.receive(part)
        except WorkspaceError:
            self._receiver.abort()
            raise
        manifest = self._tracker.manifest
        if part.kind == "removed":
            known, below = manifest.nodes.get(part.path), list[str]()
            if known is not None and known.kind == "folder":
                below = [each for each in manifest.nodes if each.startswith(f"{part.path}/")]
            manifest.apply(Delta(removed=(part.path, *below)))
        elif node is not None and node.size > MAX_FILE_BYTES:
            self._tracker.record_user_changes(written=[part.path])
        elif node is not None:
            manifest.apply(Delta({part.path: node}))

    def _on_dirty(self, _folders: frozenset[RelPath]) -> None:
        with self._changed:
            self._dirty = True
            self._changed.notify_all()

    def _next(self) -> _Changes | None:
        """Wait for changes; look for them now and then if the watcher has reported some."""
        with self._changed:
            while not self._unsent:
                if self._closed:
                    return None
                pause = self._due - time.monotonic()
                if self._dirty and pause <= 0:
                    self._look()
                else:
                    self._changed.wait(pause if self._dirty else None)
            return self._unsent.popleft()

    def _look(self) -> None:
        began = time.monotonic()
        self._dirty = False
        try:
            self.flush(in_progress=True)
        except WorkspaceError as error:  # the end of the command reports it
            _log.warning("Changes of a workspace cannot be read: %s", error)
        now = time.monotonic()
        self._due = now + max(_INTERVAL_SECONDS, _PAUSE_FACTOR * (now - began))

    def _parts(self, changes: _Changes) -> Iterator[Part]:
        for path in changes.removed:
            yield Part("removed", path, number=changes.seen)
        for path, node in changes.changed.items():
            for part in self._node(path, node):
                yield part._replace(number=changes.seen)
        yield Part("synced", number=changes.version)

    def _node(self, path: str, node: Node) -> Iterator[Part]:
        if node.kind not in ("file", "folder", "link"):
            yield Part("removed", path)  # a file may have been there
        elif node.size > MAX_FILE_BYTES:
            yield Part("left_out", path)
        else:
            try:
                yield from node_parts(self._workspace, path, node)
            except (WorkspaceError, OSError) as error:
                if not is_missing(error):  # else the next changes remove it
                    yield Part("left_out", path)


def create_tracker(root: Path, watcher: WorkspaceWatcher | None = None) -> SnapshotTracker:
    """Return a tracker of a workspace's manifest with the hashes of all files that are sent."""
    return SnapshotTracker(root, ContentHashes(), watcher, max_stored=MAX_FILE_BYTES)


def _is_local(node: Node) -> bool:
    """Whether a path is never sent to the driver."""
    return node.kind not in ("file", "folder", "link") or (
        node.kind == "file" and node.hash is None
    )


def _differ(own: Node | None, wanted: Node) -> bool:
    """Whether the driver has to send a path; permissions are not compared."""
    if own is None or own.kind != wanted.kind or own.target != wanted.target:
        return True
    if own.hash is None or wanted.hash is None:
        return own.size != wanted.size
    return own.hash != wanted.hash


def is_missing(error: Exception) -> bool:
    """Whether an error about a path says that there is no such path."""
    cause = error.__cause__ if isinstance(error, WorkspaceError) else error
    return isinstance(cause, FileNotFoundError | NotADirectoryError)


def parents_of(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def _roots(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that are not below another one of them."""
    found = set(paths)
    return (path for path in sorted(found) if not any(above in found for above in parents_of(path)))
