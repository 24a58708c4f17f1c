"""The data folder: its lock, its instance id, and the ids of what it contains."""

import fcntl
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from agent.errors import DataFolderLocked, DataFolderUnusable
from agent.sandbox.disk import volume
from agent.util.closing import ClosingContext
from agent.util.state_files import rename_damaged

_SUBFOLDERS, _MAX_SUBFOLDERS = "headless", 64
_INSTANCE_ID = re.compile(rb"[0-9a-f]{32}")


def random_id() -> str:
    """Return an unguessable id of 16 URL-safe characters; "-" at its start would be an option."""
    while (value := secrets.token_urlsafe(12)).startswith("-"):
        pass
    return value


class DataFolder(ClosingContext):
    """A data folder, locked until it is closed; ``instance_id`` is the same at every start.

    Raises ``DataFolderLocked``, or ``DataFolderUnusable`` if it cannot be created or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.chmod(0o700)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DataFolderUnusable(
                f"The data folder {path} cannot be used: {_reason(error)}. Set STUDIO_DATA to a "
                "folder that this user may write to."
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise DataFolderLocked(
                f"Another instance of this program uses {path}. "
                "Stop it, or choose another data folder."
            ) from None
        self.instance_id = self._load_or_create_instance_id()

    def _load_or_create_instance_id(self) -> str:
        known = read_instance_id(self.path)
        if known:
            return known
        fresh, file = secrets.token_hex(16), self.path / "instance"
        if file.exists():
            rename_damaged(
                file, "it is not an instance id. Earlier containers are no longer recognized."
            )
        partial = file.with_suffix(".new")
        partial.write_text(fresh + "\n")
        partial.replace(file)
        return fresh

    def workspace(self, sandbox_id: str) -> Path:
        """Return a sandbox's workspace path; create its parents, for the owner only."""
        parent = self.path / "sandboxes" / sandbox_id
        for folder in (parent.parent, parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        volume.attach(parent)
        return parent / "workspace"

    def create_sandbox(self, disk: int | None) -> str:
        """Create a sandbox's folder, with a disk of this size if possible; return its id."""
        sandbox_id = secrets.token_hex(16)
        folder = self.path / "sandboxes" / sandbox_id
        try:
            volume.create(folder, disk)
        except OSError:
            volume.discard(folder)
            raise
        return sandbox_id

    def close(self) -> None:
        """Release the lock. May be called twice."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _reason(error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{error.filename} is not a folder"
    return f"{error.filename}: {(error.strerror or str(error)).lower()}"


def data_folder_of_workspace(workspace: Path) -> Path:
    """Return the data folder that contains a workspace; see ``DataFolder.workspace``."""
    return workspace.parents[2]


def read_instance_id(data: Path) -> str:
    """Return a data folder's id; empty if missing or invalid. Raises ``OSError``."""
    try:
        known = (data / "instance").read_bytes().strip()
    except FileNotFoundError:
        return ""
    return known.decode() if _INSTANCE_ID.fullmatch(known) else ""


def candidate_folders(data: Path) -> list[Path]:
    """Return the data folder and its subfolders for use while it is locked."""
    return [data, *(data / _SUBFOLDERS / str(slot) for slot in range(_MAX_SUBFOLDERS))]


def existing_folders(data: Path) -> list[Path]:
    """Return the data folder, its subfolders, and again itself: runs may move there meanwhile."""
    try:
        slots = [path for path in (data / _SUBFOLDERS).iterdir() if path.name.isdecimal()]
    except FileNotFoundError:
        return [data]
    return [data, *sorted(slots), data]


def is_in_use(data: Path) -> bool:
    """Return whether a process holds the lock of a data folder."""
    return is_locked(data / "lock")


def is_locked(file: Path) -> bool:
    """Return whether a process holds the lock on a file, which may be missing."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(opened)
    return False


def lock_first_free(data: Path) -> DataFolder:
    """Lock the data folder or, if another process holds it, the first free subfolder of it."""
    return _lock_first(candidate_folders(data), data)


def lock_free_subfolder(data: Path) -> DataFolder:
    """Lock the first free subfolder of a data folder, which the page may use meanwhile."""
    with suppress(DataFolderLocked), DataFolder(data):
        pass  # it exists, and only its owner has access
    return _lock_first(candidate_folders(data)[1:], data)


def _lock_first(places: Iterable[Path], data: Path) -> DataFolder:
    for path in places:
        try:
            return DataFolder(path)
        except DataFolderLocked:
            continue
    raise DataFolderLocked(
        f"{data} and all of its subfolders for further processes are in use. Wait for a run to end."
    )


def lock_unused_subfolders(own: DataFolder) -> Iterator[DataFolder]:
    """Yield other candidate folders that no process uses, each locked meanwhile."""
    within = own.path.parent.name == _SUBFOLDERS
    for path in candidate_folders(own.path.parent.parent if within else own.path)[1:]:
        if not (path / "instance").is_file():
            continue
        try:
            folder = DataFolder(path)
        except DataFolderLocked:
            continue
        with folder:
            yield folder
