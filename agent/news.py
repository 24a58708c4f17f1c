"""What a person did to the files of a run, kept until the model is told."""

import json
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from agent.legible import one_line, size_of
from agent.workspace.paths import RelPath

Deed = Literal["added", "changed", "removed", "moved", "put back", "made the folder"]
_NAMED = 8
"""Paths that are named one by one; of more, their number and their folder are told."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was done.

    Attributes:
        deed: What.
        path: To which path.
        size: The file's bytes, where that says something.
        to: The path that it has now, where it was moved.
    """

    deed: Deed
    path: RelPath
    size: int | None = None
    to: RelPath | None = None


class News:
    """A box on disk that a person's changes go into and the next step empties.

    It outlives the application, so that a message after a restart still brings them. Safe
    from any thread.

    Args:
        file: Where it is kept; made when there is something to be told.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def put(self, items: Iterable[Item]) -> None:
        """Keep what was done. Where that cannot be written, the model is not told."""
        lines = "".join(f"{json.dumps(_written(item))}\n" for item in items)
        with self._lock, suppress(OSError), self._file.open("a") as file:
            file.write(lines)

    def take(self) -> str:
        """What has happened since it was taken last, in lines of words; empty if nothing."""
        with self._lock:
            try:
                lines = self._file.read_text().splitlines()
                self._file.unlink()
            except OSError:
                return ""
        items = []
        for line in lines:
            with suppress(ValueError, TypeError, KeyError):
                items.append(_read(json.loads(line)))
        return "\n".join(_told(items))


def _written(item: Item) -> dict[str, object]:
    to = item.to and item.to.to_url()
    return {"deed": item.deed, "path": item.path.to_url(), "size": item.size, "to": to}


def _read(about: dict[str, str]) -> Item:
    to = about["to"] and RelPath.from_url(about["to"])
    size = about["size"]
    return Item(about["deed"], RelPath.from_url(about["path"]), size, to or None)  # type: ignore[arg-type]


def _told(items: list[Item]) -> Iterator[str]:
    for deed, group in groupby(_lasting(items), lambda item: item.deed):
        same = list(group)
        words = _counted(same) if len(same) > _NAMED else ", ".join(map(_named, same))
        yield f"[The person {deed} {words}.]"


def _lasting(items: list[Item]) -> list[Item]:
    """Without what was added and removed again before anybody was told."""
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
