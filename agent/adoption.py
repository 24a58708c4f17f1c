"""Runs of the command line, taken into the data folder that the page holds.

While the page holds the data folder, the command line works in a place within it
(``agent.sandbox.instance.places``). What it did there is brought home when nobody holds the
place any more, so that all of a person's runs are in one list.
"""

import logging
from pathlib import Path

from agent import journal
from agent.errors import DataFolderBusy
from agent.events import RunEnded
from agent.folder import RunFolder
from agent.sandbox import disk
from agent.sandbox.instance import DataFolder, places
from agent.workspace.blobs import BlobStore

_log = logging.getLogger(__name__)


def adopt(data: Path, blobs: BlobStore, *, ended: bool = True) -> None:
    """Move the runs of the places that nobody holds here; what cannot be moved stays there.

    Args:
        data: The data folder, which this process holds.
        blobs: Its store of contents.
        ended: Only runs that came to their end; another's container may still be there.
    """
    for place in places(data)[1:]:
        if not (place / "runs").is_dir():
            continue
        try:
            with DataFolder(place):
                _adopt(place, data, blobs, ended=ended)
        except DataFolderBusy:
            continue
        except OSError:
            _log.exception("Runs of the command line cannot be moved out of %s", place)


def _adopt(place: Path, data: Path, blobs: BlobStore, *, ended: bool) -> None:
    """Contents first and records last: whenever this is cut off, nothing names what is not here."""
    found = [folder for folder in RunFolder.all(place) if _begun(folder, ended=ended)]
    if not found:
        return
    for name in ("runs", "sandboxes"):
        (data / name).mkdir(mode=0o700, exist_ok=True)
    with blobs.relied_on():
        blobs.take_over(BlobStore(place / "blobs"))
        for folder in found:
            if folder.sandbox_folder.is_dir():
                disk.move(folder.sandbox_folder, data / "sandboxes" / folder.sandbox)
            folder.path.rename(data / "runs" / folder.id)


def _begun(folder: RunFolder, *, ended: bool) -> bool:
    if not folder.journal.exists():
        return False
    return not ended or journal.ends_in(folder.journal, RunEnded)
