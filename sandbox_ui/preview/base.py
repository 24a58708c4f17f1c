"""Request and response types of previews.

Each kind of file has a module in this package with a function ``view(file, request)`` and a
counterpart in ``static/preview/`` that renders the result. The function runs in a separate
process with resource limits (``worker``), because its input is untrusted. It reads no other
file and raises ``PreviewError`` if it cannot show the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol


class PreviewError(Exception):
    """The file cannot be shown; the message tells the user why."""


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """A preview request.

    Attributes:
        size: File size in bytes.
        options: Options of the kind, such as a page, sheet or offset; empty in the first request.
        second_file: The earlier version in a comparison, or the write-ahead log of a database.
    """

    name: str
    size: int
    options: Mapping[str, str] = field(default_factory=dict)
    second_file: BinaryIO | None = None

    @property
    def extension(self) -> str:
        """File extension in lower case, without the dot; empty if there is none."""
        return self.name.rpartition(".")[2].lower() if "." in self.name else ""

    @property
    def languages(self) -> list[str]:
        """Languages of the reader as tags, best first."""
        return self.options.get("languages", "").split()

    def int_option(
        self, option: str, default: int, *, minimum: int = 0, maximum: int = 2**53
    ) -> int:
        """Return an integer option clamped to its bounds, or the default if invalid."""
        try:
            return min(max(int(self.options.get(option, "")), minimum), maximum)
        except ValueError:
            return default


@dataclass(frozen=True, slots=True)
class JsonPreview:
    """JSON-serialisable data for the page; any HTML in it is sanitised."""

    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BinaryPreview:
    """Content that the browser displays directly, and its media type."""

    content: bytes
    media_type: str


Preview = JsonPreview | BinaryPreview


class Renderer(Protocol):
    """The ``view`` function of a kind's module."""

    def __call__(self, file: BinaryIO, request: PreviewRequest, /) -> Preview:
        """Render a preview of a seekable file opened for reading.

        Raises:
            PreviewError: The file cannot be shown.
        """
