"""A run's folders as the page is told of them: in order, and only the rows that it asks for.

Of a whole folder only the names are read. What else there is to know is looked up for the rows
that are asked for, or for all where they are ordered by it.
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
from sandbox_ui import matching
from sandbox_ui.matching import Name, is_hidden

Sort = Literal["name", "time", "size"]
SORTS: tuple[Sort, ...] = get_args(Sort)
MAX_ROWS = 1000
MAX_HELD = 1000
_LOOKED_INTO = 20_000
_FIRST = ("input", "output")
_NUMBER = re.compile("0*([0-9]+)")


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
    path = RelPath.trusted(paths.join(folder, entry.name))  # it may be too long to be opened
    return {
        "name": paths.shown(entry.name),
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
            entry = entry_of(path.name, info or matching.look(self._opened, below))
        except OSError:  # it has just gone, or may not be looked at
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


def _order(wanted: Wanted, *, at_root: bool) -> Callable[[Name], Any]:
    """Folders first; in the workspace itself what is shared with the model before all."""
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
    """What a name is ordered by: without regard to case, numbers as numbers.

    A text, since nothing is compared faster: a number begins with how many digits it has.
    """
    ordered = _NUMBER.sub(lambda found: f"0{chr(len(found[1]))}{found[1]}", name.casefold())
    return f"{ordered}\0{name}"


def _sought(names: Sequence[Name], wanted: Wanted) -> int | None:
    seek, size = wanted.seek.casefold(), len(names)
    if not seek:
        return None
    places = (index % size for index in range(wanted.after, wanted.after + size))
    return next((each for each in places if names[each][0].casefold().startswith(seek)), None)
