"""Conversion of a response's events into the pieces of one answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.models.base import (
    CallPiece,
    Finish,
    FinishReason,
    Piece,
    ReasoningPiece,
    ToolSchema,
    Usage,
)
from agent.models.endpoint.answer import AnswerParser, reported_count
from agent.models.endpoint.writing import Writing
from agent.models.parsing.opaque import bounded, is_shallow
from agent.models.responses.request import CALL, ITEMS
from agent.util.text import replace_surrogates

_REASONING_EVENTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_TEXT_EVENTS = ("response.output_text.delta", "response.refusal.delta")
_END_EVENTS = ("response.completed", "response.incomplete")
_INCOMPLETE: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_CALL_FILLED_IN = ("call_id", "name", "arguments")
_MAX_ITEMS = 1000


class ResponseParser(AnswerParser):
    """Converter of events (parsed JSON of any shape) into pieces."""

    def __init__(self, writing: Writing, tools: Sequence[ToolSchema] = ()) -> None:
        super().__init__(writing, tools)
        self._items: dict[int, dict[str, Any]] = {}
        self._calls: dict[int, int] = {}
        self._has_arguments: set[int] = set()
        self._places = _Places()
        self._seen: set[tuple[int, str]] = set()  # what came in deltas
        self._last_summary: tuple[Any, Any] | None = None
        self._status = ""
        self._reason = ""

    @property
    def is_complete(self) -> bool:
        """Whether the endpoint reported that the answer is complete."""
        return bool(self._status)

    @property
    def failure_reason(self) -> str:
        """The status if it reports a failure, else empty."""
        return self._status if self._status in ("failed", "cancelled") else ""

    def feed(self, event: object) -> Iterator[Piece]:
        """Yield the pieces of an event, or of a whole response; malformed parts are ignored."""
        if not isinstance(event, Mapping):
            return
        kind, index = event.get("type"), self._places.find(event)
        if event.get("object") == "response":
            yield from self._end(event)
        elif kind in _END_EVENTS:
            yield from self._end(event.get("response"))
        elif kind in _REASONING_EVENTS:
            yield from self._reasoning(event, index)
        elif kind in _TEXT_EVENTS:
            self._seen.add((index, "text"))
            yield from self._text(event.get("delta"))
        elif kind == "response.function_call_arguments.delta":
            yield from self._arguments(index, event.get("delta"))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            done = kind.endswith("done")
            yield from self._item(index, event.get("item"), done=done)

    def finish(self) -> Iterator[Piece]:
        """Yield the remaining pieces, then the ``Finish``."""
        yield from self._tracked(self._content_parser.flush())
        reason: FinishReason = "tool_calls" if self._has_calls else "stop"
        if self._status == "incomplete":
            reason = _INCOMPLETE.get(self._reason, "other")
        items = [self._items[index] for index in sorted(self._items)]
        opaque = bounded(self._family, {ITEMS: items} if items else {})
        yield Finish(reason, self.usage, opaque=opaque)

    def _end(self, response: object) -> Iterator[Piece]:
        if not isinstance(response, Mapping):
            return
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else []):
            if index not in self._items:
                yield from self._item(index, item, done=True)
        self.usage = _parse_usage(response.get("usage")) or self.usage
        details = response.get("incomplete_details")
        self._reason = str(details.get("reason")) if isinstance(details, Mapping) else ""
        self._status = str(response.get("status") or "completed")

    def _item(self, index: int, item: object, *, done: bool) -> Iterator[Piece]:
        if not isinstance(item, Mapping) or not is_shallow(item):
            return
        kind = item.get("type")
        if kind == CALL:
            yield from self._call(index, item, done=done)
        if not done:
            return
        if kind == "message" and (index, "text") not in self._seen:
            for text in _texts(item.get("content")):
                yield from self._text(text)
        if kind == "reasoning" and (index, "reasoning") not in self._seen:
            for text in [*_texts(item.get("summary")), *_texts(item.get("content"))]:
                yield ReasoningPiece(self._clean(text))
        if len(self._items) < _MAX_ITEMS:
            self._keep(index, kind, item)

    def _keep(self, index: int, kind: object, item: Mapping[str, Any]) -> None:
        kept = {key: value for key, value in item.items() if value is not None}
        if kind == CALL:
            kept = {key: value for key, value in kept.items() if key not in _CALL_FILLED_IN}
        if kind == "reasoning":
            kept.pop("status", None)  # given, and refused when it is given back
            if not kept.get("content"):
                kept.pop("content", None)
            kept.setdefault("summary", [])
        self._kept_size.add_json(kept)
        self._items[index] = kept

    def _call(self, index: int, item: Mapping[str, Any], *, done: bool) -> Iterator[Piece]:
        if index not in self._calls:
            position = self._calls[index] = len(self._calls)
            call_id = item.get("call_id") or item.get("id")
            yield from self._begun_call(position, call_id, item.get("name"))
        if done and index not in self._has_arguments:
            yield from self._arguments(index, item.get("arguments"))

    def _arguments(self, index: int, text: object) -> Iterator[Piece]:
        if index in self._calls and isinstance(text, str) and text:
            self._has_arguments.add(index)
            yield CallPiece(self._calls[index], arguments=self._size.add(text))

    def _reasoning(self, event: Mapping[str, Any], index: int) -> Iterator[Piece]:
        text = event.get("delta")
        if not isinstance(text, str) or not text:
            return
        part = (index, event.get("summary_index"))
        if self._last_summary is not None and part != self._last_summary:
            text = f"\n\n{text}"
        self._last_summary = part
        self._seen.add((index, "reasoning"))
        yield ReasoningPiece(self._clean(text))

    def _text(self, text: object) -> Iterator[Piece]:
        if isinstance(text, str) and text:
            yield from self._tracked(self._content_parser.feed(self._clean(text)))

    def _clean(self, text: str) -> str:
        return replace_surrogates(self._size.add(text))


class _Places:
    """The places of items in the output, also where an endpoint sends no ``output_index``."""

    def __init__(self) -> None:
        self._by_id: dict[str, int] = {}
        self._last = 0
        self._count = 0
        self._is_open = False

    def find(self, event: Mapping[str, Any]) -> int:
        """Return the place of an event's item.

        Without an index it is that of its id; an item with a new id, or that begins after another
        one has ended, is a further one; everything else is about the last one.
        """
        item, place = event.get("item"), event.get("output_index")
        item_id = item.get("id") if isinstance(item, Mapping) else event.get("item_id")
        item_id = item_id if isinstance(item_id, str) else ""
        if type(place) is not int:
            place = self._by_id.get(item_id) if item_id else None
        if place is None:
            begins = isinstance(item, Mapping) and (bool(item_id) or not self._is_open)
            place = self._count if begins else self._last
        if isinstance(item, Mapping):
            self._is_open = not str(event.get("type")).endswith("done")
            self._count = max(self._count, place + 1)
            if item_id and len(self._by_id) < _MAX_ITEMS:
                self._by_id[item_id] = place
        self._last = place
        return place


def _texts(parts: object) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, Mapping):
            text = part.get("text") or part.get("refusal")
            if isinstance(text, str) and text:
                yield text


def _parse_usage(value: object) -> Usage | None:
    if not isinstance(value, Mapping) or not (prompt := reported_count(value, "input_tokens")):
        return None
    read, written = value.get("input_tokens_details"), value.get("output_tokens_details")
    return Usage.of(
        prompt,
        reported_count(value, "output_tokens") or 0,
        cached=reported_count(read, "cached_tokens"),
        reasoning=reported_count(written, "reasoning_tokens"),
        cache_written=reported_count(read, "cache_write_tokens"),
    )
