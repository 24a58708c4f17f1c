"""Split a model's text output into reasoning, text and tool calls."""

from collections.abc import Iterable, Iterator

from agent.models.base import CallPiece, ReasoningPiece, TextPiece
from agent.models.parsing.text_tool_calls import TextCallSplitter
from agent.models.parsing.think import ThinkSplitter

ContentPiece = ReasoningPiece | TextPiece | CallPiece


class ContentParser:
    """Incremental splitter of a text stream; works for any fragment boundaries.

    Args:
        parse_calls: Whether to parse tool calls from the text.
    """

    def __init__(self, parse_calls: bool) -> None:
        self._think_splitter = ThinkSplitter()
        self._call_splitter = TextCallSplitter() if parse_calls else None

    @property
    def before_text(self) -> str:
        """The blocks of reasoning before the text, as they came."""
        return self._think_splitter.before_text

    def feed(self, text: str) -> Iterator[ContentPiece]:
        """Process a fragment; yield the new pieces that are certain so far."""
        return self._split_calls(self._think_splitter.feed(text))

    def flush(self) -> Iterator[ContentPiece]:
        """Yield the remaining pieces at the end of the text."""
        yield from self._split_calls(self._think_splitter.flush())
        if self._call_splitter is not None:
            yield from self._call_splitter.flush()

    def _split_calls(self, pieces: Iterable[TextPiece | ReasoningPiece]) -> Iterator[ContentPiece]:
        for piece in pieces:
            if self._call_splitter is None or isinstance(piece, ReasoningPiece):
                yield piece
            else:
                yield from self._call_splitter.feed(piece.text)
