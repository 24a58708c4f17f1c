"""The data folder: who holds it, and what it is called."""

import fcntl
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from agent.errors import DataFolderBusy
from agent.sandbox import disk

_WITHIN, _SLOTS = "headless", 64


class DataFolder:
    """A data folder, held by this process until it is closed or the process ends.

    It is made where it is missing, and only its owner can look into it.

    Attributes:
        path: The folder.
        instance: Its id, the same at every start; containers carry it as a label.

    Raises:
        DataFolderBusy: another process holds it.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        self.path = path
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
        file = self.path / "instance"
        known = file.read_text().strip() if file.exists() else ""
        if known:
            return known
        fresh = uuid.uuid4().hex
        partial = file.with_suffix(".new")
        partial.write_text(fresh + "\n")
        partial.replace(file)
        return fresh

    def workspace(self, sandbox_id: str) -> Path:
        """The workspace of a sandbox; its parents are made, for the owner only.

        Raises:
            SandboxError: it is on a disk of its own, which cannot be mounted.
        """
        parent = self.path / "sandboxes" / sandbox_id
        for folder in (parent.parent, parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        disk.attach(parent)
        return parent / "workspace"

    def close(self) -> None:
        """Let others have it. May be called twice."""
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


def places(data: Path) -> list[Path]:
    """The data folder, and those within it for who finds it held by another."""
    return [data, *(data / _WITHIN / str(slot) for slot in range(_SLOTS))]


def abandoned(held: DataFolder) -> Iterator[DataFolder]:
    """The places beside ``held``, or within it, that were used once and nobody holds now.

    Each is held while it is looked at; who wants one meanwhile finds the next free.
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
