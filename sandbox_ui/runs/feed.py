"""Stream of one run, read from its journal: reduced state, then events."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from pydantic_core import to_json

from agent.errors import JournalError, RunError
from agent.events import (
    Event,
    UnreadableEvent,
    WorkspaceChanged,
    encode,
    now,
    without_unshown,
)
from agent.history import search
from agent.history.export import steps_csv
from agent.loop.steering import Steering
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.metrics.earlier_usage import EarlierUsage
from agent.runs.metrics.tokens import TokenCounter
from agent.runs.state import RunState, StepSummary
from agent.sandbox.disk import volume
from agent.titles import title_for_task
from agent.workspace.paths import RelPath
from agent.workspace.versions.watch import WorkspaceWatcher

BATCH_BYTES = 256 * 1024
_NOT_JSON = re.compile(rb"NaN|Infinity")  # accepted by Python's json, rejected by browsers
WakeCallback = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a follower: single-line JSON, and the cursor after it."""

    data: bytes
    cursor: int


class Feed:
    """Stream of one run, ``polled`` if another process writes it. Thread-safe."""

    def __init__(
        self, folder: RunFolder, steering: Steering | None = None, *, polled: bool = False
    ) -> None:
        self.polled = polled
        self._steering = steering or Steering()
        self._folder = folder
        self._path = folder.journal
        self._state = RunState(run=folder.id)
        self._earlier_usage = EarlierUsage()
        self._tokens = TokenCounter()
        self._title = ""
        self._lock = threading.Lock()
        self._dirty_folders: dict[WakeCallback, set[str] | None] = {}
        self._watcher: WorkspaceWatcher | None = None
        self._watched_sandbox = ""
        self._watcher_lock = threading.Lock()

    def state_message(self) -> Message:
        """Return the run's state up to the end of its last complete step."""
        with self._lock:
            self._catch_up()
            state, cursor = self._state, self._state.cursor
            current_step = state.current_step
            if current_step is not None:
                cursor = current_step.begin
                pictures = state.pictures.before(current_step.step)
                state = replace(state, steps=state.steps[:-1], pictures=pictures)
            about = self._time_and_title() | {
                "parent": self._folder.parent,
                "imported": self._folder.imported,
            }
            return Message(to_json(about | {"state": state}), cursor)

    def status(self) -> dict[str, Any]:
        """Return the run's state for a program: small, and without timestamps."""
        with self._lock:
            self._catch_up()
            state = self._state
            last = state.rounds[-1] if state.rounds else None
            return {
                "running": state.is_running,
                "state": state.state,
                "detail": state.detail,
                "model": state.model,
                "steps": len(state.steps),
                "totals": asdict(state.totals),
                "imported": self._folder.imported,
                "parent": asdict(self._folder.parent) if self._folder.parent else None,
                "replay": asdict(state.replay) if state.replay else None,
                "reason": last.reason if last else "",
                "answer": last.answer if last else "",
            }

    def events_after(self, cursor: int) -> Message | None:
        """Return a bounded number of events after a cursor; None if there are none."""
        if not self._path.exists():
            if cursor:
                raise JournalError(f"{cursor} is not a cursor of this journal.")
            return None
        lines: list[bytes] = []
        size, end = 0, cursor
        for end, line, events in journal.read_entries(self._path, cursor):  # noqa: B007
            lines += _encode_entry(line, events)
            size += len(line)
            if size >= BATCH_BYTES:
                break
        return self._message(lines, end) if lines else None

    def step(self, number: int) -> StepSummary:
        """Return the summary of one step."""
        with self._lock:
            self._catch_up()
            if not 1 <= number <= len(self._state.steps):
                raise RunError(f"This run has no step {number}.")
            return self._state.steps[number - 1]

    def step_events(self, number: int) -> bytes:
        """Return the events of one step as a JSON array."""
        step = self.step(number)
        entries = journal.read_entries(self._path, step.begin, step.end)
        return _json_array(
            event for _, line, events in entries for event in _encode_entry(line, events)
        )

    def events(self) -> Iterator[Event]:
        """Return a lazy iterator over all events of the run so far, which has started."""
        if not self._path.exists():
            raise RunError("This run has not started yet.")
        return (event for _, event in journal.read(self._path))

    def steps_csv(self) -> str:
        """Return the steps so far as CSV; see ``agent.history.export``."""
        with self._lock:
            self._catch_up()
            return steps_csv(self._state)

    def tokens(self, after: int = 0) -> dict[str, Any]:
        """Return where the run's tokens went: its steps after a number, and the totals."""
        with self._lock:
            self._catch_up()
            state = self._state
            steps, totals = self._tokens.count(state, after)
        return {
            "model": state.model,
            "mode": state.mode,
            "metered": state.metered,
            "running": state.is_running,
            "inputs": state.inputs,
            "context_limit": state.limits.get("conversation_tokens"),
            "cost": state.current_totals.cost,
            "totals": totals,
            "steps": steps,
        }

    def find(self, words: str) -> list[search.SearchMatch]:
        """Search the run for words; return at most the first 1,000 matches."""
        return list(islice(search.find(self.events(), words), search.MAX_MATCHES))

    def steering_after(self, version: int) -> tuple[int, bytes] | None:
        """Return the version and the state of the steering, if it has changed since a version."""
        state = self._steering.state
        return None if state.version == version else (state.version, to_json(state))

    def follow(self, wake: WakeCallback) -> WakeCallback:
        """Call ``wake``, from any thread, at events or file changes; return what ends that."""
        with self._lock:
            self._dirty_folders[wake] = None
        self.update_watcher()

        def unfollow() -> None:
            with self._lock:
                self._dirty_folders.pop(wake, None)
            self.update_watcher()

        return unfollow

    def update_watcher(self) -> None:
        """Watch the run's current workspace while it has followers."""
        with self._watcher_lock:
            sandbox = self._folder.sandbox if self._dirty_folders else ""
            if sandbox == self._watched_sandbox and self._sees_changes == bool(sandbox):
                return
            if self._watcher is not None:
                self._watcher.close()
            self._watcher, self._watched_sandbox = None, sandbox
            if sandbox and self._folder.workspace.is_dir():
                self._watcher = WorkspaceWatcher(
                    self._folder.sandbox_folder, self._on_files_changed
                )
        self.mark_dirty(None)

    @property
    def _sees_changes(self) -> bool:
        """Whether the workspace is watched; if not, its files are listed again after each step."""
        return self._watcher is not None and not self._watcher.degraded_reason

    def detach_disk(self) -> None:
        """Detach the disk of the run's workspace, unless a follower or an open file uses it."""
        with self._watcher_lock:
            if not self.has_followers:
                volume.detach(self._folder.sandbox_folder, idle=True)

    @property
    def has_followers(self) -> bool:
        """Whether the run has followers."""
        with self._lock:
            return bool(self._dirty_folders)

    def notify(self) -> None:
        """Notify the followers that the journal may have new events."""
        with self._lock:
            followers = list(self._dirty_folders)
        for wake in followers:
            wake()

    def mark_dirty(self, folders: Iterable[str] | None) -> None:
        """Mark these folders of the workspace (as URLs), or all (None), as changed."""
        with self._lock:
            changed = None if folders is None else set(folders)
            for wake, folders_before in self._dirty_folders.items():
                everywhere = changed is None or folders_before is None
                self._dirty_folders[wake] = (
                    None if everywhere else {*(folders_before or ()), *(changed or ())}
                )
        self.notify()

    def take_dirty(self, wake: WakeCallback) -> bytes | None:
        """Return the changes since a follower's last call; at first: list everything."""
        with self._lock:
            folders = self._dirty_folders.get(wake)
            if wake in self._dirty_folders:
                self._dirty_folders[wake] = set()
        if folders is None:
            return b'{"all":true}'
        return to_json({"folders": sorted(folders)}) if folders else None

    def _on_files_changed(self, folders: frozenset[RelPath]) -> None:
        self.mark_dirty(folder.to_url() for folder in folders)

    def _catch_up(self, end: int | None = None) -> None:
        if self._path.exists():
            for cursor, event in journal.read(self._path, self._state.cursor, end):
                self._state.apply(self._earlier_usage.complete(event), cursor)
                if isinstance(event, WorkspaceChanged) and not self._sees_changes:
                    self._dirty_folders = dict.fromkeys(self._dirty_folders)

    def _message(self, lines: list[bytes], cursor: int) -> Message:
        with self._lock:
            self._catch_up(cursor)
            status = to_json(_current_status(self._state) | self._time_and_title())
        return Message(b'{"status":%b,"events":%b}' % (status, _json_array(lines)), cursor)

    def _time_and_title(self) -> dict[str, object]:
        if not self._title and self._state.rounds:
            self._title = title_for_task(self._state.rounds[0].text)
        return {"now": now(), "title": self._folder.title or self._title}


def _encode_entry(line: bytes, events: tuple[Event, ...]) -> Iterator[bytes]:
    """Yield a journal line as JSON that a browser can parse in any case."""
    if len(events) > 1 or isinstance(events[0], UnreadableEvent) or _NOT_JSON.search(line):
        yield from (without_unshown(encode(event)) for event in events)
    else:
        yield without_unshown(line)


def _json_array(lines: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(lines) + b"]"


def _current_status(state: RunState) -> dict[str, object]:
    """Return the frequently changing part of the state, without the steps."""
    return {
        "running": state.is_running,
        "state": state.state,
        "detail": state.detail,
        "progress": state.progress,
        "state_since": state.state_since,
        "model": state.model,
        "metered": state.metered,
        "totals": state.totals,
        "replay": state.replay,
    }
