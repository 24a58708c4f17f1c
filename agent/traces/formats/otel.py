"""Spans of OpenTelemetry's conventions for generative AI (version 1.41), as OTLP in JSON.

A round is a span ``invoke_agent`` with a span ``chat`` per turn and ``execute_tool`` per call. A
turn's input is not repeated, since all of them would take space quadratic in the steps.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agent.installation import DISTRIBUTION_NAME
from agent.models.base import ToolCall
from agent.traces.fields import dump
from agent.traces.trace import Ended, Item, Result, Start, Turn, UserText

_SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
_INTERNAL, _CLIENT, _ERROR = 1, 3, 2


def write(items: Iterable[Item], run: str) -> Iterator[str]:
    """Yield the text of an ``ExportTraceServiceRequest``, a span at a time."""
    resource = {"attributes": _attributes({"service.name": DISTRIBUTION_NAME})}
    scope = {"name": DISTRIBUTION_NAME}
    yield (
        f'{{"resourceSpans": [{{"resource": {dump(resource)}, "scopeSpans": '
        f'[{{"scope": {dump(scope)}, "spans": ['
    )
    mark = "\n"
    for span in _Spans(run).of(items):
        yield mark + dump(span)
        mark = ",\n"
    yield f'\n], "schemaUrl": "{_SCHEMA}"}}], "schemaUrl": "{_SCHEMA}"}}]}}\n'


@dataclass
class _Round:
    """A round whose end is still to come."""

    number: int
    at: float
    texts: list[str] = field(default_factory=list)


class _Spans:
    def __init__(self, run: str) -> None:
        self._run = run
        self._trace = hashlib.sha256(run.encode()).hexdigest()[:32]
        self._start = Start()
        self._round: _Round | None = None
        self._rounds = self._turns = self._results = 0
        self._calls: dict[str, ToolCall] = {}
        self._at = 0.0

    def of(self, items: Iterable[Item]) -> Iterator[dict[str, Any]]:
        for item in items:
            before = self._at
            self._at = max(self._at, getattr(item, "at", None) or 0.0)
            match item:
                case Start():
                    self._start = item
                case UserText():
                    self._opened().texts.append(item.text)
                case Turn():
                    yield self._chat(item, before)
                case Result():
                    yield self._tool(item, before)
                case Ended():
                    yield self._agent(item)
                case _:
                    pass
        if self._round is not None:
            yield self._agent(Ended(status="stopped", reason="The run has not ended."))

    def _opened(self) -> _Round:
        if self._round is None:
            self._rounds += 1
            self._round = _Round(self._rounds, self._at)
        return self._round

    def _chat(self, turn: Turn, before: float) -> dict[str, Any]:
        parent = self._opened()
        self._turns += 1
        self._calls = {call.id: call for call in turn.calls}
        model = turn.model or self._start.model
        values = self._common("chat") | {
            "gen_ai.request.model": model,
            "gen_ai.response.finish_reasons": [turn.finish] if turn.finish else None,
            "gen_ai.output.messages": dump([_output(turn)]),
        }
        if turn.usage is not None:
            values |= {
                "gen_ai.usage.input_tokens": turn.usage.prompt,
                "gen_ai.usage.output_tokens": turn.usage.generated,
                "gen_ai.usage.cache_read.input_tokens": turn.usage.known("cached"),
                "gen_ai.usage.cache_creation.input_tokens": turn.usage.known("cache_written"),
                "gen_ai.usage.reasoning.output_tokens": turn.usage.known("reasoning"),
            }
        begun = before if turn.seconds is None else self._at - turn.seconds
        return self._span(f"chat {model}", f"turn {self._turns}", _CLIENT, begun, values, parent)

    def _tool(self, result: Result, before: float) -> dict[str, Any]:
        self._results += 1
        call = self._calls.get(result.call_id) or ToolCall(result.call_id, "unknown", "{}")
        ok = result.exit_code in (0, None) if result.ok is None else result.ok
        values = self._common("execute_tool") | {
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.call.arguments": call.arguments,
            "gen_ai.tool.call.result": result.text,
            "error.type": None if ok else "tool_error",
            "process.exit.code": result.exit_code,
        }
        begun = before if result.seconds is None else self._at - result.seconds
        span = self._span(
            f"execute_tool {call.name}", f"call {self._results}", _INTERNAL, begun, values,
            self._opened(),
        )  # fmt: skip
        return span if ok else span | {"status": {"code": _ERROR}}

    def _agent(self, ended: Ended) -> dict[str, Any]:
        of = self._opened()
        self._round = None
        inputs = [{"role": "user", "parts": [_text(text)]} for text in of.texts]
        values = self._common("invoke_agent") | {
            "gen_ai.agent.name": self._start.agent or DISTRIBUTION_NAME,
            "gen_ai.request.model": self._start.model,
            "gen_ai.system_instructions": dump([_text(self._start.system)]),
            "gen_ai.input.messages": dump(inputs),
            "gen_ai.output.messages": dump(
                [{"role": "assistant", "parts": [_text(ended.answer or "")]}]
            ),
            "gen_ai.tool.definitions": dump(list(self._start.tools)),
            "llm_in_sandbox_studio.status": ended.status,
            "error.type": "failed" if ended.status == "failed" else None,
        }
        name = f"invoke_agent {self._start.agent or DISTRIBUTION_NAME}"
        span = self._span(name, f"round {of.number}", _INTERNAL, of.at, values)
        failed = {"status": {"code": _ERROR, "message": ended.reason}}
        return span | failed if ended.status == "failed" else span

    def _common(self, operation: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "unknown",
            "gen_ai.conversation.id": self._run,
        }

    def _span(
        self, name: str, key: str, kind: int, begun: float, values: dict[str, Any],
        parent: _Round | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        span = {
            "traceId": self._trace,
            "spanId": self._id(key),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": _nanoseconds(min(begun, self._at)),
            "endTimeUnixNano": _nanoseconds(self._at),
            "attributes": _attributes(values),
        }
        return span | ({"parentSpanId": self._id(f"round {parent.number}")} if parent else {})

    def _id(self, key: str) -> str:
        return hashlib.sha256(f"{self._run} {key}".encode()).hexdigest()[:16]


def _output(turn: Turn) -> dict[str, Any]:
    parts = [{"type": "reasoning", "content": turn.reasoning}] if turn.reasoning else []
    parts += [_text(turn.text)] if turn.text else []
    parts += [
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
        for call in turn.calls
    ]
    return {"role": "assistant", "parts": parts, "finish_reason": turn.finish or "stop"}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": _value(value)} for key, value in values.items() if value is not None
    ]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}  # as OTLP's JSON has 64-bit numbers
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(each) for each in value]}}
    return {"stringValue": value}


def _nanoseconds(at: float) -> str:
    return str(round(at * 1_000_000) * 1000)
