"""What a preview is asked and what it answers.

Each kind of file has a module here with a function ``view(file, ask)`` and a twin in
``static/preview/`` that puts the answer on the page. The function runs in a process of its
own with limits (``worker``), since what it parses is hostile; it reads no other file, and
what it cannot show it says with ``Unreadable``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol


class Unreadable(Exception):
    """The file cannot be shown; the text is a sentence for the person that says why."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What the page wants to see of a file.

    Attributes:
        name: The file's name, as it is shown.
        size: Its bytes.
        options: What the kind understands: a page, a sheet, an offset; none for the first look.
        other: A second file, where two are compared.
    """

    name: str
    size: int
    options: Mapping[str, str] = field(default_factory=dict)
    other: BinaryIO | None = None

    @property
    def ending(self) -> str:
        """The name's ending in lower case, without the dot; empty where there is none."""
        return self.name.rpartition(".")[2].lower() if "." in self.name else ""

    def number(self, option: str, default: int, *, least: int = 0, most: int = 2**53) -> int:
        """A whole number among the options, moved into its bounds; anything else is the default."""
        try:
            return min(max(int(self.options.get(option, "")), least), most)
        except ValueError:
            return default


@dataclass(frozen=True, slots=True)
class View:
    """What the page's twin is given: values that JSON can hold. HTML in it is sanitised."""

    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Picture:
    """Bytes that the browser shows by itself, and their media type."""

    content: bytes
    media: str


Answer = View | Picture


class Show(Protocol):
    """The ``view`` of a kind's module."""

    def __call__(self, file: BinaryIO, ask: Ask, /) -> Answer:
        """Look at a file, which is seekable and opened for reading.

        Raises:
            Unreadable: it cannot be shown.
        """
