"""Folder listings for the page: sorted, with metadata of the requested rows only, if possible."""

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
from agent.workspace.files import FileEntry, Workspace, entry_from_stat
from agent.workspace.paths import RelPath
from sandbox_ui.workspace import name_search
from sandbox_ui.workspace.name_search import Name, is_hidden

Sort = Literal["name", "time", "size"]
SORTS: tuple[Sort, ...] = get_args(Sort)
MAX_ROWS = 1000
MAX_CHILD_COUNT = 1000
_MAX_NAMES_COUNTED = 20_000
_TOP_FOLDERS = ("input", "output")
_NUMBER = re.compile("0*([0-9]+)")


@dataclass(frozen=True, slots=True)
class ListingQuery:
    """Requested rows of a folder and their order.

    Attributes:
        sort: By name, time (newest first) or size (largest first); folders always come first.
        hidden: Whether to include names that begin with a dot, and programs' caches.
        words: Return only names that contain these words, subfolders included.
        locate_paths: Paths whose positions are returned, wherever they are in the order.
        seek_start: Row to start the search for ``seek_prefix`` at; it wraps around at the end.
    """

    sort: Sort = "name"
    first: int = 0
    count: int = MAX_ROWS
    hidden: bool = False
    words: str = ""
    locate_paths: Sequence[RelPath] = field(default=())
    seek_prefix: str = ""
    seek_start: int = 0


def list_folder(workspace: Workspace, folder: RelPath, query: ListingQuery) -> dict[str, Any]:
    """List a folder for the page.

    Returns:
        ``entries``: the rows, starting at index ``from``; ``more``: the number that follow;
        ``hidden``: the number left out; ``located``: the row with its ``index``, or None, for each
        path to locate; ``seek``: the index found, or None; ``truncated``: the search ended early.
    """
    with workspace.open_root(folder) as root, paths.folder_fd(root, folder) as folder_fd:
        result = name_search.find_names(folder_fd, query.words, stats=query.sort != "name")
        visible = [name for name in result.names if query.hidden or not is_hidden(name)]
        names = sorted(visible, key=_sort_key(query, at_root=not folder))
        rows = _RowBuilder(folder_fd, folder, query)
        entries = list(rows.build(names[query.first : query.first + query.count]))
        more = max(0, len(names) - query.first - query.count)
        return {
            "folder": folder.to_url(),
            "from": query.first,
            "entries": entries,
            "total": len(names),
            "more": more,
            "hidden": len(result.names) - len(visible),
            "located": rows.locate(names) if query.locate_paths else {},
            "seek": find_prefix([name[0] for name in names], query),
            "truncated": result.truncated,
        }


def row_for_path(workspace: Workspace, path: RelPath) -> dict[str, Any] | None:
    """Return the listing row of one path; None if the path does not exist."""
    try:
        fields = entry_row(path.parent, workspace.stat(path))
        if fields["kind"] == "link":
            with workspace.open_root(path) as root:
                fields["target"] = _link_target(root, path)
    except WorkspaceError:
        return None
    return fields


def entry_row(folder: RelPath, entry: FileEntry) -> dict[str, Any]:
    """Return the listing row of one directory entry."""
    path = RelPath.trusted(paths.join(folder, entry.name))  # possibly too long to be opened
    return {
        "name": paths.display_text(entry.name),
        "path": path.to_url(),
        "kind": entry.kind,
        "size": entry.size,
        "modified": entry.mtime,
    }


