"""A folder of the workspace as a zip file that streams while it is made."""

import io
import os
import stat
import time
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.tree import walk

LEFT_OUT = "LEFT-OUT.txt"
_CHUNK = 256 * 1024


def stream_zip(workspace: Workspace, folder: RelPath) -> Iterator[bytes]:
    """The zip of what ``folder`` holds, in chunks, in constant memory.

    Names are relative to ``folder``; bytes that are no UTF-8 are written ``%FF``. Links and
    special files are left out. A file that grows meanwhile is cut at the size it had when it
    was opened. Whatever was left out is listed in ``LEFT-OUT.txt`` at the end.

    Raises:
        WorkspaceError: ``folder`` is not there (with the first chunk).
    """
    sink = _Sink()
    archive = zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    left_out: list[str] = []
    try:
        with workspace.opened(folder) as root, paths.opened_folder(root, folder):
            for path, info in walk(root, folder):
                if isinstance(info, OSError):
                    left_out.append(str(paths.explain(info, path)))
                    continue
                name = _name(archive, path[len(folder) :].lstrip("/"))
                yield from _member(archive, sink, workspace, (name, path, info), left_out)
        if left_out:
            name = _name(archive, LEFT_OUT)
            archive.writestr(name, "\n".join(left_out) + "\n")
    finally:
        archive.close()
    yield sink.take()


class _Sink(io.RawIOBase):
    """What a zip is written to: it cannot be read or sought, only emptied."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        raise io.UnsupportedOperation("a stream")

    def write(self, data: object) -> int:
        chunk = bytes(memoryview(data))  # type: ignore[arg-type]
        self._chunks.append(chunk)
        return len(chunk)

    def take(self) -> bytes:
        whole = b"".join(self._chunks)
        self._chunks.clear()
        return whole


def _name(archive: zipfile.ZipFile, path: str) -> str:
    """``path`` as valid Unicode that no member has yet."""
    name, number = paths.shown(path), 2
    while name in archive.NameToInfo or f"{name}/" in archive.NameToInfo:
        name = f"{paths.shown(path)} ({number})"
        number += 1
    return name


def _member(
    archive: zipfile.ZipFile,
    sink: _Sink,
    workspace: Workspace,
    found: tuple[str, str, os.stat_result],
    left_out: list[str],
) -> Iterator[bytes]:
    name, path, seen = found
    mode = seen.st_mode
    if stat.S_ISDIR(mode):
        archive.writestr(zipfile.ZipInfo(name + "/", _date(seen.st_mtime)), b"")
    elif stat.S_ISREG(mode):
        try:
            file = workspace.open_read(RelPath.trusted(path))
        except WorkspaceError as error:
            left_out.append(str(error))
            return
        with file:
            info = zipfile.ZipInfo(name, _date(seen.st_mtime))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (stat.S_IFREG | mode & 0o777) << 16
            yield from _content(archive, sink, file, info)
    else:
        left_out.append(f"{paths.shown(path)}: {'a link' if stat.S_ISLNK(mode) else 'special'}")


def _content(
    archive: zipfile.ZipFile, sink: _Sink, file: BinaryIO, info: zipfile.ZipInfo
) -> Iterator[bytes]:
    left = file.seek(0, io.SEEK_END)
    file.seek(0)
    with archive.open(info, "w", force_zip64=True) as member:
        while left and (chunk := file.read(min(_CHUNK, left))):
            left -= len(chunk)
            member.write(chunk)
            if ready := sink.take():
                yield ready


def _date(seconds: float) -> tuple[int, int, int, int, int, int]:
    """A zip's date: local time, from 1980 on, in the range that the format holds."""
    moment = time.localtime(min(max(seconds, 315619200), 4354819199))
    return moment[0], moment[1], moment[2], moment[3], moment[4], moment[5]
