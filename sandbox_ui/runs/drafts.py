"""Drafts: runs whose owner has given files but no task yet."""

import os
import stat
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.errors import RunError, StudioError
from agent.history.indexing import Listing, OwnChanges
from agent.runs.disk_usage import bytes_on_disk, sandbox_bytes_on_disk
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.workspace import paths, tree
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT

_MAX_NAMES = 3
_MAX_FILES = 20_000
_Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Draft:
    """A run that has not started; up to 20,000 files are counted, the first few are named."""

    run: str
    at: float
    size: int
    files: int
    names: tuple[str, ...]


class DraftList:
    """Finds and describes drafts; mounts a draft's disk only if that changed. Thread-safe."""

    def __init__(self, data: Path, own: OwnChanges | None = None) -> None:
        self._data = data
        self._own = own or OwnChanges(data)
        self._listing = Listing(self._own)
        self._runs = data / "runs"
        self._lock = threading.Lock()
        self._known = set[str]()
        self._waiting: set[str] = set()  # runs that had not begun
        self._cache: dict[str, tuple[_Stamp, Draft]] = {}

    def for_owner(self, owner: str | None = None) -> list[Draft]:
        """Return all users' drafts, or one user's, newest first."""
        drafts = []
        for folder in self.folders(owner):
            if folder.comparison:
                continue  # it is about to start
            with suppress(OSError, StudioError):  # it is being deleted
                drafts.append(self._draft(folder))
        return sorted(drafts, key=lambda draft: draft.at, reverse=True)

    def folders(self, owner: str | None = None) -> list[RunFolder]:
        """Return the folders of all users' drafts, or one user's, in no particular order."""
        folders = []
        for run in self._find():
            with suppress(RunError):
                folder = RunFolder.open(self._data, run)
                if owner is None or folder.owner == owner:
                    folders.append(folder)
        return folders

    def sizes(self, owner: str | None = None) -> list[int]:
        """Return the measured bytes on disk of each draft, of all users or of one."""
        return [
            bytes_on_disk(folder.path) + sandbox_bytes_on_disk(folder.sandbox_folder)
            for folder in self.folders(owner)
        ]

    def add(self, run: str) -> None:
        """Report a new run, so that the folder of runs need not be listed for it."""
        with self._lock:
            self._known.add(run)
            self._waiting.add(run)

    def _find(self) -> list[str]:
        """Return the runs that have not begun."""
        with self._lock:
            changed = self._own.time()
            if not self._listing.is_current(changed):
                self._listing.done(changed)
                ids = set(RunFolder.ids(self._data))
                self._waiting = (self._waiting | ids - self._known) & ids
                self._known = ids
            self._waiting = {run for run in self._waiting if self._is_waiting(run)}
            self._cache = {run: self._cache[run] for run in self._cache.keys() & self._waiting}
            return list(self._waiting)

    def _is_waiting(self, run: str) -> bool:
        folder = f"{self._runs}/{run}"  # a Path for each run takes longer than the system calls
        return not os.path.exists(f"{folder}/journal.jsonl") and os.path.isdir(folder)  # noqa: PTH110, PTH112

    def _draft(self, folder: RunFolder) -> Draft:
        stamp = _stamp(folder)
        cached = self._cache.get(folder.id)
        if (
            cached is not None
            and stamp == cached[0]
            and not volume.is_attached(folder.sandbox_folder)
        ):
            return cached[1]
        files, names = _count_files(folder)
        size = sandbox_bytes_on_disk(folder.sandbox_folder)
        draft = Draft(folder.id, folder.created, size, files, names)
        if stamp is not None:
            self._cache[folder.id] = stamp, draft
        return draft


def _stamp(folder: RunFolder) -> _Stamp | None:
    """Return a stamp of the draft's disk image; None if it has no image."""
    try:
        info = volume.disk_image(folder.sandbox_folder).stat()
    except FileNotFoundError:
        return None
    return info.st_mtime_ns, info.st_blocks


def _count_files(folder: RunFolder) -> tuple[int, tuple[str, ...]]:
    names: list[str] = []
    count = 0
    with Workspace(folder.workspace).open_root(ROOT) as root:
        for path, info in tree.walk(root, ROOT):
            if isinstance(info, OSError) or not stat.S_ISREG(info.st_mode):
                continue
            count += 1
            if len(names) < _MAX_NAMES:
                names.append(paths.display_text(path.rpartition("/")[2]))
            if count >= _MAX_FILES:
                break
    return count, tuple(names)
