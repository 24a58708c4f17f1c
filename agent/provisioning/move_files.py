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

_MAX_BYTES, _MAX_FILES = 64 * 1024**2, 2_000
"""Limits up to which copying is faster than creating a container."""
_MAX_DEPTH = 100
"""Maximum folder depth; deeper trees are not real work and cost more than copying their files."""


def is_cheap_to_move(folder: RunFolder) -> bool:
    """Return whether moving a run's files is cheap: a rename, or a copy of few files.

    The caller must hold ``folder.workspace_lock`` during this call and the move.
    """
    if folder.is_untouched or not volume.disk_image(folder.sandbox_folder).exists():
        return True  # at most a rename, which does not disturb uploads in progress
    left_bytes, left_files = _MAX_BYTES, _MAX_FILES
    with paths.host_folder_fd(folder.workspace.parent) as root:
        for path, info in walk(root, ""):
            above, _, name = path.rpartition("/")
            if isinstance(info, OSError) or (above == STAGING and _being_written(name)):
                return False
            left_files -= 1
            left_bytes -= info.st_size
            if left_files < 0 or left_bytes < 0 or above.count("/") > _MAX_DEPTH:
                return False
    return True


def _being_written(name: str) -> bool:
    return name.startswith("part-") or (name.startswith("upload-") and not name.endswith(".json"))


def move_to_sandbox(folder: RunFolder, sandbox: str, workspace: Path) -> None:
    """Move a run's files, which are only the user's, and its uploads to an unused sandbox."""
    old_folder = folder.sandbox_folder
    with folder.workspace_lock:  # no file may be added to the old folder meanwhile
        if not folder.is_untouched:
            _move_files(folder.workspace, workspace)
            _move_staging(old_folder, workspace.parent)
        volume.leave(old_folder, folder.id)
        folder.set_sandbox(sandbox)
    _remove_old_folder(old_folder)


def _remove_old_folder(folder: Path) -> None:
    """Remove the old folder; in the background if it has a disk, which takes longer."""
    if volume.disk_image(folder).exists() and not volume.is_unused(folder):
        threading.Thread(target=volume.discard, args=(folder,), daemon=True).start()
    else:
        volume.discard(folder)


def _move_staging(source: Path, destination: Path) -> None:
    """Move uploads in progress and deleted files that can be restored."""
    if (source / STAGING).is_dir():
        (destination / STAGING).mkdir(mode=0o700, exist_ok=True)
        _move_files(source / STAGING, destination / STAGING)


def _move_files(source: Path, destination: Path) -> None:
    """Move the user's files to another workspace; no sandbox has used either of them yet."""
    for path in source.iterdir():
        target = destination / path.name
        if _is_folder(target) and _is_folder(path):
            _move_files(path, target)
        else:
            _move_entry(path, target)
    with suppress(OSError):
        source.rmdir()


def _is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder and not a link to one."""
    return path.is_dir() and not path.is_symlink()


def _move_entry(path: Path, target: Path) -> None:
    """Rename ``path``, or copy it between disks; replace an empty folder at ``target``."""
    if _is_folder(target):
        target.rmdir()
    try:
        path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        if _is_folder(path):
            shutil.copytree(path, target, symlinks=True)
        else:
            shutil.copy2(path, target, follow_symlinks=False)
