"""A run's files move into the sandbox that it gets, whoever is giving it more meanwhile."""

import shutil
from contextlib import suppress
from pathlib import Path

from agent.folder import RunFolder
from agent.workspace.files import STAGING


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
    shutil.rmtree(left, ignore_errors=True)


def _move_staging(source: Path, destination: Path) -> None:
    """Let uploads under way, and what can be brought back, come along."""
    if (source / STAGING).is_dir():
        (destination / STAGING).mkdir(mode=0o700, exist_ok=True)
        _move(source / STAGING, destination / STAGING)


def _move(source: Path, destination: Path) -> None:
    """Move what a person has put into a workspace to another, both of them still untouched."""
    for path in source.iterdir():
        place = destination / path.name
        if place.is_dir() and path.is_dir():
            _move(path, place)
        else:
            path.rename(place)
    with suppress(OSError):
        source.rmdir()
