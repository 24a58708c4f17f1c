"""Names in a folder, or in all its subfolders when searching."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from re import IGNORECASE, compile

from agent.workspace import paths

MOST = 10_000
_SECONDS = 2.0
CACHES = frozenset({"__pycache__", "node_modules"})
"""Cache folders of programs whose names have no leading dot."""


Name = tuple[str, bool, os.stat_result | None]
"""A name below an open folder: relative path, whether it is a folder, ``lstat``.

Non-UTF-8 bytes of the path are surrogate-escaped. The ``lstat`` result is None if not read yet.
A plain tuple for speed, since folders of 10,000 names are listed on every change."""


@dataclass(frozen=True, slots=True)
class Found:
    """Names in no particular order.

    Attributes:
        names: The names found.
        cut: Whether a limit ended the search early.
    """

    names: list[Name]
    cut: bool = False


def found(opened: int, words: str, *, stats: bool) -> Found:
    """Return the names in an open folder; with words, all matches at any depth.

    ``*`` and ``?`` in the words are wildcards, and then the whole name must match. With a ``/``,
    the path is matched instead of the name.

    Args:
        opened: File descriptor of the folder.
        words: The search text.
        stats: Whether to read ``lstat`` for every name.

    Raises:
        OSError: if the folder cannot be listed.
    """
    if not words.strip():
        return Found(list(_names(opened, "", stats=stats)))
    return _below(opened, _wish(words.strip()), stats=stats)


def is_hidden(name: Name) -> bool:
    """Return whether any part of the path is a dot name or a program's cache."""
    path = name[0]
    if "/" in path:
        return any(part[0] == "." or part in CACHES for part in path.split("/"))
    return path[0] == "." or path in CACHES


def look(opened: int, path: str) -> os.stat_result:
    """Return ``lstat`` of a path below an open folder, following no links.

    Raises ``OSError``.
    """
    if "/" in path:
        return paths.lstat_below(opened, path)
    return os.stat(path, dir_fd=opened, follow_symlinks=False)


def _names(opened: int, at: str, *, stats: bool) -> Iterator[Name]:
    with os.scandir(opened) as entries:
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False) if stats else None
                folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue  # deleted in the meantime
            yield paths.join(at, entry.name) if at else entry.name, folder, info


def _below(opened: int, wish: Callable[[str], bool], *, stats: bool) -> Found:
    names: list[Name] = []
    waiting, end = [""], time.monotonic() + _SECONDS
    while waiting:
        at = waiting.pop()
        try:
            with paths.opened_folder(opened, at) as folder:
                inner = list(_names(folder, at, stats=stats))
        except OSError:
            continue  # deleted in the meantime, or not readable
        names += [name for name in inner if wish(name[0])]
        waiting += [path for path, is_folder, _ in inner if is_folder]
        if len(names) > MOST or time.monotonic() > end:
            return Found(names[:MOST], cut=True)
    return Found(names)


def _wish(words: str) -> Callable[[str], bool]:
    """Return a predicate for the paths that match."""
    whole = "/" in words

    def part(path: str) -> str:
        return path if whole else path.rpartition("/")[2]

    if "*" in words or "?" in words:
        pattern = compile(translate(words), IGNORECASE)
        return lambda path: pattern.match(part(path)) is not None
    folded = words.casefold()
    return lambda path: folded in paths.shown(part(path)).casefold()
