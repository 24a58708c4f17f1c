"""Folder listings for the page: sorted, and only the requested rows.

Only names are read for the whole folder. Other metadata is read for the requested rows, or for
all rows if they are sorted by it.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, get_args

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.files import FileEntry, Workspace, entry_of
from agent.workspace.paths import RelPath
from sandbox_ui.workspace import name_search
from sandbox_ui.workspace.name_search import Name, is_hidden

Sort = Literal["name", "time", "size"]
SORTS: tuple[Sort, ...] = get_args(Sort)
MAX_ROWS = 1000
MAX_HELD = 1000
_LOOKED_INTO = 20_000
_FIRST = ("input", "output")
_NUMBER = re.compile("0*([0-9]+)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requested rows of a folder and their order.

    Attributes:
        sort: By name, time (newest first) or size (largest first); folders always come first.
        first: Index of the first row.
        count: Number of rows, at most ``MAX_ROWS``.
        hidden: Whether to include names that begin with a dot, and programs' caches.
        words: Return only names that contain these words, subfolders included.
        at: Paths whose positions are returned, wherever they are in the order.
        seek: Beginning of a name to find.
        after: Row to start the search at; it wraps around at the end.
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
    """List a folder for the page.

    Returns:
        ``entries``: the rows, starting at index ``from``; ``total``: the number of all rows;
        ``more``: the number of rows that follow; ``hidden``: the number of names left out as
        hidden; ``at``: the row with its ``index``, or None, for each requested path; ``seek``:
        the index of the row found, or None; ``cut``: whether the search ended early.

    Raises:
        WorkspaceError: if the path is not a folder, or cannot be read.
    """
    with workspace.opened(folder) as root, paths.opened_folder(root, folder) as opened:
        found = name_search.found(opened, wanted.words, stats=wanted.sort != "name")
        shown = [name for name in found.names if wanted.hidden or not is_hidden(name)]
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
    """Return the listing row of one path; None if the path does not exist."""
    try:
        made = row(path.parent, workspace.stat(path))
        if made["kind"] == "link":
            with workspace.opened(path) as root:
                made["to"] = _target(root, path)
    except WorkspaceError:
        return None
    return made


def row(folder: RelPath, entry: FileEntry) -> dict[str, Any]:
    """Return the listing row of one directory entry."""
    path = RelPath.trusted(paths.join(folder, entry.name))  # possibly too long to be opened
    return {
        "name": paths.shown(entry.name),
        "path": path.to_url(),
        "kind": entry.kind,
        "size": entry.size,
        "changed": entry.mtime,
    }


class _Rows:
    """Creates rows for names below an open folder, reading missing metadata."""

    def __init__(self, opened: int, folder: RelPath, wanted: Wanted) -> None:
        self._opened, self._folder, self._wanted = opened, folder, wanted
        self._left = _LOOKED_INTO

    def of(self, names: Iterable[Name]) -> Iterator[dict[str, Any]]:
        return map(self._row, names)

    def places(self, names: Sequence[Name]) -> dict[str, dict[str, Any] | None]:
        above = paths.join(self._folder, "")
        asked = {str(path).removeprefix(above): path.to_url() for path in self._wanted.at}
        found: dict[str, dict[str, Any] | None] = dict.fromkeys(asked.values())
        for index, name in enumerate(names):
            if name[0] in asked:
                found[asked[name[0]]] = self._row(name) | {"index": index}
        return found

    def _row(self, name: Name) -> dict[str, Any]:
        below, is_folder, info = name
        path = RelPath.trusted(paths.join(self._folder, below))
        try:
            entry = entry_of(path.name, info or name_search.look(self._opened, below))
        except OSError:  # just deleted, or not readable
            entry = FileEntry(path.name, "folder" if is_folder else "other", 0, 0, 0)
        made = row(path.parent, entry)
        if "/" in below:
            made["in"] = RelPath.trusted(below).parent.shown
        if entry.kind == "link":
            made["to"] = _target(self._opened, below)
        if entry.kind == "folder":
            made["held"] = self._held(below)
        return made

    def _held(self, path: str) -> int | None:
        """Return a folder's number of names, up to ``MAX_HELD``; None if unknown."""
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
    """Return a link's target as text; empty if the link no longer exists."""
    folder, _, name = path.rpartition("/")
    with suppress(OSError), paths.opened_folder(opened, folder) as parent:
        return paths.shown(os.readlink(name, dir_fd=parent))
    return ""


def _order(wanted: Wanted, *, at_root: bool) -> Callable[[Name], Any]:
    """Return the sort key: folders first; at the root, shared folders at the top."""
    if wanted.sort == "name":
        return lambda name: _by_name(name[0], name[1], at_root)
    weight = _newness if wanted.sort == "time" else _bulk

    def key(name: Name) -> tuple[int, float, str]:
        if at_root and name[1] and name[0] in _FIRST:
            return 0, 0, name[0]
        return 1 if name[1] else 2, weight(name), natural(name[0])

    return key


def _newness(name: Name) -> float:
    return -name[2].st_mtime if name[2] else 0


def _bulk(name: Name) -> float:
    return -name[2].st_size if name[2] and not name[1] else 0


@lru_cache(65_536)
def _by_name(path: str, is_folder: bool, at_root: bool) -> str:
    shared = at_root and is_folder and path in _FIRST
    return f"{0 if shared else 1 if is_folder else 2}{natural(path)}"


def natural(name: str) -> str:
    """Return a natural sort key: case-insensitive, with numbers in numeric order.

    The key is a string because strings compare fastest; each number is prefixed with its length.
    """
    ordered = _NUMBER.sub(lambda found: f"0{chr(len(found[1]))}{found[1]}", name.casefold())
    return f"{ordered}\0{name}"


def _sought(names: Sequence[Name], wanted: Wanted) -> int | None:
    seek, size = wanted.seek.casefold(), len(names)
    if not seek:
        return None
    places = (index % size for index in range(wanted.after, wanted.after + size))
    return next((each for each in places if names[each][0].casefold().startswith(seek)), None)
