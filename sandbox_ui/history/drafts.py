"""Drafts: runs whose owner has given files but no task yet."""

import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.errors import RunError, StudioError
from agent.runs.disk_usage import sandbox_on_disk
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.workspace import paths, tree
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT

_NAMED = 3
_COUNTED = 20_000
_Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Draft:
    """A run that has not started.

    Attributes:
        run: The run's id.
        at: Time of creation, seconds since the epoch.
        size: Bytes on disk of its files.
        files: Number of files, counted up to 20,000.
        names: Names of the first few files.
    """

    run: str
    at: float
    size: int
    files: int
    names: tuple[str, ...]


class Drafts:
    """Lists drafts; mounts a draft's own disk image only if it has changed.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._known: dict[str, tuple[_Stamp, Draft]] = {}

    def of(self, owner: str | None = None) -> list[Draft]:
        """Return all users' drafts, or one user's, newest first."""
        found = []
        for folder in folders(self._data, owner):
            with suppress(OSError, StudioError):  # it is being deleted
                found.append(self._draft(folder))
        self._known = {run: known for run, known in self._known.items() if self._is_there(run)}
        return sorted(found, key=lambda draft: draft.at, reverse=True)

    def _is_there(self, run: str) -> bool:
        return (self._data / "runs" / run).is_dir()

    def _draft(self, folder: RunFolder) -> Draft:
        stamp = _stamp(folder)
        known = self._known.get(folder.id)
        if known is not None and stamp == known[0] and not volume.attached(folder.sandbox_folder):
            return known[1]
        files, names = _listed(folder)
        size = sandbox_on_disk(folder.sandbox_folder)
        draft = Draft(folder.id, folder.created, size, files, names)
        if stamp is not None:
            self._known[folder.id] = stamp, draft
        return draft


def folders(data: Path, owner: str | None = None) -> list[RunFolder]:
    """Return the folders of all users' drafts, or one user's, in no particular order."""
    found = []
    for run in RunFolder.ids(data):
        with suppress(RunError):
            if not (data / "runs" / run / "journal.jsonl").exists():
                folder = RunFolder.open(data, run)
                if owner is None or folder.owner == owner:
                    found.append(folder)
    return found


def _stamp(folder: RunFolder) -> _Stamp | None:
    """Return a stamp of the draft's disk image; None if it has no image."""
    try:
        info = volume.image(folder.sandbox_folder).stat()
    except FileNotFoundError:
        return None
    return info.st_mtime_ns, info.st_blocks


def _listed(folder: RunFolder) -> tuple[int, tuple[str, ...]]:
    names: list[str] = []
    count = 0
    with Workspace(folder.workspace).opened(ROOT) as root:
        for path, info in tree.walk(root, ROOT):
            if isinstance(info, OSError) or not stat.S_ISREG(info.st_mode):
                continue
            count += 1
            if len(names) < _NAMED:
                names.append(paths.shown(path.rpartition("/")[2]))
            if count >= _COUNTED:
                break
    return count, tuple(names)
