"""Scripted answers of an endpoint, and the chunks that stream them."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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

    @property
    def tagged_text(self) -> str:
        """The text, with the reasoning before it between tags."""
        return (f"<think>\n{self.reasoning}\n</think>\n\n" if self.reasoning else "") + self.text

    @property
    def made_calls(self) -> list[Call]:
        """The calls; those without an id have none yet."""
        return [call if isinstance(call, Call) else Call(*call) for call in self.calls]


SUBMIT = Turn(text="Done.", calls=[Call("submit")])


def bash(*commands: str, **more: Any) -> Turn:
    return Turn(calls=[Call("execute_bash", {"command": each}) for each in commands], **more)


def response_chunks(turn: Turn, *, include_usage: bool = True) -> Iterator[Any]:
    if turn.chunks is not None:
        yield from turn.chunks
        return
    yield chunk({"role": "assistant", "content": ""})
    tagged = turn.reasoning_field == "think"
    for part in cut("" if tagged else turn.reasoning, turn.fragment_length):
        yield chunk({turn.reasoning_field: part})
    for part in cut(turn.tagged_text if tagged else turn.text, turn.fragment_length):
        yield chunk({"content": part})
    for index, call in enumerate(_with_ids(turn)):
        first = {"id": call.id, "function": {"name": call.name, "arguments": ""}}
        yield from call_chunks(index, first, cut(call.text, turn.fragment_length))
    yield chunk({}, turn.finish or ("tool_calls" if turn.calls else "stop"))
    if include_usage and turn.usage is not None:
        yield {**chunk({}), "choices": [], "usage": usage_fields(turn.usage)}


def unstreamed_response(turn: Turn) -> Body:
    if turn.chunks is not None:
        return dict(turn.chunks[0])
    message: Body = {"role": "assistant", "content": turn.text or None}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.text}}
            for c in _with_ids(turn)
        ]
    finish = turn.finish or ("tool_calls" if turn.calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {} if turn.usage is None else {"usage": usage_fields(turn.usage)}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "test-model"}
    return {**head, "choices": [choice], **usage}


def cut(text: str, size: int = 24) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def chunk(delta: Body, finish: str | None = None) -> Body:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}


def call_chunks(index: int, first: Body, parts: Iterable[str]) -> Iterator[Body]:
    yield chunk({"tool_calls": [{"index": index, "type": "function", **first}]})
    for part in parts:
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})


def _with_ids(turn: Turn) -> list[Call]:
    return [
        call if call.id is not None else replace(call, id=f"call_{id(turn):x}_{index}")
        for index, call in enumerate(turn.made_calls)
    ]


def usage_fields(usage: tuple[int, ...] | Body) -> Body:
    if isinstance(usage, dict):
        return usage
    prompt, generated, cached = (*usage, 0)[:3]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": generated,
        "total_tokens": prompt + generated,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
