"""Split a model's text output into reasoning, text and tool calls."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, groupby

from agent.models.base import (
    CallPiece,
    ModelNotice,
    ReasoningPiece,
    TextPiece,
    TextWasReasoning,
    ToolSchema,
)
from agent.models.parsing.repair import new_call_id
from agent.models.parsing.text_calls.blocks import FoundCalls
from agent.models.parsing.text_calls.forms import Call
from agent.models.parsing.text_calls.splitter import CallSplitter
from agent.models.parsing.think import ThinkPiece, ThinkSplitter

_AFTER_CALL = re.compile(r"(?:\s*</tool_call>)?\n*")

ContentPiece = ReasoningPiece | TextPiece | TextWasReasoning | CallPiece | ModelNotice

TEXT_CALLS_NOTICE = (
    "The model's tool calls came as text, which its server did not recognise as calls; they were "
    "read from the text. To avoid this, start the server with the tool-call parser of the model."
)


class ContentParser:
    """Incremental splitter of a text stream; works for any fragment boundaries.

    Calls in the text are held back, with what follows, until ``flush``: they count only if the
    endpoint sends no call of its own (``end_text_calls``), or at once if tools are ``described``.
    """

    def __init__(self, tools: Sequence[ToolSchema] = (), *, described: bool = False) -> None:
        self._think_splitter = ThinkSplitter()
        self._call_splitter = CallSplitter(tools, described=described)
        self._held: list[TextPiece | FoundCalls] = []

    @property
    def before_text(self) -> str:
        """The blocks of reasoning before the text, as they came."""
        return self._think_splitter.before_text

    def feed(self, text: str) -> Iterator[ContentPiece]:
        """Process a fragment; yield the new pieces that are certain so far."""
        return self._split_calls(self._think_splitter.feed(text))

    def end_text_calls(self) -> Iterator[ContentPiece]:
        """Yield what is held back as text: the endpoint sends calls of its own."""
        yield from self._release_held()
        yield from self._hold_calls(self._call_splitter.release())

    def flush(self) -> Iterator[ContentPiece]:
        """Yield the remaining pieces at the end of the text."""
        yield from self._split_calls(self._think_splitter.flush())
        yield from self._hold_calls(self._call_splitter.flush())
        held, self._held = self._held, []
        if held:
            yield ModelNotice(TEXT_CALLS_NOTICE)
        index = count()
        for is_text, pieces in groupby(held, lambda piece: isinstance(piece, TextPiece)):
            if is_text:
                text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
                rest = text[_text_after_call(text) :]
                yield from [TextPiece(rest)] if rest else []
                continue
            for name, arguments in _calls(pieces):
                yield CallPiece(next(index), new_call_id(), name, arguments)

    def _split_calls(self, pieces: Iterable[ThinkPiece]) -> Iterator[ContentPiece]:
        for piece in pieces:
            if isinstance(piece, TextPiece):
                yield from self._hold_calls(self._call_splitter.feed(piece.text))
                continue
            if isinstance(piece, TextWasReasoning):
                yield from self._release_held()
                yield from self._hold_calls(self._call_splitter.restart())
            yield piece

    def _hold_calls(
        self, pieces: Iterable[TextPiece | ReasoningPiece | CallPiece | FoundCalls]
    ) -> Iterator[ContentPiece]:
        """Yield the pieces before the first call that may count, and reasoning."""
        for piece in pieces:
            if isinstance(piece, FoundCalls) or (isinstance(piece, TextPiece) and self._held):
                self._held.append(piece)
            else:
                yield piece

    def _release_held(self) -> Iterator[ContentPiece]:
        held, self._held = self._held, []
        for piece in held:
            yield piece if isinstance(piece, TextPiece) else TextPiece(piece.raw)


def _calls(pieces: Iterable[TextPiece | FoundCalls]) -> Iterator[Call]:
    for piece in pieces:
        if isinstance(piece, FoundCalls):
            yield from piece.calls


def _text_after_call(text: str) -> int:
    """Return where the text after a call begins: after a left-over closing tag and line breaks."""
    match = _AFTER_CALL.match(text)
    return match.end() if match else 0
