"""What is asked of the drawing process, and what it answers."""

from dataclasses import dataclass

from agent.vision.kinds import Kind

MAX_SHEET = 12
"""Maximum number of pages or frames on one contact sheet."""

MAX_TEXT = 10_000
"""Maximum number of characters of a document's text."""


@dataclass(frozen=True, slots=True)
class DrawingLimits:
    """What one picture may have, as sent to the model."""

    side: int = 1568  # pixels of the longest side
    bytes: int = 1_000_000


@dataclass(frozen=True, slots=True)
class DrawingRequest:
    """A file to draw; its bytes follow.

    ``first`` and ``last`` are pages or frames, from 1; None for the usual ones, -1 for the end.
    Without ``draws`` it is only described.
    """

    kind: Kind
    draws: bool
    side: int
    bytes: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture, and the part of the file that it shows: "page 37"; empty for all of it."""

    data: bytes
    media_type: str
    width: int
    height: int
    part: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is said of a file to the model, and the pictures of it.

    ``text`` is what can be read in it; ``remark`` names its size, colours and what is shown.
    """

    remark: str
    text: str = ""
    pictures: tuple[Drawn, ...] = ()
