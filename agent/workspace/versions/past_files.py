"""Earlier versions of files: found in the manifests, read from the blob store."""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from agent.errors import JournalError, WorkspaceError
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import StoredContents
from agent.workspace.versions.manifest import Delta, ManifestLog, Node

_KIND_LABELS = {"folder": "a folder", "link": "a link"}


class PastEntry(NamedTuple):
    """A path in the workspace as it was after a step."""

    path: str
    node: Node
    step: int  # made it; the user's precedes the step
    later: bool = False  # did not exist; ``step`` creates it


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One version of a path."""

    step: int  # the user's precedes the step's own
    node: Node | None  # None if it was removed
    by_user: bool


@dataclass(slots=True)
class _PathHistory:
    """A path's nodes by step, None if missing; the user's change precedes that of its step."""

    steps: list[int] = field(default_factory=list)
    nodes: list[Node | None] = field(default_factory=list)
    by_user: list[bool] = field(default_factory=list)

    def record(self, step: int, node: Node | None, *, by_user: bool) -> None:
        while self.steps and (self.steps[-1] > step or self._last == (step, by_user)):
            for column in (self.steps, self.nodes, self.by_user):
                column.pop()
        self.steps.append(step)
        self.nodes.append(node)
        self.by_user.append(by_user)

    def node_at(self, step: int) -> Node | None:
        position = bisect_right(self.steps, step)
        return self.nodes[position - 1] if position else None

    def node_before(self, step: int) -> Node | None:
        """Return the node before the step's own change, after the user's changes."""
        position = bisect_right(self.steps, step - 1)
        if self.steps[position : position + 1] == [step] and self.by_user[position]:
            position += 1
        return self.nodes[position - 1] if position else None

    def entry(self, path: str, step: int) -> PastEntry | None:
        """Return the path after ``step``, or the step that creates it later; None if gone."""
        position = bisect_right(self.steps, step)
        node = self.nodes[position - 1] if position else None
        if node is not None:
            return PastEntry(path, node, self.steps[position - 1])
        for index in range(position, len(self.steps)):
            created = self.nodes[index]
            if created is not None:
                return PastEntry(path, created, self.steps[index], later=True)
        return None

    def versions(self) -> Iterator[FileVersion]:
        """Yield the path's versions, oldest first."""
        columns = zip(self.steps, self.nodes, self.by_user, strict=True)
        return (FileVersion(*each) for each in columns)

    def last_changed_step(self) -> int | None:
        """Return the last step that changed the path."""
        changes = zip(reversed(self.steps), reversed(self.by_user), strict=True)
        return next((step for step, by_user in changes if not by_user), None)

    @property
    def _last(self) -> tuple[int, bool]:
        return self.steps[-1], self.by_user[-1]


class FileVersions:
    """File versions of one run, from a manifest file that may grow. Thread-safe."""

    def __init__(self, manifests: Path, blobs: StoredContents) -> None:
        self._log = ManifestLog(manifests)
        self._blobs = blobs
        self._histories: dict[str, _PathHistory] = {}
        self._children: dict[str, list[str]] = {}
        self._position = 0
        self._lock = threading.Lock()

    def node(self, path: RelPath, step: int) -> Node | None:
        """Return the node at ``path`` after ``step``; None if there was none."""
        with self._lock:
            self._read_new_deltas()
            history = self._histories.get(path)
            return history.node_at(step) if history else None

    def node_before(self, path: RelPath, step: int) -> Node | None:
        """Return the node at ``path`` before ``step`` changed it; None if there was none."""
        with self._lock:
            self._read_new_deltas()
            history = self._histories.get(path)
            return history.node_before(step) if history else None

    def last_changed_step(self, path: RelPath) -> int | None:
        """Return the last step that changed ``path``; None if no step is known to have."""
        with self._lock:
            self._read_new_deltas()
            history = self._histories.get(path)
            return history.last_changed_step() if history else None

    @property
    def recorded(self) -> bool:
        """Whether any version of the workspace was recorded."""
        with self._lock:
            self._read_new_deltas()
            return self._position > 0

    def entries(self, folder: str, step: int) -> Sequence[PastEntry]:
        """Return the paths in ``folder`` after ``step``, and those created there later."""
        with self._lock:
            self._read_new_deltas()
            return self._entries_at(self._children.get(folder, ()), step)

    def child_names(self, folder: str, step: int) -> Sequence[str]:
        """Return the names directly in ``folder`` after ``step``."""
        with self._lock:
            self._read_new_deltas()
            start = len(folder) + 1 if folder else 0
            return [
                path[start:]
                for path in self._children.get(folder, ())
                if self._histories[path].node_at(step) is not None
            ]

    def entries_below(self, folder: str, step: int) -> Sequence[PastEntry]:
        """Like ``entries``, for all subfolders, too."""
        prefix = f"{folder}/" if folder else ""
        with self._lock:
            self._read_new_deltas()
            return self._entries_at(
                (path for path in self._histories if path.startswith(prefix)), step
            )

    def versions(self, path: RelPath) -> Sequence[FileVersion]:
        """Return all recorded versions of ``path``, oldest first."""
        with self._lock:
            self._read_new_deltas()
            history = self._histories.get(path)
            return list(history.versions()) if history else []

    def all_versions(self, matches: Callable[[str], bool]) -> dict[str, list[FileVersion]]:
        """Return all recorded versions of the paths that match, in the order of their making."""
        with self._lock:
            self._read_new_deltas()
            return {
                path: list(history.versions())
                for path, history in self._histories.items()
                if matches(path)
            }

    def open(self, path: RelPath, step: int) -> BinaryIO:
        """Open the file ``path`` as it was after ``step``; the caller closes it."""
        node = self.node(path, step)
        if node is None:
            raise WorkspaceError(f"“{path.display}” was not there after step {step}.")
        return self.open_content(path, step, node)

    def open_content(self, path: RelPath, step: int, node: Node) -> BinaryIO:
        """Open the content of ``node``, a result of the method ``node``; see ``open``."""
        named = f"“{path.display}”"
        if node.kind != "file":
            what = _KIND_LABELS.get(node.kind, "no regular file")
            raise WorkspaceError(f"{named} was {what} after step {step}.")
        if not node.stored or node.hash is None:
            why = node.reason or "its content was not read"
            raise WorkspaceError(f"{named} as it was after step {step} was not kept: {why}.")
        try:
            return self._blobs.open(node.hash)
        except JournalError as error:
            raise WorkspaceError(
                f"{named} as it was after step {step} is not in the store any more."
            ) from error

    def _entries_at(self, paths: Iterable[str], step: int) -> Sequence[PastEntry]:
        found = (self._histories[path].entry(path, step) for path in paths)
        return [entry for entry in found if entry is not None]

    def _read_new_deltas(self) -> None:
        for position, step, delta in self._log.read_from(self._position):
            self._apply(step, delta)
            self._position = position

    def _apply(self, step: int, delta: Delta) -> None:
        for path in delta.removed:
            if path in self._histories:
                self._histories[path].record(step, None, by_user=delta.by_user)
        for path, node in delta.changed.items():
            history = self._histories.get(path)
            if history is None:
                history = self._histories[path] = _PathHistory()
                self._children.setdefault(path.rpartition("/")[0], []).append(path)
            history.record(step, node, by_user=delta.by_user)
