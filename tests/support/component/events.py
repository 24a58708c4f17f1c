"""Events of a run, in few words."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from agent.capabilities.usage import CapabilityUsage
from agent.events import (
    Event,
    FileChange,
    ModelAnswered,
    ReasoningDelta,
    RunContinued,
    RunEnded,
    RunStarted,
    Status,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    Totals,
    WorkspaceChanged,
)
from agent.models.base import ToolCall, Usage
from agent.runs.state import RunState
from agent.sandbox.base import EndReason

E = TypeVar("E", bound=Event)


def started(task: str = "Do it.", **changes: Any) -> RunStarted:
    """The first round begins; ``changes`` are other fields of the event."""
    event = RunStarted(
        run="r", task=task, mode="sandbox", model="test-model", metered=True, prompt="general",
        system="", user=task, limits={"steps": 100},
    )  # fmt: skip
    return replace(event, **changes)


def continued(text: str, **changes: Any) -> RunContinued:
    """A message begins another round."""
    return replace(RunContinued(text=text, model="test-model", metered=True), **changes)


def ended(
    status: Status = "submitted", answer: str = "", reason: str = "", totals: Totals | None = None
) -> RunEnded:
    return RunEnded(status=status, reason=reason, answer=answer, totals=totals or Totals())


def answered(
    number: int, text: str = "", *calls: ToolCall, usage: Usage | None = None, **changes: Any
) -> ModelAnswered:
    """The model's turn of a step ends."""
    event = ModelAnswered(
        step=number, text=text, reasoning="", calls=calls, usage=usage,
        finish="tool_calls" if calls else "stop", estimated=False, seconds=0.4,
    )  # fmt: skip
    return replace(event, **changes)


def tool_ended(number: int, call_id: str, observation: str = "", **changes: Any) -> ToolEnded:
    event = ToolEnded(
        step=number, call_id=call_id, name="execute_bash", ok=True, exit_code=0,
        end_reason="exit", seconds=0.01, observation=observation,
    )  # fmt: skip
    return replace(event, **changes)


@dataclass(frozen=True)
class CallResult:
    """A tool call and its result; by default the model sees the output."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    summary: str = ""
    output: str | None = ""
    observation: str | None = None
    ok: bool = True
    exit_code: int | None = 0
    end_reason: EndReason = "exit"
    seconds: float = 0.01
    used: CapabilityUsage | None = None
    is_running: bool = False


def bash(command: str, output: str = "", exit_code: int = 0, **more: Any) -> CallResult:
    call = CallResult("execute_bash", {"command": command}, command, output)
    return replace(call, exit_code=exit_code, ok=exit_code == 0, **more)


def edit(command: str, path: str, *, ok: bool = True, **arguments: str) -> CallResult:
    summary, given = f"{command} {path}", {"command": command, "path": path, **arguments}
    return CallResult("str_replace_editor", given, summary, None, "Edited.", ok, None)


SUBMIT = CallResult("submit", output=None, observation="", exit_code=None)


def step(
    number: int,
    *calls: CallResult,
    text: str = "",
    reasoning: str = "",
    usage: Usage | None = None,
    changes: Sequence[FileChange] = (),
    totals: Totals | None = None,
    **changed: Any,
) -> Iterator[Event]:
    """Yield the events of a step; it has not ended while its last call is running."""
    yield StepStarted(step=number, note="")
    if reasoning:
        yield ReasoningDelta(step=number, text=reasoning)
    if text:
        yield TextDelta(step=number, text=text)
    ids = [f"call-{number}-{index}" for index in range(1, len(calls) + 1)]
    made = [
        ToolCall(call_id, each.name, json.dumps(each.arguments))
        for call_id, each in zip(ids, calls, strict=True)
    ]
    yield answered(number, text, *made, usage=usage, reasoning=reasoning, **changed)
    for call_id, each in zip(ids, calls, strict=True):
        yield from call_events(number, call_id, each)
    if calls and calls[-1].is_running:
        return
    yield from step_end(number, changes, totals)


def call_events(number: int, call_id: str, call: CallResult) -> Iterator[Event]:
    yield ToolStarted(
        step=number, call_id=call_id, name=call.name, arguments=call.arguments,
        summary=call.summary or call.name,
    )  # fmt: skip
    if call.output:
        yield ToolOutput(step=number, call_id=call_id, stream="stdout", text=call.output)
    if not call.is_running:
        seen = call.observation if call.observation is not None else call.output
        yield tool_ended(
            number, call_id, seen or "", name=call.name, ok=call.ok, exit_code=call.exit_code,
            end_reason=call.end_reason, seconds=call.seconds, used=call.used,
        )  # fmt: skip


def step_end(
    number: int, changes: Sequence[FileChange] = (), totals: Totals | None = None
) -> Iterator[Event]:
    """Yield the events of a step after its calls."""
    if changes:
        yield WorkspaceChanged(step=number, changes=tuple(changes), total=len(changes))
    yield StepEnded(step=number, totals=totals or Totals(steps=number))


def of_type(event_type: type[E], events: Iterable[Event]) -> list[E]:
    """Return the events of one type."""
    return [event for event in events if isinstance(event, event_type)]


def reduced(events: Iterable[Event]) -> RunState:
    """Return the state after these events, whose cursors are 1, 2, 3, …"""
    state = RunState()
    for cursor, event in enumerate(events, start=1):
        state.apply(event, cursor)
    return state
