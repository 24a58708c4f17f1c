"""Conversion of a message's events into the pieces of one answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.models.base import (
    CallPiece,
    Finish,
    FinishReason,
    Piece,
    ReasoningPiece,
    TextPiece,
    ToolSchema,
    Usage,
)
from agent.models.endpoint.answer import AnswerParser
from agent.models.endpoint.writing import Writing
from agent.models.messages.request import BLOCKS, THINKING
from agent.models.parsing.fragments import SurrogateJoiner
from agent.models.parsing.opaque import bounded

_STOP_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_KEPT = ("type", "thinking", "signature", "data")
_KINDS = ("text", "tool_use", *THINKING)
_MAX_BLOCKS = 1000


class MessageParser(AnswerParser):
    """Converter of events (parsed JSON of any shape) into pieces; failures are events."""

    def __init__(self, writing: Writing, tools: Sequence[ToolSchema] = ()) -> None:
        super().__init__(writing, tools)
        self._blocks: dict[int, _Block] = {}
        self._calls = 0
        self._reason = ""
        self._is_stopped = False
        self._counts: dict[str, int] = {}

    @property
    def is_complete(self) -> bool:
        """Whether the endpoint reported that the answer is complete."""
        return bool(self._reason) or self._is_stopped

    def feed(self, event: object) -> Iterator[Piece]:
        """Yield the pieces of an event, or of a whole message; malformed parts are ignored."""
        if not isinstance(event, Mapping):
            return
        match event.get("type"):
            case "message":
                yield from self._whole(event)
            case "message_start" if isinstance(message := event.get("message"), Mapping):
                self._count(message.get("usage"))
            case "content_block_start":
                yield from self._begin(_index(event), event.get("content_block"))
            case "content_block_delta":
                yield from self._delta(_index(event), event.get("delta"))
            case "content_block_stop":
                yield from self._end(_index(event))
            case "message_delta":
                self._count(event.get("usage"))
                self._take_reason(event.get("delta"))
            case "message_stop":
                self._is_stopped = bool(self._blocks) or self._is_stopped

    def finish(self) -> Iterator[Piece]:
        """Yield the remaining pieces, then the ``Finish``."""
        for index in list(self._blocks):
            yield from self._end(index)
        yield from self._content(self._content_parser.flush(), None)
        reason = _STOP_REASONS.get(self._reason, "other" if self._reason else "stop")
        if reason in ("stop", "tool_calls"):
            reason = "tool_calls" if self._has_calls else "stop"
        blocks = [self._blocks[index].kept() for index in sorted(self._blocks)]
        has_thinking = any(block["type"] in THINKING for block in blocks)
        opaque = bounded(self._family, {BLOCKS: blocks} if has_thinking else {})
        yield Finish(reason, self.usage, opaque=opaque)

    def _whole(self, message: Mapping[str, Any]) -> Iterator[Piece]:
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else []):
            yield from self._begin(index, block)
            yield from self._end(index)
        self._count(message.get("usage"))
        self._take_reason(message)
        self._is_stopped = True

    def _begin(self, index: int, start: object) -> Iterator[Piece]:
        if not isinstance(start, Mapping) or index in self._blocks:
            return
        if len(self._blocks) >= _MAX_BLOCKS:
            return
        block = self._blocks[index] = _Block(start.get("type"))
        if block.kind == "tool_use":
            block.position, self._calls = self._calls, self._calls + 1
            yield from self._begun_call(block.position, start.get("id"), start.get("name"))
            if isinstance(given := start.get("input"), Mapping):
                block.input = self._kept_size.add_json(given)
        for key in ("thinking", "signature", "data"):
            yield from self._keep(block, key, start.get(key))
        yield from self._text(block, start.get("text"))

    def _delta(self, index: int, delta: object) -> Iterator[Piece]:
        if not isinstance(delta, Mapping):
            return
        if index not in self._blocks:  # some servers begin no block
            kind = {"thinking_delta": "thinking", "text_delta": "text"}.get(str(delta.get("type")))
            yield from self._begin(index, {"type": kind} if kind else None)
        block = self._blocks.get(index)
        if block is None:
            return
        match delta.get("type"):
            case "text_delta":
                yield from self._text(block, delta.get("text"))
            case "thinking_delta":
                yield from self._keep(block, "thinking", delta.get("thinking"))
            case "signature_delta":
                yield from self._keep(block, "signature", delta.get("signature"))
            case "input_json_delta" if block.kind == "tool_use":
                yield from self._arguments(block, delta.get("partial_json"))

    def _end(self, index: int) -> Iterator[Piece]:
        block = self._blocks.get(index)
        if block is None or block.is_ended:
            return
        block.is_ended = True
        if block.kind == "thinking" and (rest := block.joiner.flush()):
            yield ReasoningPiece(rest)
        if block.kind == "text":
            yield from self._content(self._content_parser.feed(block.joiner.flush()), block)
        if block.kind == "tool_use" and not block.has_arguments:
            yield from self._arguments(block, block.input)

    def _text(self, block: "_Block", text: object) -> Iterator[Piece]:
        if isinstance(text, str) and text and block.kind == "text":
            joined = block.joiner.feed(self._size.add(text))
            yield from self._content(self._content_parser.feed(joined), block)

    def _keep(self, block: "_Block", key: str, text: object) -> Iterator[Piece]:
        if not isinstance(text, str) or block.kind not in THINKING:
            return
        block.parts.setdefault(key, []).append(self._size.add(text))
        if key == "thinking" and (joined := block.joiner.feed(text)):
            yield ReasoningPiece(joined)

    def _arguments(self, block: "_Block", text: object) -> Iterator[Piece]:
        if isinstance(text, str) and text:
            block.has_arguments = True
            yield CallPiece(block.position, arguments=block.joiner.feed(self._size.add(text)))

    def _content(self, pieces: Iterator[Any], block: "_Block | None") -> Iterator[Piece]:
        for piece in self._tracked(pieces):
            if isinstance(piece, TextPiece) and block is not None:
                block.length += len(piece.text)
            yield piece

    def _take_reason(self, container: object) -> None:
        reason = container.get("stop_reason") if isinstance(container, Mapping) else None
        self._reason = reason if isinstance(reason, str) else self._reason

    def _count(self, usage: object) -> None:
        if isinstance(usage, Mapping):
            self._counts |= {  # a last event with 0 for what the first one counted says nothing
                key: count
                for key, count in usage.items()
                if type(count) is int and (count > 0 or (count == 0 and key not in self._counts))
            }
            self.usage = _usage(self._counts)


class _Block:
    """A block of the answer being received."""

    def __init__(self, kind: object) -> None:
        self.kind = str(kind) if kind in _KINDS else ""
        self.parts: dict[str, list[str]] = {}
        self.length = 0
        self.position = 0
        self.input = "{}"
        self.has_arguments = False
        self.is_ended = False
        self.joiner = SurrogateJoiner()

    def kept(self) -> dict[str, Any]:
        """Return what is to be given back: a stub for texts and calls."""
        if self.kind == "text":
            return {"type": "text", "length": self.length}
        parts = {key: "".join(texts) for key, texts in self.parts.items()}
        return {"type": self.kind, **{key: parts[key] for key in _KEPT if key in parts}}


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    return index if type(index) is int else 0


def _usage(counts: Mapping[str, int]) -> Usage | None:
    cached = counts.get("cache_read_input_tokens")
    written = counts.get("cache_creation_input_tokens")
    prompt = counts.get("input_tokens", 0) + (cached or 0) + (written or 0)
    if not prompt:
        return None
    return Usage.of(prompt, counts.get("output_tokens", 0), cached=cached, cache_written=written)
