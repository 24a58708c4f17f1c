"""Append-only lists in JSON Lines files, and bounded reads.

A last line without a newline (the process was killed while writing) and lines that cannot be read
are skipped.
"""

import errno
import json
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

_T = TypeVar("_T")
_BLOCK = 4096


class EntryList(Generic[_T]):
    """A list of dataclass objects, one JSON object per line. Thread-safe; one process writes.

    Args:
        path: The file; a missing one is an empty list.
        adapter: Validates an entry.
        max_bytes: Bytes to read at most; further entries are ignored.
    """

    def __init__(self, path: Path, adapter: TypeAdapter[_T], max_bytes: int) -> None:
        self._path = path
        self._adapter = adapter
        self._max_bytes = max_bytes
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[_T]:
        """Yield the entries in the order in which they were added."""
        yield from self.read_after(0)[0]

    def read_after(self, position: int) -> tuple[list[_T], int]:
        """Return the entries after a position in the file, and the position where they end.

        Another process may add entries meanwhile: the position is the end of a whole line.
        """
        try:
            with self._path.open("rb") as file:
                file.seek(position)
                content = file.read(max(0, self._max_bytes - position))
        except FileNotFoundError:
            return [], 0
        entries = list[_T]()
        *lines, torn = content.split(b"\n")
        for line in lines:
            with suppress(ValidationError):
                entries.append(self._adapter.validate_json(line))
        return entries, position + len(content) - len(torn)

    def append(self, entry: _T) -> None:
        """Add an entry, and wait until the disk has it. Raises ``OSError``."""
        values: Any = entry
        line = json.dumps(asdict(values)).encode() + b"\n"
        with self._lock:
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
    """Return a file's content, at most ``limit`` bytes.

    Raises:
        ValueError: It is longer than the limit and ``whole`` is set.
    """
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit and whole:
        raise ValueError("The file is too long.")
    return content[:limit]


def _complete_last_line(file: int) -> None:
    """Cut off a torn last line, and move to the end."""
    end = os.lseek(file, 0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        newline = os.pread(file, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    os.ftruncate(file, end)
    os.lseek(file, end, os.SEEK_SET)
