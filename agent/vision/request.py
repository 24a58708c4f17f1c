"""What is asked of the drawing process, and what it answers."""

import json
from dataclasses import asdict, dataclass, field

from agent.documents.drawing_error import DrawingError
from agent.util.text import plural
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
    """A file to draw; its bytes follow. Without ``draws`` it is only described.

    ``view_range`` has the first and the last page or frame, from 1, -1 for the end; None for the
    usual ones. With ``separate``, each page of a PDF is a picture of its own, and as many are drawn
    as can be in one process; at least one.
    """

    kind: Kind
    limits: DrawingLimits = field(default_factory=DrawingLimits)
    view_range: tuple[int, int] | None = None
    draws: bool = True
    separate: bool = False

    def to_json(self) -> str:
        """Return it as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: bytes) -> "DrawingRequest":
        """Return what ``to_json`` wrote."""
        values = json.loads(line)
        return cls(**values | {"limits": DrawingLimits(**values["limits"])})


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
    """The pictures of a file, the ``text`` in it, a ``remark``, and a PDF's ``count`` of pages."""

    remark: str
    text: str = ""
    pictures: tuple[Drawn, ...] = ()
    count: int = 0


def checked_range(view_range: tuple[int, int], count: int, noun: str) -> tuple[int, int]:
    """Return the first and the last part that a range names; ``DrawingError`` if there is none."""
    first, last = view_range[0], count if view_range[1] == -1 else min(view_range[1], count)
    if not 1 <= first <= count:
        raise DrawingError(f"There is no {noun} {first}: the file has {plural(count, noun)}.")
    if last < first:
        raise DrawingError(f"view_range {list(view_range)} ends before it begins.")
    return first, last
