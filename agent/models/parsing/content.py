"""Split a model's text output into reasoning, text and tool calls."""

from collections.abc import Iterable, Iterator

from agent.models.base import CallPiece, ReasoningPiece, TextPiece
from agent.models.parsing.text_tool_calls import TextCallSplitter
from agent.models.parsing.think import ThinkSplitter

Spoken = ReasoningPiece | TextPiece | CallPiece


class SpokenReader:
    """Incremental splitter of a text stream; works for any fragment boundaries.

    Args:
        calls: Whether to parse tool calls from the text.
    """

    def __init__(self, calls: bool) -> None:
        self._think = ThinkSplitter()
        self._split = TextCallSplitter() if calls else None

    def feed(self, text: str) -> Iterator[Spoken]:
        """Process a fragment; yield the new pieces that are certain so far."""
        return self._parted(self._think.feed(text))

    def flush(self) -> Iterator[Spoken]:
        """Yield the remaining pieces at the end of the text."""
        yield from self._parted(self._think.flush())
        if self._split is not None:
            yield from self._split.flush()

    def _parted(self, pieces: Iterable[TextPiece | ReasoningPiece]) -> Iterator[Spoken]:
        for piece in pieces:
            if self._split is None or isinstance(piece, ReasoningPiece):
                yield piece
            else:
                yield from self._split.feed(piece.text)
