"""Scripted answers of an endpoint, and the chunks that stream them."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A tool call to make: ``arguments`` an object, or text sent as it is."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Turn:
    """One answer.

    Attributes:
        text: The text of the answer.
        reasoning: The reasoning before the text, streamed as ``reasoning_field``.
        calls: Tool calls, or tuples ``(name, arguments)``; ids are made up.
        usage: (prompt, generated) or (prompt, generated, cached), or a whole object; None
            for an endpoint that counts nothing.
        finish: The finish reason; by default derived from the calls.
        fault: A fault instead of the answer, with ``key=value`` options:
            ``"429 retry-after=0.1"`` or any other status; ``html`` (a page, with 200, or
            ``html status=502``); ``nonsense``; ``cut`` (half of the answer, then the
            connection ends); ``silent`` (half, then nothing; ``silent at=0`` nothing at
            all); ``overloaded`` (half, then an ``error`` in the stream); ``no-finish``
            (all of it, but no end); ``endless`` (all of it, then the connection stays).
        message: The text of a status' error.
        error: The ``error`` object of a status, instead of one made from ``message``.
        fragment_length: Characters in one fragment.
        gate: Awaited before the response begins.
        chunks: Complete chunks to stream instead of the above.
        unstreamed: Answer with one JSON body, even to a streaming request.
        reject_if: Checks the request's body; a returned text is the error of a 400.
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[Call | tuple[str, Any]] = ()
    usage: tuple[int, ...] | Body | None = (100, 20)
    finish: str | None = None
    fault: str = ""
    message: str = ""
    error: Body | None = None
    fragment_length: int = 12
    reasoning_field: str = "reasoning_content"
    gate: threading.Event | None = None
    chunks: Sequence[Any] | None = None
    unstreamed: bool = False
    reject_if: Callable[[Body], str | None] | None = None


def response_chunks(turn: Turn, *, include_usage: bool = True) -> Iterator[Any]:
    """Yield the chunks of a streamed turn; the last one has the usage if requested."""
    if turn.chunks is not None:
        yield from turn.chunks
        return
    yield _chunk({"role": "assistant", "content": ""})
    if turn.reasoning_field == "think":
        text = (
            f"<think>\n{turn.reasoning}\n</think>\n\n{turn.text}" if turn.reasoning else turn.text
        )
        yield from (_chunk({"content": part}) for part in _cut(text, turn.fragment_length))
    else:
        for part in _cut(turn.reasoning, turn.fragment_length):
            yield _chunk({turn.reasoning_field: part})
        yield from (_chunk({"content": part}) for part in _cut(turn.text, turn.fragment_length))
    for index, call in enumerate(_calls(turn)):
        function = {"name": call.name, "arguments": ""}
        first = {"index": index, "id": call.id, "type": "function", "function": function}
        yield _chunk({"tool_calls": [first]})
        for part in _cut(call.text, turn.fragment_length):
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield _chunk({}, turn.finish or ("tool_calls" if turn.calls else "stop"))
    if include_usage and turn.usage is not None:
        yield {**_chunk({}), "choices": [], "usage": _usage(turn.usage)}


def _cut(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def _chunk(delta: Body, finish: str | None = None) -> Body:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}


def _calls(turn: Turn) -> list[Call]:
    calls = [call if isinstance(call, Call) else Call(*call) for call in turn.calls]
    return [
        Call(
            call.name, call.arguments, f"call_{id(turn):x}_{index}" if call.id is None else call.id
        )
        for index, call in enumerate(calls)
    ]


def _usage(usage: tuple[int, ...] | Body) -> Body:
    if isinstance(usage, dict):
        return usage
    prompt, generated, cached = (*usage, 0)[:3]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": generated,
        "total_tokens": prompt + generated,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def unstreamed_response(turn: Turn) -> Body:
    """Return the JSON body of an answer without streaming."""
    if turn.chunks is not None:
        return dict(turn.chunks[0])
    message: Body = {"role": "assistant", "content": turn.text or None}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.text}}
            for c in _calls(turn)
        ]
    finish = turn.finish or ("tool_calls" if turn.calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {} if turn.usage is None else {"usage": _usage(turn.usage)}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "test-model"}
    return {**head, "choices": [choice], **usage}
