"""The folder of a run or an experiment: its record with title, pin and shared links."""

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from agent.util.text import without_controls

MAX_TITLE = 200
ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedRecord:
    """Fields that an owner can change, of runs and experiments alike."""

    title: str = ""
    share_link_digests: tuple[str, ...] = ()
    pinned: bool = False


Record = TypeVar("Record", bound=OwnedRecord)


class OwnedFolder(ABC, Generic[Record]):
    """``<data>/<kind>/<id>`` with a record in a file, which is replaced as a whole."""

    def __init__(self, record_file: Path, record: Record, owner: str) -> None:
        self.path = record_file.parent
        self.id = self.path.name
        self.data = record_file.parents[2]
        self.owner = owner  # empty for the operator
        self._record_file = record_file
        self._record = record
        self._lock = threading.Lock()

    @property
    def title(self) -> str:
        """The title that the user gave it; empty by default."""
        return self._record.title

    @property
    def pinned(self) -> bool:
        """Whether it is pinned: it cannot be deleted until it is unpinned."""
        return self._record.pinned

    @property
    def share_link_digests(self) -> tuple[str, ...]:
        """The digests of its shared links."""
        return self._record.share_link_digests

    def set_title(self, title: str) -> None:
        """Set the title, as one line without control characters; empty removes it."""
        self._update(title=one_line_title(title))

    def set_pinned(self, pinned: bool) -> None:
        """Pin or unpin it."""
        self._update(pinned=pinned)

    def set_share_link_digests(self, digests: Iterable[str]) -> None:
        """Replace the digests of its shared links."""
        self._update(share_link_digests=tuple(digests))

    @abstractmethod
    def _encode(self, record: Record) -> bytes:
        """Return the content of the record's file."""

    def _update(self, **changes: Any) -> None:
        with self._lock:
            if (new := replace(self._record, **changes)) != self._record:
                self._write(new)

    def _write(self, record: Record) -> None:
        new = self._record_file.with_name(f"{self._record_file.name}.new")
        new.write_bytes(self._encode(record))
        new.replace(self._record_file)
        self._record = record  # only now, so that a full disk changes nothing


def one_line_title(title: str) -> str:
    """Return a title as one line without control characters."""
    return without_controls(" ".join(title.split()))[:MAX_TITLE].strip()
