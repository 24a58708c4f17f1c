"""Helpers for workspaces with hostile files."""

import os
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from agent.errors import ToolError
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.archive import ArchiveBuilder
from agent.workspace.transfer.zip_stream import NOTE_NAME

FILE_PATH = RelPath("output/f")


def zip_workspace(workspace: Workspace, *paths: RelPath) -> ZipFile:
    builder = ArchiveBuilder()
    builder.add_files(workspace, paths)
    return ZipFile(BytesIO(b"".join(builder.build().chunks())))


def read_omission_note(archive: ZipFile) -> str:
    notes = [name for name in archive.namelist() if name.startswith(Path(NOTE_NAME).stem)]
    return archive.read(notes[0]).decode() if notes else ""


def make_deep_folders(root: Path, levels: int, name: str = "d") -> None:
    """Make nested folders beyond the path limit, with a file ``end`` in the last one."""
    folder_fd = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=folder_fd)
        subfolder_fd = os.open(name, os.O_RDONLY, dir_fd=folder_fd)
        os.close(folder_fd)
        folder_fd = subfolder_fd
    os.close(os.open("end", os.O_CREAT | os.O_WRONLY, dir_fd=folder_fd))
    os.close(folder_fd)


class RootsFiles:
    """The access of a sandbox, which has root's rights, to a workspace."""

    def __init__(self) -> None:
        self.removed: list[str] = []

    def read(self, path: str, *, limit: int) -> bytes:
        if "refused" in path:
            raise ToolError(f"it is larger than {limit} bytes: too large")
        return b"from the sandbox: " + path.encode()

    def remove(self, path: str) -> None:
        self.removed.append(path)
