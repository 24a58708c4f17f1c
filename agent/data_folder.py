"""The data folder: its lock and its instance id."""

import fcntl
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from agent.errors import DataFolderBusy, DataFolderUnusable
from agent.sandbox.disk import volume
from agent.util.state_files import set_aside

_WITHIN, _SLOTS = "headless", 64
_INSTANCE = re.compile(rb"[0-9a-f]{32}")


class DataFolder:
    """A data folder, locked by this process until it is closed or the process ends.

    It is created if missing, and only its owner has access.

    Attributes:
        path: The folder.
        instance: Its id, the same at every start; containers carry it as a label.

    Raises:
        DataFolderBusy: Another process holds the lock.
        DataFolderUnusable: The folder cannot be created or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.chmod(0o700)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DataFolderUnusable(
                f"The data folder {path} can't be used: {_reason(error)}. Choose another folder, "
                "which this user may write, with STUDIO_DATA."
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise DataFolderBusy(
                f"{path} is used by another instance of this program. "
                "Stop that one, or choose another data folder."
            ) from None
        self.instance = self._known_instance()

    def _known_instance(self) -> str:
        known = instance_of(self.path)
        if known:
            return known
        fresh, file = uuid.uuid4().hex, self.path / "instance"
        if file.exists():
            set_aside(file, "it is no instance's id. Containers of before are not known any more.")
        partial = file.with_suffix(".new")
        partial.write_text(fresh + "\n")
        partial.replace(file)
        return fresh

    def workspace(self, sandbox_id: str) -> Path:
        """Return a sandbox's workspace path; create its parents, for the owner only.

        Raises:
            SandboxError: The workspace has its own disk image, which cannot be mounted.
        """
        parent = self.path / "sandboxes" / sandbox_id
        for folder in (parent.parent, parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        volume.attach(parent)
        return parent / "workspace"

    def close(self) -> None:
        """Release the lock. May be called twice."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> "DataFolder":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _reason(error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{error.filename} is not a folder"
    return f"{error.filename}: {(error.strerror or str(error)).lower()}"


def data_folder(workspace: Path) -> Path:
    """Return the data folder that contains a workspace; see ``DataFolder.workspace``."""
    return workspace.parents[2]


def instance_of(data: Path) -> str:
    """Return a data folder's id; empty if missing or invalid. Raises ``OSError``."""
    try:
        known = (data / "instance").read_bytes().strip()
    except FileNotFoundError:
        return ""
    return known.decode() if _INSTANCE.fullmatch(known) else ""


def places(data: Path) -> list[Path]:
    """Return the data folder and its subfolders for use while it is locked."""
    return [data, *(data / _WITHIN / str(slot) for slot in range(_SLOTS))]


def abandoned(held: DataFolder) -> Iterator[DataFolder]:
    """Yield the other ``places`` that were used before and are not locked now.

    Each is locked while the caller handles it; a process that wants one takes the next free one.
    """
    within = held.path.parent.name == _WITHIN
    for place in places(held.path.parent.parent if within else held.path)[1:]:
        if not (place / "instance").is_file():
            continue
        try:
            folder = DataFolder(place)
        except DataFolderBusy:
            continue
        with folder:
            yield folder
