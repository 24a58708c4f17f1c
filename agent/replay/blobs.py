"""Access to stored contents of files, which another process may be writing."""

from pathlib import Path
from typing import BinaryIO, Protocol

from agent.errors import JournalError

_HEX = frozenset("0123456789abcdef")


class Contents(Protocol):
    """A store of contents, such as a ``BlobStore``."""

    def open(self, digest: str) -> BinaryIO:
        """Open a content; the caller closes it. Raises ``JournalError`` if it is not stored."""


class StoredContents:
    """The contents in the folder of a ``BlobStore``, for reading only.

    Args:
        folder: The folder, which need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, digest: str) -> BinaryIO:
        """See ``Contents.open``."""
        if len(digest) != 64 or not _HEX.issuperset(digest):
            raise JournalError("This is not a content hash.")
        try:
            return (self._folder / digest[:2] / digest).open("rb")
        except OSError as error:
            raise JournalError("The content of this file version is not stored.") from error
