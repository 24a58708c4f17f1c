"""Names in a folder, or in all its subfolders when searching."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from re import IGNORECASE, compile

from agent.workspace import paths

MAX_NAMES = 10_000
_TIMEOUT_SECONDS = 2.0
CACHE_FOLDERS = frozenset({"__pycache__", "node_modules"})
"""Cache folders of programs whose names have no leading dot."""


Name = tuple[str, bool, os.stat_result | None]
"""Relative path (surrogate-escaped), whether a folder, ``lstat`` if read; a tuple for speed."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Names in no particular order; ``truncated`` if a limit ended the search early."""

    names: list[Name]
    truncated: bool = False


def find_names(folder_fd: int, words: str, *, stats: bool) -> SearchResult:
    """Return the names in an open folder; with words, all matches at any depth.

    With ``*`` or ``?``, the whole name must match; with a ``/``, the path is matched.
    """
    if not words.strip():
        return SearchResult(list(_names(folder_fd, "", stats=stats)))
    return _search_tree(folder_fd, matcher(words.strip()), stats=stats)


def is_hidden(name: Name) -> bool:
    """Return whether any part of the path is a dot name or a program's cache."""
    path = name[0]
    if "/" in path:
        return any(part[0] == "." or part in CACHE_FOLDERS for part in path.split("/"))
    return path[0] == "." or path in CACHE_FOLDERS


def lstat(folder_fd: int, path: str) -> os.stat_result:
    """Return ``lstat`` of a path below an open folder, following no links."""
    if "/" in path:
        return paths.lstat_below(folder_fd, path)
    return os.stat(path, dir_fd=folder_fd, follow_symlinks=False)


def _names(folder_fd: int, prefix: str, *, stats: bool) -> Iterator[Name]:
    with os.scandir(folder_fd) as entries:
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False) if stats else None
                folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue  # deleted in the meantime
            yield paths.join(prefix, entry.name) if prefix else entry.name, folder, info


def _search_tree(folder_fd: int, matches: Callable[[str], bool], *, stats: bool) -> SearchResult:
    names: list[Name] = []
    pending, deadline = [""], time.monotonic() + _TIMEOUT_SECONDS
    while pending:
        path = pending.pop()
        try:
            with paths.folder_fd(folder_fd, path) as folder:
                children = list(_names(folder, path, stats=stats))
        except OSError:
            continue  # deleted in the meantime, or not readable
        names += [name for name in children if matches(name[0])]
        pending += [path for path, is_folder, _ in children if is_folder]
        if len(names) > MAX_NAMES or time.monotonic() > deadline:
            return SearchResult(names[:MAX_NAMES], truncated=True)
    return SearchResult(names)


def matcher(words: str) -> Callable[[str], bool]:
    """Return a predicate for the paths that match; see ``find_names``."""
    match_path = "/" in words

    def matched_part(path: str) -> str:
        return path if match_path else path.rpartition("/")[2]

    if "*" in words or "?" in words:
        pattern = compile(translate(words), IGNORECASE)
        return lambda path: pattern.match(matched_part(path)) is not None
    folded = words.casefold()
    return lambda path: folded in paths.display_text(matched_part(path)).casefold()
