"""What the readers of the three APIs' answers have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agent.models.base import CallPiece, Piece, ToolSchema, Usage
from agent.models.endpoint.writing import Writing
from agent.models.parsing.content import ContentParser, ContentPiece
from agent.models.parsing.repair import new_call_id, resolve_tool_name
from agent.models.transport.bounds import AnswerSizeCounter, KeptSizeCounter, check_call_count


class AnswerParser(ABC):
    """The reader of one answer; ignores malformed events and bounds what it keeps."""

    usage: Usage | None
    """The token counts so far, as the endpoint reported them."""

    def __init__(self, writing: Writing, tools: Sequence[ToolSchema] = ()) -> None:
        self.usage = None
        self._family = writing.family
        self._tools = {tool.name for tool in tools}
        self._size, self._kept_size = AnswerSizeCounter(), KeptSizeCounter()
        described = writing.tool_call_style == "text"
        self._content_parser = ContentParser(tools, described=described)
        self._has_calls = False

    @property
    @abstractmethod
    def is_complete(self) -> bool:
        """Whether the endpoint said that the answer is complete."""

    @property
    def failure_reason(self) -> str:
        """The finish reason if it reports a failure, else empty."""
        return ""

    @abstractmethod
    def feed(self, event: object) -> Iterator[Piece]:
        """Yield the pieces of an event, of a whole unstreamed body, or of ``END_OF_STREAM``."""

    @abstractmethod
    def finish(self) -> Iterator[Piece]:
        """Yield the remaining pieces, then the ``Finish``."""

    def _tracked(self, pieces: Iterable[ContentPiece]) -> Iterator[ContentPiece]:
        """Yield pieces, and remember and bound the calls among them."""
        for piece in pieces:
            if isinstance(piece, CallPiece):
                self._has_calls = True
                check_call_count(piece.index + 1)
            yield piece

    def _begun_call(self, index: int, call_id: object, name: object) -> Iterator[Piece]:
        """Yield the beginning of a call; calls in the text count no longer."""
        yield from self._tracked(self._content_parser.end_text_calls())
        call_id = call_id if isinstance(call_id, str) and call_id else new_call_id()
        name = resolve_tool_name(name, self._tools) if isinstance(name, str) else ""
        yield from self._tracked([CallPiece(index, call_id, name)])


def reported_count(container: object, key: str) -> int | None:
    """Return a reported count; None if it is missing or not a count."""
    value = container.get(key) if isinstance(container, Mapping) else None
    return value if type(value) is int and value >= 0 else None
