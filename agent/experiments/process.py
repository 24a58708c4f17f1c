"""The process that carries out an evaluation holds a lock on ``process.json`` until it ends."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from agent.data_folder import is_locked
from agent.util.entry_list import read_bounded

_FILE = "process.json"
_MAX_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Process:
    """A process that carries out an evaluation, with its runs in another ``place`` or here."""

    pid: int = 0
    host: str = ""
    place: str = ""

    def __str__(self) -> str:
        """Return the process as a part of a sentence."""
        known = f"process {self.pid} on {self.host}" if self.pid else "another process"
        return f"{known}, with the runs on {self.place}" if self.place else known


@cache
def _adapter() -> TypeAdapter[Process]:
    return TypeAdapter(Process)


@contextmanager
def registered(evaluation: Path, place: str = "") -> Iterator[None]:
    """Register this process as the one that carries out an evaluation, during the block."""
    path = evaluation / _FILE
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)  # a reader holds it for an instant
        content = _adapter().dump_json(Process(os.getpid(), socket.gethostname(), place))
        os.ftruncate(file, 0)
        os.write(file, content)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def find(evaluation: Path) -> Process | None:
    """Return the process that carries out an evaluation; None if none does."""
    path = evaluation / _FILE
    if not is_locked(path):
        return None
    with suppress(OSError, ValueError):
        return _adapter().validate_json(read_bounded(path, _MAX_BYTES))
    return Process()
