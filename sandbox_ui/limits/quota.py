"""Storage quota of one user's runs, and of what they are sending."""

import shutil
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from agent.errors import QuotaExceeded, StorageFull
from agent.util.text import format_size
from agent.workspace.transfer.uploads import MIN_FREE_BYTES
from sandbox_ui.history.catalog import Catalog

_NO_SPACE = "The file is larger than the storage that your runs may still use. Delete some first."
_DISK_FULL = "The studio's disk has no space for the file. Free some space and try again."


@dataclass(slots=True)
class Reservation:
    """Bytes of a file that is being received; they are released with the block."""

    _owner: str
    _reserved: Counter[str]
    _lock: threading.Lock
    _free: int | None
    _data: Path
    size: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def grow(self, size: int) -> None:
        """Reserve more bytes; raise ``StorageFull`` beyond the user's quota or the disk's space."""
        if shutil.disk_usage(self._data).free < MIN_FREE_BYTES + size:
            raise StorageFull(_DISK_FULL)
        with self._lock:
            if self._free is not None and self._reserved[self._owner] + size > self._free:
                raise StorageFull(_NO_SPACE)
            self._reserved[self._owner] += size
            self.size += size

    def release(self) -> None:
        """Release the bytes, because they are deleted or counted as a run's."""
        with self._lock:
            self._reserved[self._owner] -= self.size
            self.size = 0
            if not self._reserved[self._owner]:
                del self._reserved[self._owner]


class Quota:
    """Storage quota per user in bytes, None for no limit. The operator has none."""

    def __init__(self, catalog: Catalog, limit: int | None, data: Path) -> None:
        self._catalog = catalog
        self._limit = limit
        self._data = data
        self._reserved: Counter[str] = Counter()
        self._lock = threading.Lock()

    def remaining(self, owner: str) -> int | None:
        """Return the bytes that a user's runs may still use; None for no limit."""
        return self._left(owner, self._free(owner))

    def reserve(self, owner: str) -> Reservation:
        """Return a reservation of 0 bytes; raise ``QuotaExceeded`` if the quota is used up."""
        free = self._free(owner)
        self._require(self._left(owner, free))
        return Reservation(owner, self._reserved, self._lock, free, self._data)

    def check(self, owner: str, size: int = 0) -> None:
        """Raise ``QuotaExceeded`` if a user's quota is used up, or has no ``size`` bytes left."""
        self._require(self.remaining(owner), size)

    def _free(self, owner: str) -> int | None:
        """Return the bytes that stored files leave of a user's quota; None for no limit."""
        if self._limit is None or not owner:
            return None
        return self._limit - self._catalog.measured_bytes(owner)

    def _left(self, owner: str, free: int | None) -> int | None:
        """Return the free bytes without those that are reserved."""
        return None if free is None else max(0, free - self._reserved[owner])

    def _require(self, remaining: int | None, size: int = 0) -> None:
        if remaining is None or remaining >= max(1, size):
            return
        quota = format_size(self._limit or 0)
        problem = (
            f"This needs {format_size(size)}, and {format_size(remaining)} of your quota of "
            f"{quota} are left. Nothing was copied."
            if remaining
            else f"Your runs use your entire quota of {quota}."
        )
        raise QuotaExceeded(
            f"{problem} Delete some runs: “Storage and limits” under History shows which use the "
            "most. Drafts are deleted after a week."
        )
