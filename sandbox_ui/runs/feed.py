"""Stream of one run: first the reduced state, then the events that follow.

The journal on disk is the only source, so live runs, past runs and second tabs are read the
same way.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from pydantic_core import to_json

from agent.errors import JournalError, RunError
from agent.events import Event, Unreadable, encode, without_tokens
from agent.history import search
from agent.history.export import steps_csv
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.state import RunPicture
from agent.titles import title_of
from agent.workspace.paths import RelPath
from agent.workspace.versions.watch import Watch

BATCH_BYTES = 256 * 1024
_NOT_JSON = re.compile(rb"NaN|Infinity")  # accepted by Python's json, rejected by browsers
Wake = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a follower: single-line JSON, and the cursor after it."""

    data: bytes
    cursor: int


class Feed:
    """Stream of one run. Thread-safe.

    Args:
        folder: The run's folder.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._path = folder.journal
        self._picture = RunPicture(run=folder.id)
        self._title = ""
        self._lock = threading.Lock()
        self._dirty: dict[Wake, set[str] | None] = {}
        self._watch: Watch | None = None
        self._watched = ""
        self._watching = threading.Lock()

    def picture(self) -> Message:
        """Return the run's state up to the end of its last complete step."""
        with self._lock:
            self._catch_up()
            picture, cursor = self._picture, self._picture.cursor
            going_on = picture.going_on
            if going_on is not None:
                cursor = going_on.begin
                picture = replace(picture, steps=picture.steps[:-1])
            return Message(to_json(self._clock() | {"picture": picture}), cursor)

    def state(self) -> dict[str, Any]:
        """Return the run's state for a program: small, and without timestamps."""
        with self._lock:
            self._catch_up()
            picture = self._picture
            last = picture.rounds[-1] if picture.rounds else None
            return {
                "alive": picture.alive,
                "state": picture.state,
                "detail": picture.detail,
                "model": picture.model,
                "steps": len(picture.steps),
                "totals": asdict(picture.totals),
                "reason": last.reason if last else "",
                "answer": last.answer if last else "",
            }

    def after(self, cursor: int) -> Message | None:
        """Return a bounded number of events after a cursor; None if there are none.

        Raises:
            JournalError: if the cursor is not valid for this journal.
        """
        if not self._path.exists():
            if cursor:
                raise JournalError(f"{cursor} is not a cursor of this journal.")
            return None
        lines: list[bytes] = []
        size, end = 0, cursor
        for end, line, events in journal.entries(self._path, cursor):  # noqa: B007
            lines += _sent(line, events)
            size += len(line)
            if size >= BATCH_BYTES:
                break
        return self._message(lines, end) if lines else None

    def step(self, number: int) -> bytes:
        """Return the events of one step as a JSON array.

        Raises:
            RunError: if the run has no such step.
        """
        with self._lock:
            self._catch_up()
            if not 1 <= number <= len(self._picture.steps):
                raise RunError(f"This run has no step {number}.")
            head = self._picture.steps[number - 1]
        kept = journal.entries(self._path, head.begin, head.end)
        return _array(sent for _, line, events in kept for sent in _sent(line, events))

    def events(self) -> Iterator[Event]:
        """Return a lazy iterator over all events of the run so far.

        Raises:
            RunError: if the run has not started.
        """
        if not self._path.exists():
            raise RunError("Nothing has happened in this run yet.")
        return (event for _, event in journal.read(self._path))

    def steps_csv(self) -> str:
        """Return the steps so far as CSV; see ``agent.history.export``."""
        with self._lock:
            self._catch_up()
            return steps_csv(self._picture)

    def find(self, words: str) -> list[search.Found]:
        """Search the run for words; return at most the first 1,000 matches.

        Raises:
            RunError: if the run has not started.
        """
        return list(islice(search.find(self.events(), words), search.MOST))

    def follow(self, wake: Wake) -> Wake:
        """Call ``wake``, from any thread, when new events or file changes may exist.

        Returns:
            A function that ends the subscription.
        """
        with self._lock:
            self._dirty[wake] = None
        self.watch()

        def unfollow() -> None:
            with self._lock:
                self._dirty.pop(wake, None)
            self.watch()

        return unfollow

    def watch(self) -> None:
        """Watch the run's current workspace while it has followers."""
        with self._watching:
            wanted = self._folder.sandbox if self._dirty else ""
            if wanted == self._watched:
                return
            if self._watch is not None:
                self._watch.close()
            self._watch, self._watched = None, wanted
            if wanted and self._folder.workspace.is_dir():
                self._watch = Watch(self._folder.sandbox_folder, self._changed)
        self.touch(None)

    @property
    def followed(self) -> bool:
        """Whether the run has followers."""
        with self._lock:
            return bool(self._dirty)

    def wake(self) -> None:
        """Notify the followers that the journal may have new events."""
        with self._lock:
            followers = list(self._dirty)
        for wake in followers:
            wake()

    def touch(self, folders: Iterable[str] | None) -> None:
        """Mark these folders of the workspace (as URLs), or all (None), as changed."""
        with self._lock:
            changed = None if folders is None else set(folders)
            for wake, known in self._dirty.items():
                everywhere = changed is None or known is None
                self._dirty[wake] = None if everywhere else {*(known or ()), *(changed or ())}
        self.wake()

    def dirty(self, wake: Wake) -> bytes | None:
        """Return the workspace changes since a follower's last call, if any.

        The first call always reports that everything must be listed again.
        """
        with self._lock:
            folders = self._dirty.get(wake)
            if wake in self._dirty:
                self._dirty[wake] = set()
        if folders is None:
            return b'{"all":true}'
        return to_json({"folders": sorted(folders)}) if folders else None

    def _changed(self, folders: frozenset[RelPath]) -> None:
        self.touch(folder.to_url() for folder in folders)

    def _catch_up(self, end: int | None = None) -> None:
        if self._path.exists():
            for cursor, event in journal.read(self._path, self._picture.cursor, end):
                self._picture.apply(event, cursor)

    def _message(self, lines: list[bytes], cursor: int) -> Message:
        with self._lock:
            self._catch_up(cursor)
            head = to_json(_head(self._picture) | self._clock())
        return Message(b'{"head":%b,"events":%b}' % (head, _array(lines)), cursor)

    def _clock(self) -> dict[str, object]:
        if not self._title and self._picture.rounds:
            self._title = title_of(self._picture.rounds[0].text)
        return {"now": time.time(), "title": self._folder.title or self._title}


def _sent(line: bytes, events: tuple[Event, ...]) -> Iterator[bytes]:
    """Yield a journal line as JSON that a browser can parse in any case."""
    if len(events) > 1 or isinstance(events[0], Unreadable) or _NOT_JSON.search(line):
        yield from (without_tokens(encode(event)) for event in events)
    else:
        yield without_tokens(line)


def _array(lines: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(lines) + b"]"


def _head(picture: RunPicture) -> dict[str, object]:
    """Return the frequently changing part of the state, without the steps."""
    return {
        "alive": picture.alive,
        "state": picture.state,
        "detail": picture.detail,
        "progress": picture.progress,
        "since": picture.since,
        "model": picture.model,
        "metered": picture.metered,
        "totals": picture.totals,
    }
