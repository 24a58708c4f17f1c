"""A run's files move into the sandbox that it gets, whoever is giving it more meanwhile."""

import errno
import shutil
import threading
from contextlib import suppress
from pathlib import Path

from agent.folder import RunFolder
from agent.sandbox import disk
from agent.workspace import paths
from agent.workspace.files import STAGING
from agent.workspace.tree import walk

_LIGHT_BYTES, _LIGHT_FILES = 64 * 1024**2, 2_000
"""What is copied faster than a container is made."""
_DEEP = 100
"""Folders in each other; more of them are no one's work, and take more than the copying."""


def light(folder: RunFolder) -> bool:
    """Whether moving a run's files is worth while, which are copied from one disk to another.

    Not where there is much of them, or while an upload is written. To be asked, and acted on,
    while ``folder.settling`` is held.
    """
    if not disk.image(folder.sandbox_folder).exists():
        return True  # a rename, and what is being written is none the wiser
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
    """Let a run's files, and uploads under way, live in another sandbox from now on.

    Args:
        folder: The run's folder; what lies in its workspace was put there by a person.
        sandbox: The sandbox's id.
        workspace: Its workspace, untouched as yet.
    """
    left = folder.sandbox_folder
    with folder.settling:  # nobody puts a file where it would be left behind
        _move(folder.workspace, workspace)
        _move_staging(left, workspace.parent)
        folder.use(sandbox)
    _leave(left)


def _leave(folder: Path) -> None:
    """Remove what was moved out of; a disk's end takes longer than a run should wait for.

    Where the process ends meanwhile, the next start finds a folder that no run names.
    """
    if disk.image(folder).exists():
        threading.Thread(target=disk.discard, args=(folder,), daemon=True).start()
    else:
        disk.discard(folder)


def _move_staging(source: Path, destination: Path) -> None:
    """Let uploads under way, and what can be brought back, come along."""
    if (source / STAGING).is_dir():
        (destination / STAGING).mkdir(mode=0o700, exist_ok=True)
        _move(source / STAGING, destination / STAGING)


def _move(source: Path, destination: Path) -> None:
    """Move what a person has put into a workspace to another, both of them still untouched."""
    for path in source.iterdir():
        place = destination / path.name
        if _is_folder(place) and _is_folder(path):
            _move(path, place)
        else:
            _carry(path, place)
    with suppress(OSError):
        source.rmdir()


def _is_folder(path: Path) -> bool:
    """Whether it is one itself, and no link to one."""
    return path.is_dir() and not path.is_symlink()


def _carry(path: Path, place: Path) -> None:
    """Rename it; from one disk to another, copy it."""
    try:
        path.rename(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        if _is_folder(path):
            shutil.copytree(path, place, symlinks=True)
        else:
            shutil.copy2(path, place, follow_symlinks=False)
