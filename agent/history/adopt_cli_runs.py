"""Move runs, comparisons and evaluations of the command line into the page's data folder.

While the page locks the data folder, the command line uses a subfolder of it
(``agent.data_folder.candidate_folders``). Once that is unlocked, its runs are moved to the data
folder, so that all runs appear in one list.
"""

import logging
from pathlib import Path

from agent.data_folder import DataFolder, candidate_folders
from agent.errors import DataFolderLocked
from agent.events import RunEnded
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.workspace.versions.blobs import BlobStore

_log = logging.getLogger(__name__)


def move_cli_runs(data: Path, blobs: BlobStore, *, ended: bool = True) -> None:
    """Move the runs of unlocked ``candidate_folders`` to the data folder; skip failures.

    Args:
        data: The data folder, locked by this process.
        blobs: Its store of file contents.
        ended: Move only ended runs; the container of another run may still exist.
    """
    for place in candidate_folders(data)[1:]:
        if not (place / "runs").is_dir():
            continue
        try:
            with DataFolder(place):
                _move_folders(place, data, blobs, ended=ended)
        except DataFolderLocked:
            continue
        except OSError:
            _log.exception("Runs of the command line cannot be moved out of %s", place)


def _move_folders(place: Path, data: Path, blobs: BlobStore, *, ended: bool) -> None:
    """Move contents first and records last, so that no record lacks its contents."""
    found = [folder for folder in RunFolder.all(place) if _is_movable(folder, ended=ended)]
    if not found:
        return
    for name in ("runs", "sandboxes"):
        (data / name).mkdir(mode=0o700, exist_ok=True)
    with blobs.protected():
        blobs.merge(BlobStore(place / "blobs"))
        for folder in found:
            if folder.sandbox_folder.is_dir():
                volume.move(folder.sandbox_folder, data / "sandboxes" / folder.sandbox)
            folder.path.rename(data / "runs" / folder.id)
    _move_sets(place, data, {folder.id for folder in found})


def _move_sets(place: Path, data: Path, moved: set[str]) -> None:
    """Move comparisons and evaluations of moved runs, unless another of their runs is not yet."""
    started_by = {RunFolder.open(data, run).comparison for run in moved} - {""}
    for name in started_by - {folder.comparison for folder in RunFolder.all(place)}:
        for parent in ("comparisons", "evaluations"):
            if (place / parent / name).is_dir():
                (data / parent).mkdir(mode=0o700, exist_ok=True)
                (place / parent / name).rename(data / parent / name)


def _is_movable(folder: RunFolder, *, ended: bool) -> bool:
    if not folder.journal.exists():
        return False
    return not ended or journal.ends_with(folder.journal, RunEnded)
