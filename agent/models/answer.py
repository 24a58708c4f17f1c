"""One answer from the chunks of a stream, as pieces."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agent.models.base import (
    CallPiece,
    Finish,
    FinishReason,
    Piece,
    ReasoningPiece,
    Usage,
)
from agent.models.fragments import CallReader
from agent.models.spoken import SpokenReader
from agent.models.wire import clean

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
# The endpoint's way to say, inside a stream that ends properly, that it failed.
_BROKEN = {"error", "abort", "insufficient_system_resource", "network_error"}


class AnswerReader:
    """Turns chunks (already JSON, of any shape) into pieces, the ``Finish`` held to the end.

    Args:
        text_calls: Whether tool calls are read from the text.
    """

    def __init__(self, text_calls: bool) -> None:
        self._spoken = SpokenReader(text_calls)
        self._calls = CallReader()
        self._reason = ""
        self._any_call = False
        self.usage: Usage | None = None
        self._begun = False
        self._closed_by_usage = False

    @property
    def finished(self) -> bool:
        """Whether the endpoint said that the answer is complete.

        By a finish reason, or, where a server gives none, by the usage at the end.
        """
        return bool(self._reason) or self._closed_by_usage

    @property
    def broken(self) -> str:
        """The reason, where the endpoint ended the answer by saying that it failed."""
        return self._reason if self._reason in _BROKEN else ""

    def feed(self, chunk: object) -> Iterator[Piece]:
        """The pieces that a chunk makes; what can't be read is left out."""
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
        """What was held back, then the ``Finish``."""
        yield from self._noted(self._spoken.flush())
        yield from self._noted(self._calls.flush())
        reason = _REASONS.get(self._reason, "other" if self._reason else "stop")
        if reason in ("stop", "tool_calls"):
            reason = "tool_calls" if self._any_call else "stop"
        yield Finish(reason, self.usage)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[Piece]:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, Mapping):
            yield from self._delta(delta)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self._reason = reason.lower()

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Piece]:
        self._begun = True
        parts = _parts(delta.get("content"))
        for key in ("reasoning_content", "reasoning"):
            if isinstance(text := delta.get(key), str) and text:
                yield ReasoningPiece(clean(text))
                break
        for kind, text in [*parts, *_parts(delta.get("refusal"))]:
            if kind == "thinking":
                yield ReasoningPiece(clean(text))
                continue
            yield from self._noted(self._spoken.feed(clean(text)))
        calls = delta.get("tool_calls")
        for fragment in calls if isinstance(calls, list) else []:
            if isinstance(fragment, Mapping):
                yield from self._noted(self._calls.feed(fragment))

    def _noted(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            self._any_call = self._any_call or isinstance(piece, CallPiece)
            yield piece


def _parts(content: object) -> list[tuple[str, str]]:
    """``content`` as (kind, text): a string, or the list of parts that some servers send."""
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
    return Usage(
        prompt=_count(value, "prompt_tokens"),
        generated=_count(value, "completion_tokens"),
        cached=cached,
        reasoning=_count(value.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(of: object, key: str) -> int:
    value = of.get(key) if isinstance(of, Mapping) else None
    return value if type(value) is int and value > 0 else 0
