"""Helpers for workspaces with hostile files."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

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
