"""Append-only lists in JSON Lines files; lines that are torn or unreadable are skipped."""

import errno
import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from agent.util.state_files import last_newline

_K = TypeVar("_K")
_T = TypeVar("_T")


@cache
def _adapter(entry_class: type) -> TypeAdapter[Any]:
    return TypeAdapter(entry_class)


class EntryList(Generic[_K, _T]):
    """Entries as lines of JSON; the last with a key counts. Thread-safe; one process writes."""

    def __init__(
        self, path: Path, entry_class: type[_T], key: Callable[[_T], _K], max_bytes: int
    ) -> None:
        self._path = path
        self._entry_class: type = entry_class
        self._key = key
        self._max_bytes = max_bytes
        self._known: dict[_K, _T] | None = None
        self._position = 0
        self._lock = threading.Lock()

    def entries(self) -> dict[_K, _T]:
        """Return the entries by key."""
        with self._lock:
            return dict(self._read())

    def get(self, key: _K) -> _T | None:
        """Return the last entry with a key, or None."""
        with self._lock:
            return self._read().get(key)

    def add(self, entry: _T) -> None:
        """Add an entry, and wait until the disk has it. Raises ``OSError``."""
        with self._lock:
            known = self._read()
            self._append(entry)
            known[self._key(entry)] = entry

    def read_further(self) -> list[_T]:
        """Read and return the entries that another process has added since."""
        with self._lock:
            known, further = self._read(), self._read_on()
            known.update((self._key(each), each) for each in further)
        return further

    def _read(self) -> dict[_K, _T]:
        if self._known is None:
            self._known = {self._key(each): each for each in self._read_on()}
        return self._known

    def _read_on(self) -> list[_T]:
        """Return the entries added since the last read, up to the last complete line."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                content = file.read(max(0, self._max_bytes - self._position))
        except FileNotFoundError:
            self._position = 0
            return []
        entries = list[_T]()
        *lines, torn = content.split(b"\n")
        for line in lines:
            with suppress(ValidationError):
                entries.append(_adapter(self._entry_class).validate_json(line))
        self._position += len(content) - len(torn)
        return entries

    def _append(self, entry: Any) -> None:
        line = json.dumps(asdict(entry)).encode() + b"\n"
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _complete_last_line(file)
            written = os.write(file, line)
            if written != len(line):  # the disk is full; the torn line is cut off next time
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fdatasync(file)
        finally:
            os.close(file)


def read_bounded(path: Path, limit: int, *, whole: bool = True) -> bytes:
    """Return a file's content; of a longer one the first bytes, or ``ValueError`` if ``whole``."""
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit and whole:
        raise ValueError("The file is too long.")
    return content[:limit]


def _complete_last_line(file: int) -> None:
    """Cut off a torn last line, and move to the end."""
    end = last_newline(file, os.lseek(file, 0, os.SEEK_END)) + 1
    os.ftruncate(file, end)
    os.lseek(file, end, os.SEEK_SET)
