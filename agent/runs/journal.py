"""The journal: a run's append-only list of events on disk.

One event is one line of JSON; a cursor is the byte offset of the next line. A last line without a
newline is not part of the journal and is truncated when it is opened for writing. Nothing else is
ever removed.

The first event of each round states the format's version (``agent.events.FORMAT``). From version 2
on, a reader keeps lines that it cannot read, as ``UnreadableEvent``. Version 3 renames kinds,
fields and values (``agent.runs.compatibility``). A newer version may add some, but never change the
meaning of existing ones; its number grows if an older reader would show something wrong.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from agent.errors import JournalError
from agent.events import (
    Annotation,
    Event,
    ObservationEdited,
    RunEnded,
    StepEnded,
    UnreadableEvent,
    encode,
)
from agent.runs.compatibility import decode_line, rename_earlier
from agent.util.state_files import last_newline, open_record

FILE = "journal.jsonl"
_SYNCED = (StepEnded, ObservationEdited, RunEnded, Annotation)


def path_of(data: Path, run: str) -> Path:
    """Return the file of a run's journal in a data folder; it may not exist."""
    return data / "runs" / run / FILE


class Journal:
    """A journal, written by one process, followed by threads; its first event creates the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._subscribers: list[Callable[[], None]] = []
        self._file: int | None = None
        self.end = 0  # the cursor after the last event
        if path.exists():
            self._file = self._open_file()

    def _open_file(self) -> int:
        if self.path.exists():
            open_record(self.path).close()
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.end = _complete_end(file)
        os.ftruncate(file, self.end)
        os.lseek(file, self.end, os.SEEK_SET)
        return file

    def append(self, event: Event) -> int:
        """Write one event and return the cursor after it; the end of a step or round is synced.

        A full disk raises ``OSError`` and leaves the file unchanged.
        """
        line = encode(event) + b"\n"
        with self._lock:
            file = self._create(line) if self._file is None else self._write(self._file, line)
            if isinstance(event, _SYNCED):
                os.fdatasync(file)
            followers = list(self._subscribers)
        for wake in followers:
            wake()
        return self.end

    def _create(self, line: bytes) -> int:
        file = self._open_file()
        try:
            self._write(file, line)
        except OSError:
            os.close(file)
            self.path.unlink()
            raise
        self._file = file
        return file

    def _write(self, file: int, line: bytes) -> int:
        try:
            _write_all(file, line)
        except OSError:
            os.ftruncate(file, self.end)
            os.lseek(file, self.end, os.SEEK_SET)
            raise
        self.end += len(line)
        return file

    def subscribe(self, notify: Callable[[], None]) -> Callable[[], None]:
        """Call ``notify`` from the writing thread after each event; return the unsubscription."""
        with self._lock:
            self._subscribers.append(notify)

        def unsubscribe() -> None:
            with self._lock:
                if notify in self._subscribers:
                    self._subscribers.remove(notify)

        return unsubscribe

    def close(self) -> None:
        """Close the file; the journal can still be read."""
        with self._lock:
            if self._file is not None and self._file >= 0:
                os.close(self._file)
            self._file = -1


def read(path: Path, cursor: int = 0, end: int | None = None) -> Iterator[tuple[int, Event]]:
    """Yield the events from a cursor on, each with the cursor after its line.

    An unreadable line yields an ``UnreadableEvent``, possibly followed by a repaired event. What
    is no cursor of this journal raises ``JournalError``.
    """
    for position, _, events in read_entries(path, cursor, end):
        for event in events:
            yield position, event


def read_entries(
    path: Path, cursor: int = 0, end: int | None = None
) -> Iterator[tuple[int, bytes, tuple[Event, ...]]]:
    """Like ``read``, but yield lines: the cursor after each, its bytes, its events."""
    for position, line in read_lines(path, cursor, end):
        yield position, line, decode_line(line, first=not cursor)
        cursor = position


def read_lines(path: Path, cursor: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Like ``read``, but yield undecoded lines, with today's names, each with its end cursor."""
    if not cursor and not path.exists():
        return  # the run has not begun
    with open_record(path) as file:
        if cursor and not _is_boundary(file.fileno(), cursor):
            raise JournalError(f"{cursor} is not a cursor of this journal.")
        file.seek(cursor)
        for line in file:
            cursor += len(line)
            if not line.endswith(b"\n") or (end is not None and cursor > end):
                return
            yield cursor, rename_earlier(line[:-1])


def read_kinds(path: Path, kinds: Iterable[str], end: int | None = None) -> Iterator[Event]:
    """Like ``read``, but but leave most lines of other kinds undecoded."""
    texts = [f'"kind":"{kind}"'.encode() for kind in kinds]
    start = 0
    for cursor, line in read_lines(path, 0, end):
        if not start or any(text in line for text in texts):
            yield from decode_line(line, first=not start)
        start = cursor


def ends_with(path: Path, kind: type[Event]) -> bool:
    """Return whether ``last_event`` is of this kind; False if the journal is empty."""
    return isinstance(last_event(path), kind)


def last_event(path: Path) -> Event | None:
    """Return the last readable event but annotations; None without one, or if the end is torn."""
    with open_record(path) as file:
        descriptor = file.fileno()
        end = os.fstat(descriptor).st_size
        if end != _complete_end(descriptor):
            return None
        while end:
            start = last_newline(descriptor, end - 1) + 1
            line = rename_earlier(os.pread(descriptor, end - start - 1, start))
            event = decode_line(line, first=not start)[-1]
            if not isinstance(event, UnreadableEvent | Annotation):
                return event
            end = start
    return None


def _is_boundary(descriptor: int, cursor: int) -> bool:
    return cursor > 0 and os.pread(descriptor, 1, cursor - 1) == b"\n"


def _complete_end(descriptor: int) -> int:
    """Return the offset after the last complete line."""
    return last_newline(descriptor, os.fstat(descriptor).st_size) + 1


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
