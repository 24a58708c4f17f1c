"""Conversion of a stream's chunks into the pieces of one answer."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agent.models.base import (
    CallPiece,
    Finish,
    FinishReason,
    Piece,
    ReasoningField,
    ReasoningPiece,
    Usage,
)
from agent.models.openai.request import clean
from agent.models.openai.tool_call_deltas import CallReader
from agent.models.openai.transport.bounds import AnswerSize, check_calls
from agent.models.parsing.content import SpokenReader

_REASONING_FIELDS: tuple[ReasoningField, ...] = ("reasoning_content", "reasoning")
_REASONS: dict[str, FinishReason] = {
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
_BROKEN = {"error", "abort", "insufficient_system_resource", "network_error"}


class AnswerReader:
    """Converter of chunks (parsed JSON of any shape) into pieces.

    ``end`` yields the ``Finish``.

    Args:
        text_calls: Whether to parse tool calls from the text.

    Raises:
        ModelError: the answer is longer, or has more calls, than ``transport.bounds`` allows.
    """

    def __init__(self, text_calls: bool) -> None:
        self._spoken = SpokenReader(text_calls)
        self._size = AnswerSize()
        self._calls = CallReader(self._size)
        self._reason = ""
        self._any_call = False
        self._reasoning_field: ReasoningField = "reasoning_content"
        self.usage: Usage | None = None
        self._begun = False
        self._closed_by_usage = False

    @property
    def finished(self) -> bool:
        """Whether the endpoint reported that the answer is complete.

        It does so with a finish reason, or, if a server sends none, with a final usage.
        """
        return bool(self._reason) or self._closed_by_usage

    @property
    def broken(self) -> str:
        """The finish reason if it reports a failure, else empty."""
        return self._reason if self._reason in _BROKEN else ""

    def feed(self, chunk: object) -> Iterator[Piece]:
        """Yield the pieces of a chunk; malformed parts are ignored."""
        if not isinstance(chunk, Mapping):
            return
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        usage = _usage(chunk.get("usage"))
        if isinstance(choice, Mapping):
            usage = usage or _usage(choice.get("usage"))
            self._closed_by_usage = False
            if choice.get("index") in (0, None):
                yield from self._choice(choice)
        elif usage is not None:
            self._closed_by_usage = self._begun
        self.usage = usage or self.usage

    def end(self) -> Iterator[Piece]:
        """Yield the remaining pieces, then the ``Finish``."""
        yield from self._noted(self._spoken.flush())
        yield from self._noted(self._calls.flush())
        reason = _REASONS.get(self._reason, "other" if self._reason else "stop")
        if reason in ("stop", "tool_calls"):
            reason = "tool_calls" if self._any_call else "stop"
        yield Finish(reason, self.usage, reasoning_field=self._reasoning_field)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[Piece]:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, Mapping):
            yield from self._delta(delta)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self._reason = reason.lower()

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Piece]:
        self._begun = True
        parts = _parts(delta.get("content"))
        for key in _REASONING_FIELDS:
            if isinstance(text := delta.get(key), str) and text:
                self._reasoning_field = key
                yield ReasoningPiece(self._cleaned(text))
                break
        for kind, text in [*parts, *_parts(delta.get("refusal"))]:
            if kind == "thinking":
                yield ReasoningPiece(self._cleaned(text))
                continue
            yield from self._noted(self._spoken.feed(self._cleaned(text)))
        calls = delta.get("tool_calls")
        for fragment in calls if isinstance(calls, list) else []:
            if isinstance(fragment, Mapping):
                yield from self._noted(self._calls.feed(fragment))

    def _cleaned(self, text: str) -> str:
        return clean(self._size.add(text))

    def _noted(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, CallPiece):
                self._any_call = True
                check_calls(piece.index + 1)
            yield piece


def _parts(content: object) -> list[tuple[str, str]]:
    """Return ``content``, a string or a list of parts, as pairs of kind and text."""
    if isinstance(content, str):
        return [("text", content)] if content else []
    found = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, Mapping):
            kind = "thinking" if part.get("type") == "thinking" else "text"
            inner = part.get(kind)
            texts = _parts(inner) if not isinstance(inner, str) else [("text", inner)]
            found += [(kind, text) for _, text in texts]
    return found


def _usage(value: object) -> Usage | None:
    if not isinstance(value, Mapping) or not _count(value, "prompt_tokens"):
        return None
    cached = (
        _count(value.get("prompt_tokens_details"), "cached_tokens")
        or _count(value, "prompt_cache_hit_tokens")
        or _count(value, "cached_tokens")
    )
    details = value.get("prompt_tokens_details")
    cache_written = (
        _count(details, "cache_write_tokens")  # OpenRouter
        or _count(details, "cache_creation_tokens")  # LiteLLM
        or _count(value, "cache_creation_input_tokens")  # Anthropic
    )
    return Usage(
        prompt=_count(value, "prompt_tokens"),
        generated=_count(value, "completion_tokens"),
        cached=cached,
        reasoning=_count(value.get("completion_tokens_details"), "reasoning_tokens"),
        cache_written=cache_written,
    )


def _count(of: object, key: str) -> int:
    value = of.get(key) if isinstance(of, Mapping) else None
    return value if type(value) is int and value > 0 else 0
