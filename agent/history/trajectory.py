"""A run in the reference's ``trajectory.json`` format: an entry per call, with more fields."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from agent.events import (
    Annotation,
    Event,
    MessageDelivered,
    ModelAnswered,
    Reminder,
    RunContinued,
    RunEnded,
    RunStarted,
    StepStarted,
    SummaryEnded,
    UnreadableEvent,
)
from agent.models.base import ToolCall
from agent.runs.transcript import Call, Part, parts_of

_MAX_DEPTH = 50


def build_trajectory(events: Iterable[Event]) -> dict[str, Any]:
    """Return the trajectory of a run's events as a JSON-serializable dict."""
    writer = _TrajectoryBuilder()
    for part in parts_of(events):
        writer.add(part)
    return writer.build()


class _TrajectoryBuilder:
    def __init__(self) -> None:
        self.result: dict[str, Any] = {"problem_statement": "", "steps": [], "metadata": {}}
        self._entries: dict[str, dict[str, Any]] = {}
        self._unreadable = 0

    def add(self, part: Part) -> None:
        metadata = self.result["metadata"]
        match part:
            case RunStarted():
                self._begin(part)
            case RunContinued() if part.text:
                metadata.setdefault("follow_ups", []).append(part.text)
            case StepStarted():
                metadata["total_steps"] = part.step
            case ModelAnswered():
                self._add_turn(part)
            case Reminder() if self.result["steps"]:
                self.result["steps"][-1]["observation"] = part.text
            case MessageDelivered() | SummaryEnded() | Annotation():
                self._add_remark(part)
            case Call() if part.id in self._entries:
                _add_result(self._entries[part.id], part)
            case UnreadableEvent():
                self._unreadable += 1
            case RunEnded():
                totals = asdict(part.totals)
                end = {"status": part.status, "reason": part.reason, "answer": part.answer}
                metadata |= end | {"totals": totals, "ended": part.at}
            case _:
                pass

    def _add_remark(self, event: MessageDelivered | SummaryEnded | Annotation) -> None:
        metadata = self.result["metadata"]
        if isinstance(event, SummaryEnded):
            metadata.setdefault("summaries", []).append(_summary(event))
        else:
            name = "messages" if isinstance(event, MessageDelivered) else "annotations"
            metadata.setdefault(name, []).append({"step": event.step, "text": event.text})

    def build(self) -> dict[str, Any]:
        if self._unreadable:
            self.result["metadata"]["unreadable_events"] = self._unreadable
        return self.result

    def _begin(self, event: RunStarted) -> None:
        self.result["problem_statement"] = event.task
        self.result["metadata"] = {
            "total_steps": 0,
            "run": event.run,
            "mode": event.mode,
            "model": event.model,
            "prompt": event.prompt,
            "inputs": list(event.inputs),
            "limits": event.limits,
            "passport": event.passport,
            "started": event.at,
        }

    def _add_turn(self, event: ModelAnswered) -> None:
        opaque = {} if event.opaque is None else {"opaque": asdict(event.opaque)}
        for call in event.calls or (ToolCall("", "", ""),):
            entry: dict[str, Any] = {
                "thought": event.text,
                "reasoning_content": event.reasoning,
                "action": {"function": call.name, "parameters": _parameters(call)},
                "observation": "",
                "metadata": {
                    "step": event.step,
                    "exec_time": event.seconds,
                    "call_id": call.id,
                    "usage": asdict(event.usage) if event.usage else None,
                    "usage_estimated": event.estimated,
                    "finish_reason": event.finish,
                    **opaque,
                },
            }
            opaque = {}  # once for all calls of a turn
            self.result["steps"].append(entry)
            self._entries[call.id] = entry


def _add_result(entry: dict[str, Any], call: Call) -> None:
    metadata, ended = entry["metadata"], call.ended
    if call.reviewed is not None:
        names = ("decision", "arguments", "reason", "note")
        metadata["review"] = {name: getattr(call.reviewed, name) for name in names}
    if ended is not None:
        entry["observation"] = ended.observation
        metadata["tool_time"] = ended.seconds
        metadata |= {name: getattr(ended, name) for name in ("exit_code", "end_reason", "ok")}
        if ended.used is not None:
            metadata["capabilities"] = asdict(ended.used)
    if call.edited is not None:
        metadata["original_observation"] = entry["observation"]
        entry["observation"] = call.edited.observation


def _summary(event: SummaryEnded) -> dict[str, Any]:
    names = ("step", "first_step", "last_step", "text", "reason")
    values = {name: getattr(event, name) for name in names}
    return values | {"usage": asdict(event.usage) if event.usage else None}


def _parameters(call: ToolCall) -> dict[str, Any]:
    """Return the call's arguments, or the raw text if not a shallow JSON object."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict) and _is_shallow(arguments, _MAX_DEPTH):
        return arguments
    return {"unparsed": call.arguments}


def _is_shallow(value: Any, max_depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max_depth > 0 and all(_is_shallow(item, max_depth - 1) for item in inner)
