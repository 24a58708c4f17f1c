"""The driver's side of a workspace: a copy of the node's that is kept equal to it."""

import logging
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from agent.cluster.parts import Part, batches, node_parts
from agent.cluster.receiver import FileReceiver
from agent.cluster.sandboxes.mirror import create_tracker, is_missing, parents_of
from agent.errors import SandboxError, StudioError, WorkspaceError
from agent.util.text import one_line
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.manifest import Node, NodeKind

_MAX_NAMED = 10
_LEFT_OUT = (
    "These files are on the sandbox's node only, not among the run's files, because they are too "
    "large or cannot be copied: {names}. They may be deleted when the sandbox is started again."
)
_REFUSED = (
    "The user has changed these files, but the sandbox could not take them: {names}. Its disk may "
    "be full."
)
_LATE = (
    "The sandbox's files have not arrived in time. Send a message to continue with those that have."
)
_CHECK_SECONDS = 1.0
_log = logging.getLogger(__name__)


class MirrorCalls(Protocol):
    """Calls to a ``WorkspaceMirror``: ``agent.cluster.sandboxes.placed.PlacedSandbox``."""

    def call(self, method: str, *args: Any) -> Any:
        """Call a method and return its result. Raises ``StudioError``."""

    def stream(self, method: str, *args: Any) -> Iterator[Any]:
        """Call a method and yield its items. Raises ``StudioError``."""


