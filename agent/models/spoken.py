"""What a model wrote as one text, parted into reasoning, text and calls."""

from collections.abc import Iterable, Iterator

from agent.models.base import CallPiece, ReasoningPiece, TextPiece
from agent.models.text_calls import TextCallSplitter
from agent.models.think import ThinkSplitter

Spoken = ReasoningPiece | TextPiece | CallPiece


class SpokenReader:
    """Parts a streamed text, however it is cut into fragments.

    Args:
        calls: Whether tool calls are read from the text.
    """

    def __init__(self, calls: bool) -> None:
        self._think = ThinkSplitter()
        self._split = TextCallSplitter() if calls else None

    def feed(self, text: str) -> Iterator[Spoken]:
        """What can be said about the text so far, beyond what was said before."""
        return self._parted(self._think.feed(text))

    def flush(self) -> Iterator[Spoken]:
        """What was held back, at the end of the text."""
        yield from self._parted(self._think.flush())
        if self._split is not None:
            yield from self._split.flush()

    def _parted(self, pieces: Iterable[TextPiece | ReasoningPiece]) -> Iterator[Spoken]:
        for piece in pieces:
            if self._split is None or isinstance(piece, ReasoningPiece):
                yield piece
            else:
                yield from self._split.feed(piece.text)
