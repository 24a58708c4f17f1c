"""A run's folders as the page is told of them: in order, and only the rows that it asks for.

Of a whole folder only the names are read. What else there is to know is looked up for the rows
that are asked for, or for all where they are ordered by it.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, get_args

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.files import FileEntry, Workspace, entry_of
from agent.workspace.paths import RelPath
from sandbox_ui import matching
from sandbox_ui.matching import Name

Sort = Literal["name", "time", "size"]
SORTS: tuple[Sort, ...] = get_args(Sort)
MAX_ROWS = 1000
MAX_HELD = 1000
_LOOKED_INTO = 20_000
_FIRST = ("input", "output")
_DIGITS = re.compile("([0-9]+)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows of a folder, in which order.

    Attributes:
        sort: By name, by time (newest first) or by size (largest first); folders come first.
        first: The first row.
        count: How many, at most ``MAX_ROWS``.
        hidden: Whether names that begin with a dot are shown.
        words: Only what has them in its name, in the folders below, too.
        at: Paths whose places are told, wherever they are in the order.
        seek: The beginning of a name that is looked for.
        after: The row from which on it is looked for; past the end it goes on at the first.
    """

    sort: Sort = "name"
    first: int = 0
    count: int = MAX_ROWS
    hidden: bool = False
    words: str = ""
    at: Sequence[RelPath] = field(default=())
    seek: str = ""
    after: int = 0


def listing(workspace: Workspace, folder: RelPath, wanted: Wanted) -> dict[str, Any]:
    """A folder as the page shows it.

    Returns:
        The rows as ``entries``, ``from`` the first of them; how many there are in ``total``, how
        many ``more`` follow, how many are not shown because they are ``hidden``; ``at``: for each
        path that was asked for its row with its ``index``, or None; ``seek``: the row found, or
        None; ``cut``: whether there was too much to look through.

    Raises:
        WorkspaceError: it is no folder, or cannot be read.
    """
    with workspace.opened(folder) as root, paths.opened_folder(root, folder) as opened:
        found = matching.found(opened, wanted.words, stats=wanted.sort != "name")
        shown = found.names if wanted.hidden else [name for name in found.names if not name.hidden]
        names = sorted(shown, key=_order(wanted, at_root=not folder))
        rows = _Rows(opened, folder, wanted)
        entries = list(rows.of(names[wanted.first : wanted.first + wanted.count]))
        more = max(0, len(names) - wanted.first - wanted.count)
        return {
            "folder": folder.to_url(),
            "from": wanted.first,
            "entries": entries,
            "total": len(names),
            "more": more,
            "hidden": len(found.names) - len(shown),
            "at": rows.places(names) if wanted.at else {},
            "seek": _sought(names, wanted),
            "cut": found.cut,
        }


def row_of(workspace: Workspace, path: RelPath) -> dict[str, Any] | None:
    """One path as a listing shows it; None where there is nothing."""
    try:
        made = row(path.parent, workspace.stat(path))
        if made["kind"] == "link":
            with workspace.opened(path) as root:
                made["to"] = _target(root, path)
    except WorkspaceError:
        return None
    return made


def row(folder: RelPath, entry: FileEntry) -> dict[str, Any]:
    """One name of a folder as the page is told of it."""
    path = folder.child(entry.name)
    return {
        "name": RelPath(entry.name).shown,
        "path": path.to_url(),
        "kind": entry.kind,
        "size": entry.size,
        "changed": entry.mtime,
    }


class _Rows:
    """Makes rows of names below an opened folder, looking up what is not known yet."""

    def __init__(self, opened: int, folder: RelPath, wanted: Wanted) -> None:
        self._opened, self._folder, self._wanted = opened, folder, wanted
        self._left = _LOOKED_INTO

    def of(self, names: Iterable[Name]) -> Iterator[dict[str, Any]]:
        for name in names:
            made = self._row(name)
            if made is not None:
                yield made

    def places(self, names: Sequence[Name]) -> dict[str, dict[str, Any] | None]:
        above = paths.join(self._folder, "")
        asked = {str(path).removeprefix(above): path.to_url() for path in self._wanted.at}
        found: dict[str, dict[str, Any] | None] = dict.fromkeys(asked.values())
        for index, name in enumerate(names):
            if name.path in asked and (made := self._row(name)) is not None:
                found[asked[name.path]] = made | {"index": index}
        return found

    def _row(self, name: Name) -> dict[str, Any] | None:
        try:
            info = name.info or matching.look(self._opened, name.path)
        except OSError:
            return None  # it has just gone; the page will hear of it
        path = RelPath.trusted(paths.join(self._folder, name.path))
        made = row(path.parent, entry_of(path.name, info))
        if "/" in name.path:
            made["in"] = RelPath.trusted(name.path).parent.shown
        if made["kind"] == "link":
            made["to"] = _target(self._opened, name.path)
        if made["kind"] == "folder":
            made["held"] = self._held(name.path)
        return made

    def _held(self, path: str) -> int | None:
        """How many names a folder has, up to ``MAX_HELD``; None where that is not known."""
        if self._left <= 0:
            return None
        try:
            with paths.opened_folder(self._opened, path) as folder, os.scandir(folder) as entries:
                names = islice(entries, MAX_HELD)
                held = sum(self._wanted.hidden or not each.name.startswith(".") for each in names)
        except OSError:
            return None
        self._left -= held + 1
        return held


def _target(opened: int, path: str) -> str:
    """Where a link points, as text; empty where it is gone."""
    folder, _, name = path.rpartition("/")
    with suppress(OSError), paths.opened_folder(opened, folder) as parent:
        return paths.shown(os.readlink(name, dir_fd=parent))
    return ""


def _order(wanted: Wanted, *, at_root: bool) -> Any:
    """Folders first; in the workspace itself what is shared with the model before all."""
    sort = wanted.sort

    def key(name: Name) -> tuple[int, float, list[tuple[str, int]], str]:
        rank = 1 if name.folder else 2
        if at_root and name.folder and name.path in _FIRST:
            rank = 0
        return rank, _weight(name, sort) if rank else 0, natural(name.path), name.path

    return key


def _weight(name: Name, sort: Sort) -> float:
    info = name.info
    if info is None or sort == "name":
        return 0
    if sort == "time":
        return -info.st_mtime
    return -info.st_size if stat.S_ISREG(info.st_mode) else 0


@lru_cache(65_536)
def natural(name: str) -> list[tuple[str, int]]:
    """What a name is ordered by: without regard to case, numbers as numbers."""
    parts = filter(None, _DIGITS.split(name.casefold()))
    return [("0", int(part)) if part[0] in "0123456789" else (part, -1) for part in parts]


def _sought(names: Sequence[Name], wanted: Wanted) -> int | None:
    seek, size = wanted.seek.casefold(), len(names)
    if not seek:
        return None
    places = (index % size for index in range(wanted.after, wanted.after + size))
    return next((each for each in places if names[each].path.casefold().startswith(seek)), None)