class WorkspaceCopy:
    """Receives changes of a sandbox's workspace, up to a limit, and sends those of the user."""

    def __init__(self, workspace: Workspace, mirror: MirrorCalls, limit: int) -> None:
        self._workspace = workspace
        self._mirror = mirror
        self._receiver = FileReceiver(workspace, limit)
        self._tracker = create_tracker(workspace.root)
        self._changed = threading.Condition()
        self._version = 0
        self._failure: Exception | None = None
        self._overwritten: dict[str, float] = {}
        self._left_out: list[str] = []
        self._refused: list[str] = []
        self._unsent: set[str] = set()
        self._first = True
        self._put_lock = threading.Lock()

    def begin(self) -> Iterator[int]:
        """Make the node's workspace equal to this one; yield before each part that is sent."""
        self._tracker.take(final=True)
        nodes = self._tracker.manifest.nodes
        wanted: list[str] = self._mirror.call("begin", dict(nodes))
        for number, batch in enumerate(batches(self._readable(wanted, nodes))):
            yield number
            self._mirror.call("put", batch)
        thread = threading.Thread(target=self._receive, name="workspace copy", daemon=True)
        thread.start()

    def files_changed(self, paths: Iterable[str]) -> None:
        """Send what the user has changed; what cannot be sent now is sent before a command."""
        with self._put_lock:
            self._unsent.update(paths)
        try:
            self.send_changes()
        except StudioError as error:
            _log.warning("A user's changes have not reached the sandbox: %s", error)

    def send_changes(self) -> None:
        """Send the user's changes that have not reached the sandbox."""
        with self._put_lock:
            if self._first:  # what has changed since ``begin``
                delta = self._tracker.take()
                self._unsent.update(delta.changed, delta.removed)
                self._first = False
            for path in sorted(self._unsent):
                try:
                    self._send(RelPath.trusted(path))
                except WorkspaceError as error:
                    _log.warning("%.200r cannot be written to a sandbox: %s", path, error)
                    self._refused.append(path)
                self._unsent.discard(path)

    def wait_for(self, version: int, give_up: Callable[[], bool] = lambda: False) -> None:
        """Wait until a version of the node's workspace is here, or ``give_up`` returns true."""
        with self._changed:
            while self._version < version:
                if isinstance(self._failure, SandboxError):
                    raise self._failure
                if self._failure is not None:
                    raise SandboxError(f"The sandbox's files cannot be stored: {self._failure}")
                if not self._changed.wait(_CHECK_SECONDS) and give_up():
                    raise SandboxError(_LATE)

    def take_left_out(self) -> str:
        """Return sentences on the files that were not copied since the last call."""
        with self._changed:
            left_out, self._left_out = self._left_out, []
            refused, self._refused = self._refused, []
        texts = (_named(_LEFT_OUT, left_out), _named(_REFUSED, refused))
        return " ".join(filter(None, texts))

    def _receive(self) -> None:
        """Receive changes until the sandbox is closed or lost."""
        failure: Exception = SandboxError("The sandbox was closed.")
        try:
            for parts in self._mirror.stream("changes"):
                with self._changed:
                    for part in parts:
                        self._apply(part)
        except (StudioError, OSError) as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - commands wait for this thread
            _log.exception("The changes of a sandbox's files cannot be received")
            failure = error
        with self._changed:
            self._receiver.abort()
            self._failure = failure
            self._changed.notify_all()

    def _apply(self, part: Part) -> None:
        if part.kind == "synced":
            self._version = part.number
            self._changed.notify_all()
        elif self._is_overwritten(part):
            self._receiver.abort()  # the beginning of the file may have been received
        elif part.kind == "left_out":
            self._left_out.append(part.path)
            self._change(Part("removed", part.path))  # an earlier content would be wrong
        elif part.kind in ("file", "folder", "link", "removed"):
            self._change(part)

    def _is_overwritten(self, part: Part) -> bool:
        """Whether the user has changed a path, or a folder that it is in, since it was read."""
        changed = (self._overwritten.get(each, 0) for each in (part.path, *parents_of(part.path)))
        return max(changed) > part.number

    def _change(self, part: Part) -> None:
        try:
            self._receiver.receive(part)
        except WorkspaceError as error:
            _log.warning("%.200r of a sandbox is left out: %s", part.path, error)
            self._left_out.append(part.path)

    def _send(self, path: RelPath) -> None:
        """Send a path as it is now, with all below it, or that it is gone."""
        with self._changed:
            self._overwritten[path] = math.inf
        sent: float = 0
        try:
            sent = self._put(self._parts(path))
        finally:
            with self._changed:
                self._overwritten[path] = sent

    def _parts(self, path: RelPath) -> Iterator[Part]:
        """Yield a path with all below it, or that it is gone. Raises ``WorkspaceError``."""
        pending = [path]
        while pending:
            each = pending.pop()
            try:
                entry = self._workspace.stat(each)
            except WorkspaceError as error:
                if not is_missing(error):
                    raise
                yield Part("removed", each)
                continue
            target = self._link_target(each) if entry.kind == "link" else ""
            kind: NodeKind = "device" if entry.kind == "other" else entry.kind
            node = Node(kind, entry.size, entry.mode, target=target)
            yield from node_parts(self._workspace, each, node)
            if kind == "folder":
                pending += [each.child(child.name) for child in self._workspace.list(each)]

    def _readable(self, wanted: Iterable[str], nodes: Mapping[str, Node]) -> Iterator[Part]:
        """Yield paths, except those that the user is just changing: these are sent later."""
        for path in wanted:
            try:
                yield from node_parts(self._workspace, path, nodes[path])
            except WorkspaceError:
                self._unsent.add(path)

    def _link_target(self, path: RelPath) -> str:
        with self._workspace.open_root(path) as root, paths.folder_fd(root, path.parent) as folder:
            return os.readlink(path.name, dir_fd=folder)

    def _put(self, parts: Iterator[Part]) -> int:
        """Send parts and wait until they are written; return the number of sets so far."""
        count = 0
        for batch in batches(parts):
            count = self._mirror.call("put", batch)
        return count


def _named(text: str, found: list[str]) -> str:
    names = [one_line(RelPath.trusted(path).display) for path in found[:_MAX_NAMED]]
    more = ["…"] if len(found) > _MAX_NAMED else []
    return text.format(names=", ".join(names + more)) if names else ""
