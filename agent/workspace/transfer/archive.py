"""Files and folders of a workspace as members of a zip file."""

import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from agent.errors import WorkspaceError
from agent.util.text import format_size
from agent.workspace import paths
from agent.workspace.files import FALLBACK_READ_LIMIT, Workspace, kind_from_mode
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.transfer.zip_stream import NOTE_NAME, Member, ZipStream
from agent.workspace.tree import walk
from agent.workspace.versions.manifest import Node
from agent.workspace.versions.past_files import FileVersions

MAX_MEMBERS = 1_000_000
"""Maximum number of names in one archive; further ones are left out."""

_MAX_NAME_BYTES = 60_000
_SPARSE_MIN_SIZE, _SPARSE_RATIO = 4 * 1024**3, 16


class ArchiveBuilder:
    """The members of an archive, collected before its first byte is produced.

    Names are unique, valid Unicode: bytes that are not UTF-8, and backslashes, which Windows
    treats as separators, are percent-encoded. Links and special files are left out.
    """

    def __init__(self) -> None:
        self._members: list[Member] = []
        self._skipped: list[str] = []
        self._names: set[str] = set()

    def add(self, member: Member) -> None:
        """Add a member that is not a workspace file; its name must not be in use."""
        self._names.add(member.name)
        self._members.append(member)

    def leave_out(self, note: str) -> None:
        """Name something that is left out, and why, in the archive's note."""
        self._skipped.append(note)

    def add_files(
        self, workspace: Workspace, selected: Sequence[RelPath] = (), prefix: str = ""
    ) -> None:
        """Add files and whole folders; the whole workspace if none is selected.

        The common parent is stripped: ``a/b`` and ``a/c/d`` become ``b`` and ``c/d``.
        """
        top_level, common_parent = _top_level(selected)
        with workspace.open_root(ROOT) as root:
            for path, info in _walk_selected(workspace, root, top_level):
                if len(self._members) == MAX_MEMBERS:
                    self._skipped.append(f"everything from {paths.display_text(path)} on")
                    return
                name = prefix + path[len(common_parent) :].lstrip("/")
                self._add_path(workspace, name, RelPath.trusted(path), info)

    def add_versions(
        self, versions: FileVersions, step: int, selected: Sequence[RelPath] = ()
    ) -> None:
        """Add files as they were after a step; otherwise like ``add_files``."""
        if not versions.recorded:
            raise WorkspaceError("This run has no file versions.")
        top_level, common_parent = _top_level(selected)
        below = [entry for entry in versions.entries_below("", step) if not entry.later]
        for path in top_level:
            if not any(each.path == path or each.path.startswith(f"{path}/") for each in below):
                raise WorkspaceError(f"“{path.display}” was not there after step {step}.")
        for entry in sorted(below, key=lambda each: each.path):
            if top_level and not (entry.path in top_level or _inside_any(entry.path, top_level)):
                continue
            if len(self._members) == MAX_MEMBERS:
                self._skipped.append(f"everything from {paths.display_text(entry.path)} on")
                return
            name = entry.path[len(common_parent) :].lstrip("/")
            self._add_node(versions, step, name, RelPath.trusted(entry.path), entry.node)

    def build(self) -> ZipStream:
        """Return the archive."""
        return ZipStream(self._members, self._skipped, self._unique_name(NOTE_NAME))

    def _add_path(
        self, workspace: Workspace, name: str, path: RelPath, info: os.stat_result | OSError
    ) -> None:
        if isinstance(info, OSError):
            self._skipped.append(str(paths.to_workspace_error(info, path)))
            return
        problem = ""
        if info.st_size > FALLBACK_READ_LIMIT and not _is_readable(info):
            problem = "the application may not read it"
        elif _is_sparse(info):
            problem = f"{format_size(info.st_size)}, nearly all of it holes"
        file = Member(
            name, info.st_size, info.st_mtime, info.st_mode, partial(workspace.open_read, path)
        )
        self._add_member(path, kind_from_mode(info.st_mode), file, problem)

    def _add_node(
        self, versions: FileVersions, step: int, name: str, path: RelPath, node: Node
    ) -> None:
        problem = "" if node.stored else f"not kept, {node.reason or 'it was not read'}"
        content = partial(versions.open_content, path, step, node)
        self._add_member(
            path, node.kind, Member(name, node.size, time.time(), node.mode, content), problem
        )

    def _add_member(self, path: RelPath, kind: str, file: Member, problem: str) -> None:
        """Add a file or a folder, or say why it is left out: a file has ``problem``, if any."""
        if len(os.fsencode(file.name)) > _MAX_NAME_BYTES:
            self._skipped.append(f"…{path.display[-200:]}: its name is too long")
        elif kind == "folder":
            name = f"{self._unique_name(file.name)}/"
            self._members.append(Member(name, 0, file.mtime, stat.S_IFDIR | 0o755))
        elif kind != "file":
            self._skipped.append(f"{path.display}: {'a link' if kind == 'link' else 'special'}")
        elif problem:
            self._skipped.append(f"{path.display}: {problem}")
        else:
            mode = stat.S_IFREG | file.mode & 0o777
            self._members.append(replace(file, name=self._unique_name(file.name), mode=mode))

    def _unique_name(self, path: str) -> str:
        base = name = paths.display_text(path).replace("\\", "%5C")
        number = 2
        while name in self._names:
            name = f"{base} ({number})"
            number += 1
        self._names.add(name)
        return name


def _top_level(selected: Sequence[RelPath]) -> tuple[Sequence[RelPath], str]:
    """Return the selected paths that are in no other one, and their common parent."""
    top_level = [path for path in dict.fromkeys(selected) if not _inside_any(path, selected)]
    common = os.path.commonpath([path.parent for path in top_level]) if top_level else ""
    return top_level, common


def _walk_selected(
    workspace: Workspace, root: int, top_level: Sequence[RelPath]
) -> Iterator[tuple[str, os.stat_result | OSError]]:
    if not top_level:
        yield from walk(root, "")
    for path in top_level:
        with workspace.open_root(path):
            info = paths.lstat_below(root, path)
        yield path, info
        if stat.S_ISDIR(info.st_mode):
            yield from walk(root, path)


def _inside_any(path: str, selected: Sequence[RelPath]) -> bool:
    return any(path.startswith(f"{other}/") for other in selected)


def _is_sparse(info: os.stat_result) -> bool:
    """Whether a file is huge but almost all holes, which an archive would expand."""
    return info.st_size > _SPARSE_MIN_SIZE and info.st_blocks * 512 * _SPARSE_RATIO < info.st_size


def _is_readable(info: os.stat_result) -> bool:
    return os.geteuid() in (0, info.st_uid) or bool(info.st_mode & 0o044)
