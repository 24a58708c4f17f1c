"""Request and response types of previews.

A kind of file has a module with ``view(file, request)``, which runs in a separate process with
resource limits (``worker``), since its input is untrusted, reads no other file and raises
``PreviewError`` if it cannot show the file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from agent.documents.drawing_error import DrawingError

PreviewError = DrawingError
"""The file cannot be shown; the message tells the user why."""


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """A preview request."""

    name: str
    size: int  # in bytes
    options: Mapping[str, str] = field(default_factory=dict)  # of the kind; none in the first one
    second_file: BinaryIO | None = None  # the earlier version, or a database's write-ahead log

    @property
    def extension(self) -> str:
        """File extension in lower case, without the dot; empty if there is none."""
        return self.name.rpartition(".")[2].lower() if "." in self.name else ""

    @property
    def languages(self) -> list[str]:
        """Languages of the reader as tags, best first."""
        return self.options.get("languages", "").split()

    def int_option(
        self, option: str, default: int = 0, *, minimum: int = 0, maximum: int = 2**53
    ) -> int:
        """Return an integer option clamped to its bounds, or the default if invalid."""
        try:
            return min(max(int(self.options.get(option, "")), minimum), maximum)
        except ValueError:
            return default


@dataclass(frozen=True, slots=True)
class BinaryPreview:
    """Content that the browser displays directly, and its media type."""

    content: bytes
    media_type: str


Preview = dict[str, Any] | BinaryPreview
"""Data for the page as JSON, any HTML in it sanitised; or content that the browser displays."""

Renderer = Callable[[BinaryIO, PreviewRequest], Preview]
"""The ``view`` of a kind, which takes a seekable file opened for reading."""
