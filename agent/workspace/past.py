"""Files as they were after a step: found in the manifests, read from the store."""

import threading
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from agent.errors import JournalError, WorkspaceError
from agent.workspace.blobs import BlobStore
from agent.workspace.manifest import Delta, Node
from agent.workspace.paths import RelPath
from agent.workspace.versions import Versions

_KINDS = {"folder": "a folder", "link": "a link"}


@dataclass(slots=True)
class _Life:
    """What one path was, from which step on; None from where it was gone."""

    steps: list[int] = field(default_factory=list)
    nodes: list[Node | None] = field(default_factory=list)

    def become(self, step: int, node: Node | None) -> None:
        if self.steps and self.steps[-1] == step:
            self.nodes[-1] = node
        else:
            self.steps.append(step)
            self.nodes.append(node)

    def at(self, step: int) -> Node | None:
        position = bisect_right(self.steps, step)
        return self.nodes[position - 1] if position else None


class Past:
    """The versions of one run's files. Safe to use from many threads.

    Each line of the manifests is read once, when something behind it is first asked for; a
    look then costs as much as one path changed, whichever step it is about.

    Args:
        manifests: The run's file of deltas; it may grow meanwhile.
        blobs: Where the contents are kept.
    """

    def __init__(self, manifests: Path, blobs: BlobStore) -> None:
        self._versions = Versions(manifests)
        self._blobs = blobs
        self._lives: dict[str, _Life] = {}
        self._position = 0
        self._lock = threading.Lock()

    def node(self, path: RelPath, step: int) -> Node | None:
        """What ``path`` named after ``step``; None where that was nothing."""
        with self._lock:
            self._catch_up()
            life = self._lives.get(path)
            return life.at(step) if life else None

    def changed_in(self, path: RelPath) -> int | None:
        """The last step that changed ``path``; None where no step is known to have."""
        with self._lock:
            self._catch_up()
            life = self._lives.get(path)
            return life.steps[-1] if life else None

    def open(self, path: RelPath, step: int) -> BinaryIO:
        """The file ``path`` as it was after ``step``, to be closed by the caller.

        Raises:
            WorkspaceError: it was not there, was no file, or was not kept; says which.
        """
        node = self.node(path, step)
        if node is None:
            raise WorkspaceError(f"“{path.shown}” was not there after step {step}.")
        return self.content(path, step, node)

    def content(self, path: RelPath, step: int, node: Node) -> BinaryIO:
        """As ``open``, for what ``node`` gave."""
        named = f"“{path.shown}”"
        if node.kind != "file":
            what = _KINDS.get(node.kind, "no regular file")
            raise WorkspaceError(f"{named} was {what} after step {step}.")
        if not node.kept or node.hash is None:
            why = node.why or "its content was not read"
            raise WorkspaceError(f"{named} as it was after step {step} was not kept: {why}.")
        try:
            return self._blobs.open(node.hash)
        except JournalError as error:
            raise WorkspaceError(
                f"{named} as it was after step {step} is not in the store any more."
            ) from error

    def _catch_up(self) -> None:
        for position, step, delta in self._versions.after(self._position):
            self._take(step, delta)
            self._position = position

    def _take(self, step: int, delta: Delta) -> None:
        for path in delta.removed:
            if path in self._lives:
                self._lives[path].become(step, None)
        for path, node in delta.changed.items():
            self._lives.setdefault(path, _Life()).become(step, node)
