"""Conversion of a stream's chunks into the pieces of one answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.models.base import (
    Finish,
    FinishReason,
    Piece,
    ReasoningField,
    ReasoningPiece,
    ToolSchema,
    Usage,
)
from agent.models.chat.opaque import OpaqueCollector
from agent.models.chat.tool_call_deltas import ToolCallAssembler
from agent.models.endpoint.answer import AnswerParser, reported_count
from agent.models.endpoint.writing import Writing
from agent.models.parsing.fragments import SurrogateJoiner
from agent.models.transport.event_stream import END_OF_STREAM

_REASONING_FIELDS: tuple[ReasoningField, ...] = (
    "reasoning_content", "reasoning", "reasoning_text",
)  # fmt: skip
_MIN_REPEATED_LENGTH = 16
"""Minimum characters of a last chunk that repeats the text: a shorter one may be meant."""
_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
}
# Finish reasons with which endpoints report a failure in a stream that ends properly.
_FAILURE_REASONS = {"error", "abort", "insufficient_system_resource", "network_error"}


class StreamParser(AnswerParser):
    """Converter of chunks (parsed JSON of any shape) into pieces, the last one a ``Finish``."""

    def __init__(self, writing: Writing, tools: Sequence[ToolSchema] = ()) -> None:
        super().__init__(writing, tools)
        self._opaque = OpaqueCollector(writing.family, self._size, self._kept_size)
        self._calls = ToolCallAssembler(self._size, self._opaque.add_call, self._tools)
        self._text, self._reasoning = SurrogateJoiner(), SurrogateJoiner()
        self._text_so_far: list[str] = []
        self._text_length = 0
        self._has_reasoning = False
        self._reason = ""
        self._reasoning_field: ReasoningField = "reasoning_content"
        self._started = False
        self._closed = False

    @property
    def is_complete(self) -> bool:
        """Whether the endpoint sent a finish reason, a final usage or the stream's end marker."""
        return bool(self._reason) or self._closed

    @property
    def failure_reason(self) -> str:
        """The finish reason if it reports a failure, else empty."""
        return self._reason if self._reason in _FAILURE_REASONS else ""

    def feed(self, event: object) -> Iterator[Piece]:
        """Yield the pieces of a chunk; malformed parts are ignored."""
        if event is END_OF_STREAM:
            self._closed = self._started
        if not isinstance(event, Mapping):
            return
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        usage = _parse_usage(event.get("usage"))
        if isinstance(choice, Mapping):
            usage = usage or _parse_usage(choice.get("usage"))
            self._closed = False
            if choice.get("index") in (0, None):
                yield from self._parse_choice(choice)
        elif usage is not None:
            self._closed = self._started
        self.usage = usage or self.usage

    def finish(self) -> Iterator[Piece]:
        """Yield the remaining pieces, then the ``Finish``."""
        if half := self._reasoning.flush():
            yield ReasoningPiece(half)
        yield from self._tracked(self._content_parser.feed(self._text.flush()))
        yield from self._tracked(self._content_parser.flush())
        yield from self._tracked(self._calls.flush())
        reason = _FINISH_REASONS.get(self._reason, "other" if self._reason else "stop")
        if reason in ("stop", "tool_calls"):
            reason = "tool_calls" if self._has_calls else "stop"
        opaque = self._opaque.collected(
            before_text=self._content_parser.before_text,
            has_reasoning=self._has_reasoning,
            has_calls=self._has_calls,
        )
        field = self._reasoning_field
        yield Finish(reason, self.usage, reasoning_field=field, opaque=opaque)

    def _parse_choice(self, choice: Mapping[str, Any]) -> Iterator[Piece]:
        delta, message = choice.get("delta"), choice.get("message")
        reason = choice.get("finish_reason")
        if isinstance(delta, Mapping):
            yield from self._parse_delta(delta, is_last=bool(reason))
        elif isinstance(message, Mapping) and not self._started:  # else it repeats the deltas
            yield from self._parse_delta(message)
        if isinstance(reason, str) and reason:
            self._reason = reason.lower()

    def _parse_delta(self, delta: Mapping[str, Any], *, is_last: bool = False) -> Iterator[Piece]:
        self._started = True
        parts = _content_parts(delta.get("content"))
        if is_last and self._repeats_text(delta.get("content")):
            parts = []
        details = list(self._opaque.add_details(delta.get("reasoning_details")))
        for key in _REASONING_FIELDS:
            if isinstance(text := delta.get(key), str) and text:
                self._reasoning_field = key
                details = [text]
                break
        self._opaque.add_reasoning(delta.get("reasoning_content"))
        for text in details:
            self._has_reasoning = True
            yield from self._read_reasoning(text)
        for kind, text in [*parts, *_content_parts(delta.get("refusal"))]:
            if kind == "thinking":
                yield from self._read_reasoning(text)
                continue
            self._text_so_far.append(text)
            self._text_length += len(text)
            joined = self._text.feed(self._size.add(text))
            yield from self._tracked(self._content_parser.feed(joined))
        calls = delta.get("tool_calls")
        if calls:
            yield from self._content_parser.end_text_calls()
        for fragment in calls if isinstance(calls, list) else []:
            if isinstance(fragment, Mapping):
                yield from self._tracked(self._calls.feed(fragment))

    def _read_reasoning(self, text: str) -> Iterator[Piece]:
        if joined := self._reasoning.feed(self._size.add(text)):
            yield ReasoningPiece(joined)

    def _repeats_text(self, content: object) -> bool:
        """Return whether the content of the last chunk is the whole text once more."""
        if not isinstance(content, str) or len(content) < _MIN_REPEATED_LENGTH:
            return False
        if len(content) != self._text_length:  # joined only then: an endpoint may end each chunk
            return False
        return len(self._text_so_far) > 1 and content == "".join(self._text_so_far)


def _content_parts(content: object) -> list[tuple[str, str]]:
    """Return ``content``, a string or a list of parts, as pairs of kind and text."""
    if isinstance(content, str):
        return [("text", content)] if content else []
    result = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, Mapping):
            kind = "thinking" if part.get("type") == "thinking" else "text"
            inner = part.get(kind)
            texts = _content_parts(inner) if not isinstance(inner, str) else [("text", inner)]
            result += [(kind, text) for _, text in texts]
    return result


def _parse_usage(value: object) -> Usage | None:
    if not isinstance(value, Mapping) or not (prompt := reported_count(value, "prompt_tokens")):
        return None
    prompt_details = value.get("prompt_tokens_details")
    return Usage.of(
        prompt,
        reported_count(value, "completion_tokens") or 0,
        cached=_first_count(
            (prompt_details, "cached_tokens"),
            (value, "prompt_cache_hit_tokens"),
            (value, "cached_tokens"),
            (value, "cache_read_input_tokens"),  # LiteLLM
        ),
        reasoning=reported_count(value.get("completion_tokens_details"), "reasoning_tokens"),
        cache_written=_first_count(
            (prompt_details, "cache_write_tokens"),  # OpenRouter
            (prompt_details, "cache_creation_tokens"),  # LiteLLM
            (prompt_details, "cache_creation_input_tokens"),  # DashScope
            (value, "cache_creation_input_tokens"),  # Anthropic
        ),
    )


def _first_count(*places: tuple[object, str]) -> int | None:
    """Return the first positive count, else 0 if any is reported, else None."""
    counts = [each for place in places if (each := reported_count(*place)) is not None]
    return next(filter(None, counts), 0) if counts else None
