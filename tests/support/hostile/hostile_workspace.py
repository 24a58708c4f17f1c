"""A workspace to be filled by somebody hostile, and an archive of it."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.archive import Packing
from agent.workspace.transfer.zip_stream import LEFT_OUT

F = RelPath("output/f")


def zipped(workspace: Workspace, *paths: RelPath) -> ZipFile:
    packing = Packing()
    packing.take(workspace, paths)
    return ZipFile(BytesIO(b"".join(packing.zip().chunks())))


def left_out(archive: ZipFile) -> str:
    notes = [name for name in archive.namelist() if name.startswith(Path(LEFT_OUT).stem)]
    return archive.read(notes[0]).decode() if notes else ""
