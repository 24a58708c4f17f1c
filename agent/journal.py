"""A run's append-only list of events on disk: append, read from a cursor, follow.

One event is one line of JSON. A cursor is the byte offset of the line that follows, so that
reading on costs nothing of what came before. A line without its end, or garbage after the
last whole event (the process was killed), is not part of the journal and is cut off when the
journal is opened for writing again.
"""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from agent.errors import JournalError
from agent.events import Event, RunEnded, StepEnded, decode, encode

_BLOCK = 64 * 1024
_SYNCED = (StepEnded, RunEnded)


class Journal:
    """The writing end. One process writes a journal, many threads may follow it.

    Args:
        path: The file; mended at its end where torn, and made with the first event: before that
            the run has not begun.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._followers: list[Callable[[], None]] = []
        self._file: int | None = None
        self._end = 0
        if path.exists():
            self._file = self._opened()

    def _opened(self) -> int:
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._end = _whole_end(file)
        os.ftruncate(file, self._end)
        os.lseek(file, self._end, os.SEEK_SET)
        return file

    @property
    def end(self) -> int:
        """The cursor behind the last event."""
        return self._end

    def append(self, event: Event) -> int:
        """Write one event and wake the followers; on disk for sure at the end of a step.

        Returns:
            The cursor behind the event.

        Raises:
            OSError: it cannot be written (the disk is full); nothing of it is left.
        """
        line = encode(event) + b"\n"
        with self._lock:
            file = self._begin(line) if self._file is None else self._write(self._file, line)
            if isinstance(event, _SYNCED):
                os.fdatasync(file)
            followers = list(self._followers)
        for wake in followers:
            wake()
        return self._end

    def _begin(self, line: bytes) -> int:
        file = self._opened()
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
            os.ftruncate(file, self._end)
            os.lseek(file, self._end, os.SEEK_SET)
            raise
        self._end += len(line)
        return file

    def follow(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have ``wake`` called, from the writing thread, after each event.

        Returns:
            A function that ends it.
        """
        with self._lock:
            self._followers.append(wake)

        def unfollow() -> None:
            with self._lock:
                if wake in self._followers:
                    self._followers.remove(wake)

        return unfollow

    def close(self) -> None:
        """Close the file; the journal can still be read."""
        with self._lock:
            if self._file is not None and self._file >= 0:
                os.close(self._file)
            self._file = -1


def read(path: Path, cursor: int = 0, end: int | None = None) -> Iterator[tuple[int, Event]]:
    """The whole events from a cursor on, each with the cursor behind it.

    Args:
        path: The journal's file.
        cursor: Where to begin; 0 or what was given before.
        end: Where to stop; the end of the last whole event if None.

    Raises:
        JournalError: the cursor is not one of this journal's.
    """
    for position, line in lines(path, cursor, end):
        try:
            yield position, decode(line)
        except JournalError:
            return


def lines(path: Path, cursor: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """As ``read``, with the events as they are written, undecoded."""
    if not cursor and not path.exists():
        return  # the run has not begun
    with path.open("rb") as file:
        if cursor and not _is_boundary(file.fileno(), cursor):
            raise JournalError(f"{cursor} is not a cursor of this journal.")
        file.seek(cursor)
        for line in file:
            cursor += len(line)
            if not line.endswith(b"\n") or (end is not None and cursor > end):
                return
            yield cursor, line[:-1]


def ends_in(path: Path, kind: type[Event]) -> bool:
    """Whether a journal's last line is whole and an event of this kind; an empty one's is not."""
    return isinstance(last(path), kind)


def last(path: Path) -> Event | None:
    """The event in a journal's last line; None where that is not whole, or none is there."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = _last_newline(file.fileno(), max(0, size - 1)) + 1
        line = os.pread(file.fileno(), size - start, start)
    try:
        return decode(line[:-1]) if line.endswith(b"\n") else None
    except JournalError:
        return None


def _is_boundary(descriptor: int, cursor: int) -> bool:
    return cursor > 0 and os.pread(descriptor, 1, cursor - 1) == b"\n"


def _whole_end(descriptor: int) -> int:
    """The offset behind the last line that is an event."""
    end = os.fstat(descriptor).st_size
    while end:
        end = _last_newline(descriptor, end) + 1
        if not end:
            return 0
        start = _last_newline(descriptor, end - 1) + 1
        try:
            decode(os.pread(descriptor, end - start - 1, start))
        except JournalError:
            end = start
        else:
            return end
    return 0


def _last_newline(descriptor: int, end: int) -> int:
    """The offset of the last line end before ``end``, or -1."""
    while end:
        start = max(0, end - _BLOCK)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found
        end = start
    return -1


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
