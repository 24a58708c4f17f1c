"""Moves a run's files into its sandbox, safely while files are being uploaded."""

import errno
import shutil
import threading
from contextlib import suppress
from pathlib import Path

from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.workspace import paths
from agent.workspace.files import STAGING
from agent.workspace.tree import walk

_LIGHT_BYTES, _LIGHT_FILES = 64 * 1024**2, 2_000
"""Limits up to which copying is faster than creating a container."""
_DEEP = 100
"""Maximum folder depth; deeper trees are not real work and cost more than copying their files."""


def light(folder: RunFolder) -> bool:
    """Return whether moving a run's files between disks, which copies them, is worthwhile.

    It is not if there are many or large files, or while an upload is being written. The caller
    must hold ``folder.settling`` during this call and the move.
    """
    if not volume.image(folder.sandbox_folder).exists():
        return True  # only a rename, which does not disturb uploads in progress
    left_bytes, left_files = _LIGHT_BYTES, _LIGHT_FILES
    with paths.opened_folder_path(folder.workspace.parent) as root:
        for path, info in walk(root, ""):
            above, _, name = path.rpartition("/")
            if isinstance(info, OSError) or (above == STAGING and _being_written(name)):
                return False
            left_files -= 1
            left_bytes -= info.st_size
            if left_files < 0 or left_bytes < 0 or above.count("/") > _DEEP:
                return False
    return True


def _being_written(name: str) -> bool:
    return name.startswith("part-") or (name.startswith("upload-") and not name.endswith(".json"))


def settle(folder: RunFolder, sandbox: str, workspace: Path) -> None:
    """Move a run's files, and uploads in progress, to another sandbox.

    Args:
        folder: The run's folder; its workspace holds only files that the user put there.
        sandbox: The new sandbox's id.
        workspace: The new sandbox's workspace, not used yet.
    """
    left = folder.sandbox_folder
    with folder.settling:  # no file may be added to the old folder meanwhile
        _move(folder.workspace, workspace)
        _move_staging(left, workspace.parent)
        folder.use(sandbox)
    _leave(left)


def _leave(folder: Path) -> None:
    """Remove the old folder; in the background if it has a disk, which takes longer.

    If the process ends meanwhile, the next start finds a folder that belongs to no run.
    """
    if volume.image(folder).exists():
        threading.Thread(target=volume.discard, args=(folder,), daemon=True).start()
    else:
        volume.discard(folder)


def _move_staging(source: Path, destination: Path) -> None:
    """Move uploads in progress and deleted files that can be restored."""
    if (source / STAGING).is_dir():
        (destination / STAGING).mkdir(mode=0o700, exist_ok=True)
        _move(source / STAGING, destination / STAGING)


def _move(source: Path, destination: Path) -> None:
    """Move the user's files to another workspace; no sandbox has used either of them yet."""
    for path in source.iterdir():
        place = destination / path.name
        if _is_folder(place) and _is_folder(path):
            _move(path, place)
        else:
            _carry(path, place)
    with suppress(OSError):
        source.rmdir()


def _is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder and not a link to one."""
    return path.is_dir() and not path.is_symlink()


def _carry(path: Path, place: Path) -> None:
    """Rename ``path``, or copy it between disks; replace an empty folder at ``place``."""
    if _is_folder(place):
        place.rmdir()
    try:
        path.rename(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        if _is_folder(path):
            shutil.copytree(path, place, symlinks=True)
        else:
            shutil.copy2(path, place, follow_symlinks=False)
