"""A run in the reference's ``trajectory.json`` format, with additional fields.

There is one entry per tool call (a turn with two calls makes two entries of the same step), so
that readers of the reference's trajectories can read these. Added are the run's mode, model,
status, reason, answer and totals; each entry's usage, tool time, exit code, end reason and
capability usage; and the number of unreadable events, if any.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from agent.events import (
    CallReviewed,
    Event,
    MessageDelivered,
    ModelAnswered,
    ObservationEdited,
    Reminder,
    RunContinued,
    RunEnded,
    RunStarted,
    StepStarted,
    SummaryEnded,
    ToolEnded,
    UnreadableEvent,
)
from agent.models.base import ToolCall

_MAX_DEPTH = 50


def build_trajectory(events: Iterable[Event]) -> dict[str, Any]:
    """Return the trajectory of a run's events as a JSON-serializable dict."""
    writer = _TrajectoryBuilder()
    for event in events:
        writer.apply(event)
    return writer.build()


class _TrajectoryBuilder:
    def __init__(self) -> None:
        self.result: dict[str, Any] = {"problem_statement": "", "steps": [], "metadata": {}}
        self._entries: dict[str, dict[str, Any]] = {}
        self._unreadable = 0

    def apply(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._begin(event)
            case RunContinued() if event.text:
                self.result["metadata"].setdefault("follow_ups", []).append(event.text)
            case StepStarted():
                self.result["metadata"]["total_steps"] = event.step
            case ModelAnswered():
                self._add_turn(event)
            case Reminder() if self.result["steps"]:
                self.result["steps"][-1]["observation"] = event.text
            case MessageDelivered() | CallReviewed() | SummaryEnded():
                self._add_remark(event)
            case ToolEnded() | ObservationEdited() if event.call_id in self._entries:
                self._add_result(self._entries[event.call_id], event)
            case UnreadableEvent():
                self._unreadable += 1
            case RunEnded():
                totals = asdict(event.totals)
                end = {"status": event.status, "reason": event.reason, "answer": event.answer}
                self.result["metadata"] |= end | {"totals": totals, "ended": event.at}
            case _:
                pass

    def _add_remark(self, event: MessageDelivered | CallReviewed | SummaryEnded) -> None:
        if isinstance(event, MessageDelivered):
            message = {"step": event.step, "text": event.text}
            self.result["metadata"].setdefault("messages", []).append(message)
        elif isinstance(event, SummaryEnded):
            self.result["metadata"].setdefault("summaries", []).append(_summary(event))
        elif event.call_id in self._entries:
            self._entries[event.call_id]["metadata"]["review"] = {
                "decision": event.decision,
                "arguments": event.arguments,
                "reason": event.reason,
                "note": event.note,
            }

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

    @staticmethod
    def _add_result(entry: dict[str, Any], event: ToolEnded | ObservationEdited) -> None:
        original, entry["observation"] = entry["observation"], event.observation
        if isinstance(event, ObservationEdited):
            entry["metadata"].setdefault("original_observation", original)
            return
        entry["metadata"] |= {
            "tool_time": event.seconds,
            "exit_code": event.exit_code,
            "end_reason": event.end_reason,
            "ok": event.ok,
        }
        if event.used is not None:
            entry["metadata"]["capabilities"] = asdict(event.used)


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