class _RowBuilder:
    """Creates rows for names below an open folder, reading missing metadata."""

    def __init__(self, folder_fd: int, folder: RelPath, query: ListingQuery) -> None:
        self._folder_fd, self._folder, self._query = folder_fd, folder, query
        self._count_budget = _MAX_NAMES_COUNTED

    def build(self, names: Iterable[Name]) -> Iterator[dict[str, Any]]:
        return map(self._build_row, names)

    def locate(self, names: Sequence[Name]) -> dict[str, dict[str, Any] | None]:
        prefix = paths.join(self._folder, "")
        url_by_name = {
            str(path).removeprefix(prefix): path.to_url() for path in self._query.locate_paths
        }
        rows: dict[str, dict[str, Any] | None] = dict.fromkeys(url_by_name.values())
        for index, name in enumerate(names):
            if name[0] in url_by_name:
                rows[url_by_name[name[0]]] = self._build_row(name) | {"index": index}
        return rows

    def _build_row(self, name: Name) -> dict[str, Any]:
        relative_path, is_folder, info = name
        path = RelPath.trusted(paths.join(self._folder, relative_path))
        try:
            entry = entry_from_stat(
                path.name, info or name_search.lstat(self._folder_fd, relative_path)
            )
        except OSError:  # just deleted, or not readable
            entry = FileEntry(path.name, "folder" if is_folder else "other", 0, 0, 0)
        fields = entry_row(path.parent, entry)
        if "/" in relative_path:
            fields["location"] = RelPath.trusted(relative_path).parent.display
        if entry.kind == "link":
            fields["target"] = _link_target(self._folder_fd, relative_path)
        if entry.kind == "folder":
            fields["child_count"] = self._child_count(relative_path)
        return fields

    def _child_count(self, path: str) -> int | None:
        """Return a folder's number of names, up to ``MAX_CHILD_COUNT``; None if unknown."""
        if self._count_budget <= 0:
            return None
        try:
            with paths.folder_fd(self._folder_fd, path) as folder, os.scandir(folder) as entries:
                names = islice(entries, MAX_CHILD_COUNT)
                count = sum(self._query.hidden or not each.name.startswith(".") for each in names)
        except OSError:
            return None
        self._count_budget -= count + 1
        return count


def _link_target(folder_fd: int, path: str) -> str:
    """Return a link's target as text; empty if the link no longer exists."""
    folder, _, name = path.rpartition("/")
    with suppress(OSError), paths.folder_fd(folder_fd, folder) as parent:
        return paths.display_text(os.readlink(name, dir_fd=parent))
    return ""


def _sort_key(query: ListingQuery, *, at_root: bool) -> Callable[[Name], Any]:
    """Return the sort key: folders first; at the root, shared folders at the top."""
    if query.sort == "name":
        return lambda name: by_name(name[0], name[1], at_root)
    weight = _by_newest if query.sort == "time" else _by_largest

    def key(name: Name) -> tuple[int, float, str]:
        if at_root and name[1] and name[0] in _TOP_FOLDERS:
            return 0, 0, name[0]
        return 1 if name[1] else 2, weight(name), natural_key(name[0])

    return key


def _by_newest(name: Name) -> float:
    return -name[2].st_mtime if name[2] else 0


def _by_largest(name: Name) -> float:
    return -name[2].st_size if name[2] and not name[1] else 0


@lru_cache(65_536)
def by_name(path: str, is_folder: bool, at_root: bool) -> str:
    """Return the sort key of a name: folders first; at the root, shared folders at the top."""
    shared = at_root and is_folder and path in _TOP_FOLDERS
    return f"{0 if shared else 1 if is_folder else 2}{natural_key(path)}"


def natural_key(name: str) -> str:
    """Return a sort key that ignores case and orders numbers; strings compare fastest."""
    padded = _NUMBER.sub(lambda match: f"0{chr(len(match[1]))}{match[1]}", name.casefold())
    return f"{padded}\0{name}"


def find_prefix(names: Sequence[str], query: ListingQuery) -> int | None:
    """Return the index of the first name with the query's prefix; None if there is none."""
    seek, size = query.seek_prefix.casefold(), len(names)
    if not seek:
        return None
    indexes = (index % size for index in range(query.seek_start, query.seek_start + size))
    return next((index for index in indexes if names[index].casefold().startswith(seek)), None)
