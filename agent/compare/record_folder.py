"""The folder of a set of runs that was defined once: a comparison, an evaluation.

Its record holds the definition, which never changes, and what its owner may change: title, shared
links, whether it is pinned and whether it was stopped.
"""

import re
import shutil
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from pydantic import TypeAdapter

from agent.data_folder import random_id
from agent.errors import RunError
from agent.util.entry_list import read_bounded

MAX_TITLE = 200
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


class Definition(Protocol):
    """What every definition has; it is a frozen dataclass."""

    @property
    def id(self) -> str:
        """Its id, which cannot be guessed."""

    @property
    def created(self) -> float:
        """When it was created, in seconds since the epoch."""

    @property
    def owner(self) -> str:
        """Its owner; empty for the operator."""


_D = TypeVar("_D", bound=Definition)


@dataclass(frozen=True, slots=True)
class Record(Generic[_D]):
    """The content of the record's file."""

    definition: _D
    title: str = ""
    share_link_digests: tuple[str, ...] = ()
    pinned: bool = False
    stopped: bool = False


@cache
def _adapter(definition: type) -> TypeAdapter[Record[Any]]:
    return TypeAdapter(Record[definition])  # type: ignore[valid-type]


class RecordFolder(Generic[_D]):
    """A folder with a record; ``create`` creates one, ``open`` opens an existing one.

    A subclass names the class of its definitions, their noun, and the folder that contains all.
    Thread-safe; one process writes.
    """

    definition_class: ClassVar[type]
    noun: ClassVar[str]
    parent: ClassVar[str]
    max_record_bytes: ClassVar[int] = 4 * 1024**2

    def __init__(self, data: Path, record: Record[_D]) -> None:
        self.data = data
        self.path = data / self.parent / record.definition.id
        self._record = record
        self._lock = threading.Lock()

    @classmethod
    def create_record(
        cls,
        data: Path,
        definition: _D,
        title: str = "",
        prepare: Callable[[Path], None] = lambda _: None,
    ) -> Self:
        """Create the folder of a new definition; its id and time are set here.

        Args:
            data: The data folder.
            definition: The definition, checked.
            title: A title.
            prepare: Writes what else belongs to the folder, before its record makes it exist.

        Raises:
            OSError: The folder cannot be written.
        """
        changes: dict[str, Any] = {"id": random_id(), "created": time.time()}
        known: Any = definition
        folder = cls(data, Record(replace(known, **changes), one_line_title(title)))
        folder.path.parent.mkdir(mode=0o700, exist_ok=True)
        folder.path.mkdir(mode=0o700)
        try:
            prepare(folder.path)
            folder._write(folder._record)
        except BaseException:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        return folder

    @classmethod
    def open(cls, data: Path, record_id: str) -> Self:
        """Open an existing folder.

        Raises:
            RunError: There is none with this id, or its record cannot be read.
        """
        path = data / cls.parent / record_id / cls._file_name()
        if not _ID.fullmatch(record_id) or not path.is_file():
            raise RunError(not_found_message(cls.noun))
        unreadable = f"The record of {cls.noun} {record_id} cannot be read."
        try:
            content = read_bounded(path, cls.max_record_bytes)
            record = _adapter(cls.definition_class).validate_json(content)
        except (OSError, ValueError) as error:
            raise RunError(unreadable) from error
        if record.definition.id != record_id:
            raise RunError(unreadable)
        return cls(data, record)

    @classmethod
    def exists(cls, data: Path, record_id: str) -> bool:
        """Return whether a data folder has a folder with this id."""
        if not _ID.fullmatch(record_id):
            return False
        return (data / cls.parent / record_id / cls._file_name()).is_file()

    @classmethod
    def find(cls, places: Iterable[Path], record_id: str) -> Self:
        """Open an existing folder in the first data folder that has it.

        Args:
            places: The data folders.
            record_id: The id.

        Raises:
            RunError: None has it, or its record cannot be read.
        """
        for data in places:
            if cls.exists(data, record_id):
                return cls.open(data, record_id)
        raise RunError(not_found_message(cls.noun))

    @classmethod
    def all(cls, data: Path) -> list[Self]:
        """Return all of a data folder, oldest first, except unreadable ones."""
        found = []
        for path in (data / cls.parent).glob(f"*/{cls._file_name()}"):
            with suppress(RunError):
                found.append(cls.open(data, path.parent.name))
        return sorted(found, key=lambda folder: folder.definition.created)

    @property
    def id(self) -> str:
        """Its id."""
        return self._record.definition.id

    @property
    def definition(self) -> _D:
        """The definition."""
        return self._record.definition

    @property
    def owner(self) -> str:
        """The owner; empty for the operator."""
        return self._record.definition.owner

    @property
    def title(self) -> str:
        """The title that the user gave it; empty by default."""
        return self._record.title

    @property
    def pinned(self) -> bool:
        """Whether it is pinned: it cannot be deleted until it is unpinned."""
        return self._record.pinned

    @property
    def stopped(self) -> bool:
        """Whether the user stopped it; continuing it resets this."""
        return self._record.stopped

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

    def set_stopped(self, stopped: bool) -> None:
        """Record that the user stopped or continued it."""
        self._update(stopped=stopped)

    def set_share_link_digests(self, digests: Iterable[str]) -> None:
        """Replace the digests of its shared links."""
        self._update(share_link_digests=tuple(digests))

    def delete(self) -> None:
        """Delete the folder; the runs remain. Raises ``OSError``."""
        with self._lock:
            gone = self.path.with_name(f".{self.id}.deleted")
            self.path.rename(gone)  # at once: a reader finds all of it or nothing
            shutil.rmtree(gone)

    @classmethod
    def _file_name(cls) -> str:
        return f"{cls.noun}.json"

    def _update(self, **changes: Any) -> None:
        with self._lock:
            self._write(replace(self._record, **changes))

    def _write(self, record: Record[_D]) -> None:
        path = self.path / self._file_name()
        new = path.with_name(f"{path.name}.new")
        new.write_bytes(_adapter(self.definition_class).dump_json(record))
        new.replace(path)
        self._record = record  # only now, so that a full disk changes nothing


def not_found_message(noun: str) -> str:
    """Return the message that there is no such comparison or evaluation."""
    return f"There is no such {noun}. It may have been deleted."


def one_line_title(title: str) -> str:
    """Return a title as one line without control characters."""
    line = " ".join(title.split())
    kept = (each for each in line if unicodedata.category(each) not in ("Cc", "Cs"))
    return "".join(kept)[:MAX_TITLE].strip()
