"""What a run's followers are told: a folded picture first, then the journal from there on.

The journal on disk is the only source, so that a run that is alive, one of last week and a
second tab are all read the same way.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from pydantic_core import to_json

from agent import finding, journal
from agent.errors import JournalError, RunError
from agent.events import Event, without_tokens
from agent.export import steps_csv
from agent.fold import RunPicture
from agent.folder import RunFolder
from agent.workspace.paths import RelPath
from agent.workspace.watch import Watch

BATCH_BYTES = 256 * 1024
Wake = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a follower: JSON without a line end, and the cursor behind it."""

    data: bytes
    cursor: int


class Feed:
    """One run as it is followed. Safe to use from many threads.

    Args:
        folder: The run's folder.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._path = folder.journal
        self._picture = RunPicture(run=folder.id)
        self._lock = threading.Lock()
        self._dirty: dict[Wake, set[str] | None] = {}
        self._watch: Watch | None = None
        self._watched = ""
        self._watching = threading.Lock()

    def picture(self) -> Message:
        """The run so far, up to the end of its last whole step."""
        with self._lock:
            self._catch_up()
            picture, cursor = self._picture, self._picture.cursor
            going_on = picture.going_on
            if going_on is not None:
                cursor = going_on.begin
                picture = replace(picture, steps=picture.steps[:-1])
            return Message(to_json(self._clock() | {"picture": picture}), cursor)

    def state(self) -> dict[str, Any]:
        """How the run stands, for a program: small, and without a clock in it."""
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
        """The events behind a cursor, a bounded number of them; None where there are none.

        Raises:
            JournalError: the cursor is not one of this journal's.
        """
        if not self._path.exists():
            if cursor:
                raise JournalError(f"{cursor} is not a cursor of this journal.")
            return None
        lines, size, end = [], 0, cursor
        for end, line in journal.lines(self._path, cursor):  # noqa: B007
            lines.append(without_tokens(line))
            size += len(line)
            if size >= BATCH_BYTES:
                break
        return self._message(lines, end) if lines else None

    def step(self, number: int) -> bytes:
        """The events of one step, as a JSON array.

        Raises:
            RunError: the run has no such step.
        """
        with self._lock:
            self._catch_up()
            if not 1 <= number <= len(self._picture.steps):
                raise RunError(f"This run has no step {number}.")
            head = self._picture.steps[number - 1]
        kept = journal.lines(self._path, head.begin, head.end)
        lines = (without_tokens(line) for _, line in kept)
        return _array(lines)

    def events(self) -> Iterator[Event]:
        """The whole run as it is now, read as it is asked for.

        Raises:
            RunError: it has not begun.
        """
        if not self._path.exists():
            raise RunError("Nothing has happened in this run yet.")
        return (event for _, event in journal.read(self._path))

    def steps_csv(self) -> str:
        """The steps so far as a table; see ``agent.export``."""
        with self._lock:
            self._catch_up()
            return steps_csv(self._picture)

    def find(self, words: str) -> list[finding.Found]:
        """Where words stand in the run; at most the first 1,000 places.

        Raises:
            RunError: the run has not begun.
        """
        return list(islice(finding.find(self.events(), words), finding.MOST))

    def follow(self, wake: Wake) -> Wake:
        """Have ``wake`` called, from any thread, when there may be news.

        Returns:
            A function that ends it.
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
        """Watch the workspace that the run has now, as long as anyone follows."""
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
        """Whether anyone follows."""
        with self._lock:
            return bool(self._dirty)

    def wake(self) -> None:
        """There may be news in the journal."""
        with self._lock:
            followers = list(self._dirty)
        for wake in followers:
            wake()

    def touch(self, folders: Iterable[str] | None) -> None:
        """The workspace has changed in these folders (as URLs), or anywhere (None)."""
        with self._lock:
            changed = None if folders is None else set(folders)
            for wake, known in self._dirty.items():
                everywhere = changed is None or known is None
                self._dirty[wake] = None if everywhere else {*(known or ()), *(changed or ())}
        self.wake()

    def dirty(self, wake: Wake) -> bytes | None:
        """The workspace's news for one follower since it last asked; None where there are none.

        The first answer is always that everything is to be listed again.
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
        return {"now": time.time(), "title": self._folder.title}


def _array(lines: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(lines) + b"]"


def _head(picture: RunPicture) -> dict[str, object]:
    """What changes all the time, without the steps."""
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
