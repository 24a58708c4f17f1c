"""The names in a folder, or in all folders below where something is looked for."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from re import IGNORECASE, compile

from agent.workspace import paths

MOST = 10_000
_SECONDS = 2.0


Name = tuple[str, bool, os.stat_result | None]
"""A name below an opened folder: its path from there on (bytes that are no UTF-8 are
surrogate-escaped), whether it is a folder, and what ``lstat`` says where that was asked already.
A plain tuple, since folders of 10,000 are made of them whenever they change."""


@dataclass(frozen=True, slots=True)
class Found:
    """Names in no order.

    Attributes:
        names: What was found.
        cut: Whether there was more than is looked through.
    """

    names: list[Name]
    cut: bool = False


def found(opened: int, words: str, *, stats: bool) -> Found:
    """The names in an opened folder; with words, what has them in its name, however deep.

    ``*`` and ``?`` in the words stand for anything, and then the whole name must match; with a
    ``/`` the path is looked at instead of the name.

    Args:
        opened: Descriptor of the folder.
        words: What is looked for.
        stats: Whether ``lstat`` is asked about every name.

    Raises:
        OSError: the folder cannot be listed.
    """
    if not words.strip():
        return Found(list(_names(opened, "", stats=stats)))
    return _below(opened, _wish(words.strip()), stats=stats)


def is_hidden(name: Name) -> bool:
    """Whether it, or a folder on the way, begins with a dot."""
    return name[0][0] == "." or "/." in name[0]


def look(opened: int, path: str) -> os.stat_result:
    """``lstat`` of a path below an opened folder, through no link. Raises ``OSError``."""
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
                continue  # gone meanwhile
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
            continue  # gone meanwhile, or not ours to list
        names += [name for name in inner if wish(name[0])]
        waiting += [path for path, is_folder, _ in inner if is_folder]
        if len(names) > MOST or time.monotonic() > end:
            return Found(names[:MOST], cut=True)
    return Found(names)


def _wish(words: str) -> Callable[[str], bool]:
    """Whether a path is what is looked for."""
    whole = "/" in words

    def part(path: str) -> str:
        return path if whole else path.rpartition("/")[2]

    if "*" in words or "?" in words:
        pattern = compile(translate(words), IGNORECASE)
        return lambda path: pattern.match(part(path)) is not None
    folded = words.casefold()
    return lambda path: folded in paths.shown(part(path)).casefold()
