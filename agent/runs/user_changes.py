"""The user's changes to a run's files, stored until the model is notified."""

import json
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from agent.errors import WorkspaceError
from agent.util.state_files import set_aside
from agent.util.text import one_line, size_of
from agent.workspace.paths import RelPath

Deed = Literal["added", "changed", "removed", "moved", "put back", "made the folder"]
_NAMED = 8
"""Maximum paths listed individually; of more, only the number and the folder are listed."""


@dataclass(frozen=True, slots=True)
class Item:
    """One change.

    Attributes:
        deed: The kind of change.
        path: The changed path.
        size: The file's size in bytes, if relevant.
        to: The new path, if it was moved.
    """

    deed: Deed
    path: RelPath
    size: int | None = None
    to: RelPath | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """An item as stored, with its paths as URLs."""

    deed: Deed
    path: str
    size: int | None = None
    to: str | None = None


_KEPT = TypeAdapter(_Kept)


class News:
    """A file that queues the user's changes until the next step takes them.

    It survives a restart of the application. Thread-safe.

    Args:
        file: Its path; the file is created with the first change.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def put(self, items: Iterable[Item]) -> None:
        """Store changes; if they cannot be written, the model is not notified."""
        lines = "".join(f"{json.dumps(_written(item))}\n" for item in items)
        with self._lock, suppress(OSError), self._file.open("a") as file:
            file.write(lines)

    def take(self) -> str:
        """Return the changes since the last call, one sentence per line, and clear them."""
        with self._lock:
            try:
                lines = self._file.read_bytes().splitlines()
                items = [item for line in lines if (item := _read(line))]
                if len(items) < len(lines):
                    set_aside(self._file, f"{len(lines) - len(items)} of its lines are damaged.")
                else:
                    self._file.unlink()
            except OSError:
                return ""
        return "\n".join(_told(items))


def _written(item: Item) -> dict[str, object]:
    to = item.to and item.to.to_url()
    return {"deed": item.deed, "path": item.path.to_url(), "size": item.size, "to": to}


def _read(line: bytes) -> Item | None:
    """Return the item of a line; None if the line is damaged."""
    try:
        kept = _KEPT.validate_json(line)
        to = RelPath.from_url(kept.to) if kept.to else None
        return Item(kept.deed, RelPath.from_url(kept.path), kept.size, to)
    except (ValidationError, WorkspaceError):
        return None


def _told(items: list[Item]) -> Iterator[str]:
    for deed, group in groupby(_lasting(items), lambda item: item.deed):
        same = list(group)
        words = _counted(same) if len(same) > _NAMED else ", ".join(map(_named, same))
        yield f"[The person {deed} {words}.]"


def _lasting(items: list[Item]) -> list[Item]:
    """Leave out what was added and removed again before the model was notified."""
    left: list[Item] = []
    for item in items:
        if item.deed == "removed":
            kept = [each for each in left if not (each.deed == "added" and _in(each, item.path))]
            if len(kept) < len(left):
                left = kept
                continue
        left.append(item)
    return left


def _in(item: Item, path: RelPath) -> bool:
    return item.path == path or item.path.startswith(f"{path}/")


def _named(item: Item) -> str:
    name = _shown(item.path)
    if item.to is not None:
        return f"{name} to {_shown(item.to)}"
    return name if item.size is None else f"{name} ({size_of(item.size)})"


def _counted(items: list[Item]) -> str:
    folder = os.path.commonpath([item.path.parent for item in items])
    below = f"below {_shown(RelPath.trusted(folder))}" if folder else "in all"
    size = sum(item.size or 0 for item in items)
    return f"{len(items):,} things {below}" + (f" ({size_of(size)})" if size else "")


def _shown(path: RelPath) -> str:
    return one_line(path.shown)
