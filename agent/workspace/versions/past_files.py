"""Earlier versions of files: found in the manifests, read from the blob store."""

import threading
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from agent.errors import JournalError, WorkspaceError
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Delta, Node

_KIND_LABELS = {"folder": "a folder", "link": "a link"}


@dataclass(slots=True)
class _PathHistory:
    """History of one path: its node from each step on; None while it does not exist.

    A change by the user before a step's end has that step's number and precedes the step's own
    change.
    """

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

    def last_changed_step(self) -> int | None:
        """Return the last step that changed the path."""
        changes = zip(reversed(self.steps), reversed(self.by_user), strict=True)
        return next((step for step, by_user in changes if not by_user), None)

    @property
    def _last(self) -> tuple[int, bool]:
        return self.steps[-1], self.by_user[-1]


class FileVersions:
    """File versions of one run. Thread-safe.

    Each line of the manifest file is read once, on the first query after it was written. The
    cost of a query depends on the number of changes to its path, not on the step.

    Args:
        manifests: The run's file of deltas; it may grow meanwhile.
        blobs: Store of the file contents.
    """

    def __init__(self, manifests: Path, blobs: BlobStore) -> None:
        self._log = ManifestLog(manifests)
        self._blobs = blobs
        self._histories: dict[str, _PathHistory] = {}
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

    def open(self, path: RelPath, step: int) -> BinaryIO:
        """Open the file ``path`` as it was after ``step``; the caller closes it.

        Raises:
            WorkspaceError: the path did not exist, was not a file, or its content was not kept.
        """
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

    def _read_new_deltas(self) -> None:
        for position, step, delta in self._log.read_from(self._position):
            self._apply(step, delta)
            self._position = position

    def _apply(self, step: int, delta: Delta) -> None:
        for path in delta.removed:
            if path in self._histories:
                self._histories[path].record(step, None, by_user=delta.by_user)
        for path, node in delta.changed.items():
            self._histories.setdefault(path, _PathHistory()).record(
                step, node, by_user=delta.by_user
            )
