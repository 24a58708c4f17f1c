"""A run's session: its sandbox, the watcher of its files, and their versions."""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent.errors import SandboxError, WorkspaceError
from agent.events import Event, FileChange, Notice, ToolEnded, WorkspaceChanged
from agent.runs.folder import RunFolder
from agent.runs.user_changes import UserChange
from agent.sandbox.base import Sandbox
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Delta, ManifestLog
from agent.workspace.versions.snapshots import SnapshotTracker
from agent.workspace.versions.watch import WorkspaceWatcher

if TYPE_CHECKING:
    from agent.capabilities.parsed import CallReader

_WORKSPACE = "/workspace/"
_MAX_SCRIPT_BYTES = 64 * 1024
_log = logging.getLogger(__name__)


class SandboxSession:
    """The sandbox session of a run."""

    def __init__(self, sandbox: Sandbox, folder: RunFolder, blobs: BlobStore) -> None:
        self.sandbox = sandbox
        self._blobs = blobs
        self._workspace = folder.workspace
        self._versions = ManifestLog(folder.manifests)
        self._watch = WorkspaceWatcher(folder.sandbox_folder)
        self._snapshots = self._create_snapshots()
        self._calls: CallReader | None = None
        self._lock = threading.Lock()
        self._storing: Future[Sequence[Event]] | None = None
        self._next_step = 0
        """The step to which changes made now belong."""

    def begin_round(self, step: int, *, ended: bool, changed: bool) -> None:
        """Record the workspace before the first step of a round.

        Since the end of the step before, changes are the user's. A process may have died before the
        changes of that step, if it ``changed`` files, were recorded.
        """
        recorded = not changed or self._snapshots.manifest.step == step
        by_user = ended and recorded and step > 0
        with suppress(WorkspaceError), self._lock, self._blobs.protected():
            self._append(step + by_user, replace(self._snapshots.take(), by_user=by_user))
        self._next_step = step + 1

    def record_user_changes(self, changes: Iterable[UserChange]) -> None:
        """Record the user's file changes as the user's and not the next step's."""
        self.wait_for_version()
        done = list(changes)
        removed = [item.path for item in done if item.kind == "removed"]
        moved = [(item.path, item.new_path) for item in done if item.new_path is not None]
        written = [item.path for item in done if item.new_path is None and item.kind != "removed"]
        try:
            with self._lock, self._blobs.protected():
                delta = self._snapshots.record_user_changes(
                    written=written, moved=moved, removed=removed
                )
                self._append(self._next_step, replace(delta, by_user=True))
        except (WorkspaceError, OSError) as error:
            _log.warning("A user's file changes may be attributed to a step: %s", error)
        self.sandbox.files_changed([*removed, *(path for pair in moved for path in pair), *written])

    def record_version(self, step: int, *, final: bool, wait: bool) -> Iterator[Event]:
        """Record a version of the workspace; yield a notice if that fails.

        ``final`` sweeps all files. Without ``wait``, many new files are stored meanwhile.
        """
        yield from self.end_version()
        try:
            with self._lock, ExitStack() as protection:
                protection.enter_context(self._blobs.protected())
                delta = self._snapshots.list_changes(final=final)
                self._next_step = step + 1
                change = workspace_changed(step, delta)
                if wait or self._snapshots.is_complete:
                    self._append(step, self._snapshots.complete(delta))
                else:
                    self._complete_meanwhile(step, delta, protection.pop_all())
        except WorkspaceError as error:
            yield _unknown_changes(step, error)
            return
        if change.total:
            yield change

    def end_version(self) -> Iterator[Event]:
        """Wait until the files of the last version are stored, as before the next command."""
        if self._storing is not None:
            try:
                yield from self._storing.result()
            finally:
                self._storing = None

    def wait_for_version(self) -> None:
        """Wait until the files of the last version are stored, or cannot be; for any thread."""
        if (storing := self._storing) is not None:
            wait_for([storing])

    def _complete_meanwhile(self, step: int, delta: Delta, protection: ExitStack) -> None:
        def complete() -> Sequence[Event]:
            with self._lock, protection:
                try:
                    self._append(step, self._snapshots.complete(delta))
                except WorkspaceError as error:
                    return [_unknown_changes(step, error)]
                return []

        thread = ThreadPoolExecutor(1, "snapshot")
        self._storing = thread.submit(complete)
        thread.shutdown(wait=False)

    def add_usage(self, event: ToolEnded, arguments: Mapping[str, Any]) -> ToolEnded:
        """Return the end of a call with what the call used of the computer."""
        # Imported with the first call, so that a run starts without waiting for them.
        from agent.capabilities.observed import call_usage
        from agent.capabilities.parsed import CallReader

        self._calls = self._calls or CallReader(self.read_script)
        used = call_usage(
            self._calls,
            event.name,
            arguments,
            ok=event.ok,
            requests=event.requests,
            packages=event.packages,
            cpu_seconds=event.cpu_seconds,
            looks=len(event.pictures),
        )
        return replace(event, used=used)

    def read_script(self, path: str) -> str | None:
        """Return the beginning of a workspace file by its path in the sandbox; None elsewhere."""
        if not path.startswith(_WORKSPACE):
            return None
        try:
            relative = RelPath(path.removeprefix(_WORKSPACE))
            with Workspace(self._workspace).open_read(relative) as file:
                return file.read(_MAX_SCRIPT_BYTES + 1).decode("utf-8", "replace")
        except (WorkspaceError, OSError):
            return None

    def _append(self, step: int, delta: Delta) -> None:
        if not delta:
            return
        try:
            self._versions.append(step, delta)
        except OSError:
            self._snapshots = self._create_snapshots()  # its next one finds these changes again
            raise

    def _create_snapshots(self) -> SnapshotTracker:
        """Return snapshots that continue from the last recorded version."""
        known = self._versions.manifest()
        return SnapshotTracker(self._workspace, self._blobs, self._watch, manifest=known)

    def end_processes(self) -> None:
        """End the processes that a round left running; a lost sandbox has none."""
        with suppress(SandboxError):
            self.sandbox.end_processes()

    def stop(self) -> None:
        """Stop the sandbox so that it can be restarted; see ``Sandbox.stop``."""
        self._stop_recording()
        self.sandbox.stop()

    def close(self) -> None:
        """End the sandbox; the workspace is kept."""
        self._stop_recording()
        self.sandbox.close()

    def _stop_recording(self) -> None:
        self.wait_for_version()
        self._watch.close()


_MAX_LISTED_CHANGES = 200


def workspace_changed(step: int, delta: Delta) -> WorkspaceChanged:
    """Return a step's workspace changes as an event, removals last."""
    files = [path for path, node in delta.changed.items() if node.kind != "folder"]
    changes = [
        FileChange(
            RelPath.trusted(path).to_url(),
            "added" if path in delta.added else "changed",
            delta.changed[path].size,
            delta.changed[path].content_hash,
        )
        for path in files[:_MAX_LISTED_CHANGES]
    ]
    changes += [
        FileChange(RelPath.trusted(path).to_url(), "removed")
        for path in delta.removed[: _MAX_LISTED_CHANGES - len(changes)]
    ]
    return WorkspaceChanged(
        step=step, changes=tuple(changes), total=len(files) + len(delta.removed)
    )


def _unknown_changes(step: int, error: WorkspaceError) -> Notice:
    return Notice(step=step, text=f"The file changes of this step are unknown: {error}")
