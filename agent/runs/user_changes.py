"""The user's changes to a run's files, stored until the model is notified."""

import json
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from agent.errors import WorkspaceError
from agent.util.state_files import read_record, rename_damaged
from agent.util.text import format_size, one_line
from agent.workspace.paths import RelPath

ChangeKind = Literal["added", "changed", "removed", "moved", "restored", "folder_created"]
_VERBS: dict[ChangeKind, str] = {"folder_created": "created the folder"}
"""The verbs for the model, where the kind is not the verb."""
_STORED_KINDS: dict[ChangeKind, str] = {"restored": "put back", "folder_created": "made the folder"}
"""The kinds as stored, where earlier versions read another name."""
_KINDS: dict[str, ChangeKind] = {stored: kind for kind, stored in _STORED_KINDS.items()}
_WRITTEN: tuple[ChangeKind, ...] = ("added", "changed")
_MAX_LISTED = 8
"""Maximum paths listed individually; of more, only the number and the folder are listed."""


@dataclass(frozen=True, slots=True)
class UserChange:
    """One change."""

    kind: ChangeKind
    path: RelPath
    size: int | None = None
    new_path: RelPath | None = None


@dataclass(frozen=True, slots=True)
class _StoredChange:
    """A change as stored, with its paths as URLs; the aliases are what earlier versions read."""

    kind: Annotated[
        ChangeKind,
        Field(alias="deed"),
        BeforeValidator(lambda stored: _KINDS.get(str(stored), stored)),
    ]
    path: str
    size: int | None = None
    new_path: Annotated[str | None, Field(alias="to")] = None


@cache  # on first use: most runs have no such changes
def _stored_change_adapter() -> TypeAdapter[_StoredChange]:
    return TypeAdapter(_StoredChange)


class UserChanges:
    """A file that queues the user's changes until the next step takes them. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def add(self, items: Iterable[UserChange]) -> None:
        """Store changes; if they cannot be written, the model is not notified."""
        lines = "".join(f"{json.dumps(_to_json(item))}\n" for item in items)
        with self._lock, suppress(OSError), self._file.open("a") as file:
            file.write(lines)

    def written(self) -> list[RelPath]:
        """Return the files that were added or changed since the last call of ``take``."""
        with self._lock, suppress(OSError):
            items = filter(None, map(_from_json, read_record(self._file).splitlines()))
            return [each.path for each in _without_undone([*items]) if each.kind in _WRITTEN]
        return []

    def take(self) -> str:
        """Return the changes since the last call, one sentence per line, and clear them."""
        with self._lock:
            try:
                lines = read_record(self._file).splitlines()
                items = [item for line in lines if (item := _from_json(line))]
                if len(items) < len(lines):
                    rename_damaged(
                        self._file, f"{len(lines) - len(items)} of its lines are damaged."
                    )
                else:
                    self._file.unlink()
            except OSError:
                return ""
        return "\n".join(_sentences(items))


def _to_json(item: UserChange) -> dict[str, object]:
    new_path = item.new_path and item.new_path.to_url()
    kind = _STORED_KINDS.get(item.kind, item.kind)
    return {"deed": kind, "path": item.path.to_url(), "size": item.size, "to": new_path}


def _from_json(line: bytes) -> UserChange | None:
    """Return the item of a line; None if the line is damaged."""
    try:
        stored = _stored_change_adapter().validate_json(line)
        new_path = RelPath.from_url(stored.new_path) if stored.new_path else None
        return UserChange(stored.kind, RelPath.from_url(stored.path), stored.size, new_path)
    except (ValidationError, WorkspaceError):
        return None


def _sentences(items: list[UserChange]) -> Iterator[str]:
    for kind, group in groupby(_without_undone(items), lambda item: item.kind):
        same = list(group)
        paths = _describe_many(same) if len(same) > _MAX_LISTED else ", ".join(map(_describe, same))
        yield f"[The user {_VERBS.get(kind, kind)} {paths}.]"


def _without_undone(items: list[UserChange]) -> list[UserChange]:
    """Return the changes except files added and removed again before the model was notified."""
    left: list[UserChange] = []
    for item in items:
        if item.kind == "removed":
            remaining = [
                each
                for each in left
                if not (each.kind == "added" and _is_at_or_below(each, item.path))
            ]
            if len(remaining) < len(left):
                left = remaining
                continue
        left.append(item)
    return left


def _is_at_or_below(item: UserChange, path: RelPath) -> bool:
    return item.path == path or item.path.startswith(f"{path}/")


def _describe(item: UserChange) -> str:
    name = _display_path(item.path)
    if item.new_path is not None:
        return f"{name} to {_display_path(item.new_path)}"
    return name if item.size is None else f"{name} ({format_size(item.size)})"


def _describe_many(items: list[UserChange]) -> str:
    folder = os.path.commonpath([item.path.parent for item in items])
    below = f" below {_display_path(RelPath.trusted(folder))}" if folder else ""
    size = sum(item.size or 0 for item in items)
    return f"{len(items):,} files or folders{below}" + (f" ({format_size(size)})" if size else "")


def _display_path(path: RelPath) -> str:
    return one_line(path.display)
