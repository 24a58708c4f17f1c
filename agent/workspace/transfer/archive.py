"""Files and folders of a workspace as members of a zip file."""

import os
import stat
from collections.abc import Iterator, Sequence
from functools import partial

from agent.util.text import size_of
from agent.workspace import paths
from agent.workspace.files import RESCUE_LIMIT, Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.transfer.zip_stream import LEFT_OUT, Member, Zip
from agent.workspace.tree import walk

MOST = 1_000_000
"""Maximum number of names in one archive; further ones are left out."""

_LONGEST = 60_000
_HUGE, _HOLLOW = 4 * 1024**3, 16


class Packing:
    """The members of an archive, collected before its first byte is produced.

    Names are unique, valid Unicode: bytes that are not UTF-8, and backslashes, which Windows
    treats as separators, are percent-encoded. Links and special files are left out.
    """

    def __init__(self) -> None:
        self._members: list[Member] = []
        self._left_out: list[str] = []
        self._names: set[str] = set()

    def add(self, member: Member) -> None:
        """Add a member that is not a workspace file; its name must not be in use."""
        self._names.add(member.name)
        self._members.append(member)

    def take(
        self, workspace: Workspace, selected: Sequence[RelPath] = (), prefix: str = ""
    ) -> None:
        """Add files and whole folders; the whole workspace if none is selected.

        The common parent is stripped from names: ``a/b`` and ``a/c/d`` become ``b`` and ``c/d``.

        Args:
            workspace: The workspace to read.
            selected: Paths to add; a path inside another selected one is added once.
            prefix: Text put before each name.

        Raises:
            WorkspaceError: a selected path does not exist.
        """
        chosen = [path for path in dict.fromkeys(selected) if not _within(path, selected)]
        above = os.path.commonpath([path.parent for path in chosen]) if chosen else ""
        with workspace.opened(ROOT) as root:
            for path, info in _found(workspace, root, chosen):
                if len(self._members) == MOST:
                    self._left_out.append(f"everything from {paths.shown(path)} on")
                    return
                name = prefix + path[len(above) :].lstrip("/")
                self._take(workspace, name, RelPath.trusted(path), info)

    def zip(self) -> Zip:
        """Return the archive."""
        return Zip(self._members, self._left_out, self._free(LEFT_OUT))

    def _take(
        self, workspace: Workspace, name: str, path: RelPath, info: os.stat_result | OSError
    ) -> None:
        if isinstance(info, OSError):
            self._left_out.append(str(paths.explain(info, path)))
        elif len(os.fsencode(name)) > _LONGEST:
            self._left_out.append(f"…{path.shown[-200:]}: its name is too long")
        elif stat.S_ISDIR(info.st_mode):
            member = Member(f"{self._free(name)}/", 0, info.st_mtime, stat.S_IFDIR | 0o755)
            self._members.append(member)
        elif not stat.S_ISREG(info.st_mode):
            kind = "a link" if stat.S_ISLNK(info.st_mode) else "special"
            self._left_out.append(f"{path.shown}: {kind}")
        elif info.st_size > RESCUE_LIMIT and not _readable(info):
            self._left_out.append(f"{path.shown}: the application may not read it")
        elif _hollow(info):
            self._left_out.append(f"{path.shown}: {size_of(info.st_size)}, nearly all of it holes")
        else:
            mode = stat.S_IFREG | info.st_mode & 0o777
            opens = partial(workspace.open_read, path)
            member = Member(self._free(name), info.st_size, info.st_mtime, mode, opens)
            self._members.append(member)

    def _free(self, path: str) -> str:
        wanted = name = paths.shown(path).replace("\\", "%5C")
        number = 2
        while name in self._names:
            name = f"{wanted} ({number})"
            number += 1
        self._names.add(name)
        return name


def _found(
    workspace: Workspace, root: int, chosen: Sequence[RelPath]
) -> Iterator[tuple[str, os.stat_result | OSError]]:
    if not chosen:
        yield from walk(root, "")
    for path in chosen:
        with workspace.opened(path):
            info = paths.lstat_below(root, path)
        yield path, info
        if stat.S_ISDIR(info.st_mode):
            yield from walk(root, path)


def _within(path: RelPath, selected: Sequence[RelPath]) -> bool:
    return any(path.startswith(f"{other}/") for other in selected)


def _hollow(info: os.stat_result) -> bool:
    """Whether a file is huge but almost all holes, which an archive would expand."""
    return info.st_size > _HUGE and info.st_blocks * 512 * _HOLLOW < info.st_size


def _readable(info: os.stat_result) -> bool:
    return os.geteuid() in (0, info.st_uid) or bool(info.st_mode & 0o044)
