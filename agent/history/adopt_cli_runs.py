"""Moves the command line's runs from subfolders (``candidate_folders``) into the data folder."""

import logging
from collections.abc import Callable
from pathlib import Path

from agent.data_folder import DataFolder, candidate_folders
from agent.errors import DataFolderLocked, StudioError
from agent.events import RunEnded
from agent.runs import journal
from agent.runs.event_recorder import OpenRound, end_interrupted_rounds
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.workspace.versions.blobs import BlobStore

_SETS = ("comparisons", "evaluations")
_log = logging.getLogger(__name__)


def move_cli_runs(
    data: Path,
    blobs: BlobStore,
    remove_leftovers: Callable[[DataFolder], None] | None = None,
    *,
    ended: bool = True,
) -> None:
    """Move the runs of unlocked ``candidate_folders`` to the data folder; skip failures.

    ``remove_leftovers`` removes a killed process's containers, whose runs then end as interrupted;
    it reports and raises ``StudioError`` if it cannot. Without it and with ``ended``, only ended
    runs move: the container of another may still exist.
    """
    for place in candidate_folders(data)[1:]:
        if not any((place / name).is_dir() for name in ("runs", *_SETS)):
            continue
        try:
            with DataFolder(place) as folder:
                cleaned = remove_leftovers is not None and _clean_up(folder, remove_leftovers)
                _move_folders(place, data, blobs, ended=ended and not cleaned)
        except DataFolderLocked:
            continue
        except OSError:
            _log.exception("Runs of the command line cannot be moved out of %s", place)


def _clean_up(place: DataFolder, remove_leftovers: Callable[[DataFolder], None]) -> bool:
    """End the runs of a killed process; return whether none of its containers is left."""
    if all(_is_movable(folder, ended=True) for folder in RunFolder.all(place.path)):
        return True
    try:
        remove_leftovers(place)
    except StudioError:
        return False
    end_interrupted_rounds(place.path)
    return True


def _move_folders(place: Path, data: Path, blobs: BlobStore, *, ended: bool) -> None:
    """Move contents before records, which need them; an experiment only with all of its runs."""
    folders = list(RunFolder.all(place))
    movable = [folder for folder in folders if _is_movable(folder, ended=ended)]
    left = {folder.id for folder in folders} - {folder.id for folder in movable}
    incomplete = {folder.comparison for folder in folders if folder.id in left} - {""}
    found = [folder for folder in movable if folder.comparison not in incomplete]
    if found:
        for name in ("runs", "sandboxes"):
            (data / name).mkdir(mode=0o700, exist_ok=True)
        with blobs.protected():
            blobs.merge(BlobStore(place / "blobs"))
            for folder in found:
                if folder.journal.exists() and not _is_movable(folder, ended=True):
                    OpenRound(data, folder.id).begin()
                if folder.sandbox_folder.is_dir():
                    volume.move(folder.sandbox_folder, data / "sandboxes" / folder.sandbox)
                folder.path.rename(data / "runs" / folder.id)
    _move_sets(place, data)


def _move_sets(place: Path, data: Path) -> None:
    """Move the comparisons and evaluations of which no run is left."""
    left = {folder.comparison for folder in RunFolder.all(place)}
    for parent in _SETS:
        for path in (place / parent).glob("[!.]*"):  # a name with a dot is being deleted
            if path.name not in left:
                (data / parent).mkdir(mode=0o700, exist_ok=True)
                path.rename(data / parent / path.name)


def _is_movable(folder: RunFolder, *, ended: bool) -> bool:
    """Return whether a run can be moved; of those that did not begin, one of an evaluation."""
    if not folder.journal.exists():
        return not ended and bool(folder.comparison)
    return not ended or journal.ends_with(folder.journal, RunEnded)
