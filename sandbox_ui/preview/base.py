"""Request and response types of previews.

Each kind of file has a module in this package with a function ``view(file, ask)`` and a
counterpart in ``static/preview/`` that renders the result. The function runs in a separate
process with resource limits (``worker``), because its input is untrusted. It reads no other
file and raises ``Unreadable`` if it cannot show the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol


class Unreadable(Exception):
    """The file cannot be shown; the message tells the user why."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A preview request.

    Attributes:
        name: Display name of the file.
        size: File size in bytes.
        options: Options of the kind, such as a page, sheet or offset; empty in the first request.
        other: The second file of a comparison.
    """

    name: str
    size: int
    options: Mapping[str, str] = field(default_factory=dict)
    other: BinaryIO | None = None

    @property
    def ending(self) -> str:
        """File extension in lower case, without the dot; empty if there is none."""
        return self.name.rpartition(".")[2].lower() if "." in self.name else ""

    def number(self, option: str, default: int, *, least: int = 0, most: int = 2**53) -> int:
        """Return an integer option clamped to its bounds, or the default if invalid."""
        try:
            return min(max(int(self.options.get(option, "")), least), most)
        except ValueError:
            return default


@dataclass(frozen=True, slots=True)
class View:
    """JSON-serialisable data for the page; any HTML in it is sanitised."""

    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Picture:
    """Content that the browser displays directly, and its media type."""

    content: bytes
    media: str


Answer = View | Picture


class Show(Protocol):
    """The ``view`` function of a kind's module."""

    def __call__(self, file: BinaryIO, ask: Ask, /) -> Answer:
        """Render a preview of a seekable file opened for reading.

        Raises:
            Unreadable: The file cannot be shown.
        """
