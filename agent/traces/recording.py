"""Write a trace as a run's journal; a missing time is that of the event before."""

import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from agent.capabilities.observed import call_usage
from agent.capabilities.parsed import CallReader
from agent.capabilities.usage import CapabilityUsage
from agent.events import (
    FORMAT,
    ApprovalRequested,
    CallReviewed,
    Event,
    MessageDelivered,
    ModelAnswered,
    Notice,
    ObservationEdited,
    ReasoningDelta,
    Reminder,
    RunContinued,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    encode,
)
from agent.limits import Limits
from agent.loop.meter import UsageMeter
from agent.models.base import Picture, ToolCall
from agent.runs.folder import RunFolder
from agent.runs.outputs.long_outputs import LongOutputs
from agent.runs.outputs.pictures import PictureStore
from agent.tools.actions import BASH, EDITOR, SUBMIT, Action, Bash, Custom, Operation, Submit
from agent.traces.formats.images import Image, keep_image
from agent.traces.import_budget import ImportBudget
from agent.traces.token_ids import TokenSequence
from agent.traces.trace import Ended, Item, Note, Result, Review, Start, Turn, UserText
from agent.util.text import mark_hidden, one_line

KeepImage = Callable[[Image], Picture]
NO_RESULT = "The imported trace has no result of this call."
UNTITLED = "Imported trace"
_SHELLS = frozenset({BASH, "bash", "shell", "sh", "terminal", "run_command", "exec", "run_shell"})
_PYTHONS = frozenset({"python", "ipython", "execute_python", "run_python"})
_MAX_ID_CHARACTERS = 200
_MAX_LINE = 120
_SANDBOX, _PLAIN = b'"mode":"sandbox"', b'"mode":"plain"'


class TraceRecorder:
    """Turns the items of a trace into the events of a run; ``keep`` stores its pictures."""

    def __init__(self, run: str, title: str = "", keep: KeepImage | None = None) -> None:
        self._run = run
        self._keep = keep
        self._title = title or UNTITLED
        self._start = Start()
        self._texts: list[UserText] = []  # of a round that begins with the next turn
        self._delivered: list[UserText] = []  # with the next turn of this round
        self._meter = UsageMeter(Limits())
        self._calls = CallReader()
        self._open: dict[str, ToolCall] = {}
        self._ids: set[str] = set()
        self._renamed: dict[str, str] = {}
        self._sequence = TokenSequence()
        self._step = 0
        self._in_step = self._in_round = self._begun = False
        self._uncounted = False  # whether a turn has no token counts
        self._cost: float | None = None
        self._answer = ""
        self._at = 0.0

    def events(self, items: Iterable[Item]) -> Iterator[Event]:
        """Yield the run's events; it ends even where the trace does not say so."""
        for item in items:
            match item:
                case Start():
                    self._start = item
                    self._at = item.at or 0.0
                case UserText(reminder=True) if self._in_round:
                    yield from self._end_calls()
                    self._pass(item.at)
                    yield Reminder(step=self._step, text=item.text, at=self._at)
                case UserText(while_working=True) if self._in_round:
                    self._delivered.append(item)
                case UserText():
                    yield from self._end_round(Ended())
                    self._texts.append(item)
                case Turn():
                    yield from self._add_turn(item)
                case Result():
                    yield from self._add_result(item)
                case Note():
                    self._pass(item.at)
                    yield Notice(step=self._step, text=item.text, at=self._at)
                case Ended():
                    yield from self._begin_round(None)
                    yield from self._end_round(item)
        yield from self._begin_round(None) if self._texts or not self._begun else ()
        yield from self._end_round(Ended())

    @property
    def is_plain(self) -> bool:
        """Whether the run, which began as one with a sandbox, turned out to have no tools."""
        return not (self._start.mode or self._start.tools or self._ids)

    def _pass(self, at: float | None, seconds: float | None = None) -> None:
        """Advance the clock to a time or by some seconds; it never goes back."""
        if at is not None:
            self._at = max(self._at, at)
        else:
            self._at = (self._at or time.time()) + (seconds or 0.0)

    def _begin_round(self, turn: Turn | None) -> Iterator[Event]:
        if self._in_round:
            return
        texts, self._texts = self._texts, []
        for at in (each.at for each in texts if each.at is not None):
            self._pass(at)
        if not self._at and turn is not None and turn.at is not None:
            self._at = turn.at - (turn.seconds or 0.0)
        self._pass(None)
        self._in_round = True
        self._answer = ""
        text = "\n\n".join(each.text for each in texts)
        task = "\n\n".join(each.task or each.text for each in texts)
        model = (turn.model if turn else "") or self._start.model or "unknown model"
        pictures = self._pictures(image for each in texts for image in each.images)
        if self._begun:
            yield RunContinued(
                text=task or "(continued)", model=model, metered=True, format=FORMAT,
                at=self._at, pictures=pictures,
            )  # fmt: skip
            return
        self._begun = True
        yield RunStarted(
            run=self._run, task=task or self._start.title or self._title,
            mode=self._start.mode or "sandbox", model=model,
            metered=True, prompt=self._start.prompt, system=self._start.system,
            user=text or task, format=FORMAT, at=self._at, pictures=pictures,
        )  # fmt: skip

    def _add_turn(self, turn: Turn) -> Iterator[Event]:
        yield from self._end_step()
        yield from self._begin_round(turn)
        begun = self._at
        self._step += 1
        self._in_step = True
        started = begun if turn.at is None or turn.seconds is None else turn.at - turn.seconds
        yield StepStarted(step=self._step, note="", at=max(begun, started))
        yield from self._deliver()
        self._pass(turn.at, turn.seconds)
        if turn.reasoning:
            yield ReasoningDelta(step=self._step, text=turn.reasoning, at=self._at)
        if turn.text:
            yield TextDelta(step=self._step, text=turn.text, at=self._at)
        calls = tuple(self._with_own_id(call) for call in turn.calls)
        self._renamed = {
            old.id: new.id for old, new in zip(turn.calls, calls, strict=True) if old.id
        }
        self._open = {call.id: call for call in calls}
        seconds = self._at - begun if turn.seconds is None else turn.seconds
        self._count(turn, seconds)
        self._answer = turn.text or self._answer
        yield ModelAnswered(
            step=self._step, text=turn.text, reasoning=turn.reasoning, calls=calls,
            finish=turn.finish or ("tool_calls" if calls else "stop"), usage=turn.usage,
            estimated=turn.estimated, seconds=seconds, at=self._at,
            tokens=self._sequence.add_ids(turn.ids), opaque=turn.opaque,
        )  # fmt: skip

    def _deliver(self) -> Iterator[Event]:
        texts, self._delivered = self._delivered, []
        for text in texts:
            self._pass(text.at)
            yield MessageDelivered(
                step=self._step, text=text.text, at=self._at, pictures=self._pictures(text.images)
            )

    def _pictures(self, images: Iterable[Image]) -> tuple[Picture, ...]:
        return tuple(map(self._keep, images)) if self._keep else ()

    def _with_own_id(self, call: ToolCall) -> ToolCall:
        """Return the call with an id that no earlier call of the run has."""
        name = call.id[:_MAX_ID_CHARACTERS] or f"call-{self._step}"
        number, unique = 1, name
        while unique in self._ids:
            number += 1
            unique = f"{name}-{self._step}.{number}"
        self._ids.add(unique)
        return replace(call, id=unique)

    def _count(self, turn: Turn, seconds: float) -> None:
        meter = self._meter
        meter.count_turn(turn.usage, estimated=turn.estimated, seconds=seconds)
        self._uncounted |= turn.usage is None
        # A sum that lacks some turns is marked; without any it is not known, as tokens are 0.
        estimated = meter.totals.estimated or (
            self._uncounted and meter.totals.prompt_tokens + meter.totals.generated_tokens > 0
        )
        meter.totals = replace(meter.totals, metered=True, estimated=estimated)
        if turn.cost is not None:
            self._cost = (self._cost or 0.0) + turn.cost
            meter.totals = replace(meter.totals, cost=self._cost)

    def _add_result(self, result: Result) -> Iterator[Event]:
        wanted = self._renamed.get(result.call_id, result.call_id)
        call = self._open.pop(wanted or next(iter(self._open), ""), None)
        if call is not None:
            returned = result.text if result.original is None else result.original
            yield from self._call_events(call, replace(result, text=returned))
            if result.original is not None:
                yield ObservationEdited(
                    step=self._step, call_id=call.id, observation=result.text, at=self._at
                )
        elif result.text and self._in_round:
            self._pass(result.at)
            yield Reminder(step=self._step, text=result.text, at=self._at)

    def _call_events(
        self, call: ToolCall, result: Result, *, lost: bool = False
    ) -> Iterator[Event]:
        arguments = parse_arguments(call)
        begun = self._at
        self._pass(result.at, result.seconds)
        seconds = self._at - begun if result.seconds is None else result.seconds
        ok = result.exit_code in (0, None) if result.ok is None else result.ok
        if result.review is not None:
            yield from self._review_events(call, result.review, arguments)
            arguments = result.review.arguments or arguments
            if result.review.decision == "denied":
                yield ToolEnded(
                    step=self._step, call_id=call.id, name=call.name, ok=ok, seconds=seconds,
                    exit_code=result.exit_code, end_reason="exit", observation=result.text,
                    used=CapabilityUsage(), at=self._at,
                )  # fmt: skip
                return
        yield ToolStarted(
            step=self._step, call_id=call.id, name=call.name, arguments=arguments,
            summary=_summary(call.name, arguments), at=max(begun, self._at - seconds),
        )  # fmt: skip
        if result.text and not lost:
            yield ToolOutput(
                step=self._step, call_id=call.id, stream="stdout", text=result.text, at=self._at
            )
        self._meter.count_sandbox(seconds, None)
        name, executed = _as_own_tool(call.name, arguments)
        used = call_usage(
            self._calls, name, executed, ok=ok, requests=(), packages=(), cpu_seconds=None
        )
        yield ToolEnded(
            step=self._step, call_id=call.id, name=call.name, ok=ok and not lost,
            exit_code=result.exit_code, end_reason="stop" if lost else "exit", seconds=seconds,
            observation=result.text, used=used, at=self._at,
            pictures=self._pictures(result.images),
        )  # fmt: skip

    def _review_events(
        self, call: ToolCall, review: Review, arguments: dict[str, Any]
    ) -> Iterator[Event]:
        yield ApprovalRequested(
            step=self._step, call_id=call.id, name=call.name, arguments=arguments,
            summary=_summary(call.name, arguments), at=self._at,
        )  # fmt: skip
        yield CallReviewed(
            step=self._step, call_id=call.id, decision=review.decision,
            arguments=review.arguments, reason=review.reason, note=review.note, at=self._at,
        )  # fmt: skip

    def _end_calls(self) -> Iterator[Event]:
        while self._open:
            call = self._open.pop(next(iter(self._open)))
            yield from self._call_events(call, Result(text=NO_RESULT, ok=False), lost=True)

    def _end_step(self) -> Iterator[Event]:
        yield from self._end_calls()
        if self._in_step:
            self._in_step = False
            yield StepEnded(step=self._step, totals=self._meter.totals, at=self._at)

    def _end_round(self, ended: Ended) -> Iterator[Event]:
        if not self._in_round:
            return
        yield from self._deliver()
        yield from self._end_step()
        self._in_round = False
        self._pass(ended.at)
        if ended.cost is not None:
            self._meter.totals = replace(self._meter.totals, cost=ended.cost)
        answer = self._answer if ended.answer is None else ended.answer
        yield RunEnded(
            status=ended.status, reason=ended.reason, answer=answer, totals=self._meter.totals,
            at=self._at,
        )  # fmt: skip


def write_journal(
    folder: RunFolder, items: Iterable[Item], title: str, budget: ImportBudget
) -> None:
    """Write a trace to a new run's folder; its journal appears only when it is complete."""
    outputs = LongOutputs(folder.outputs)
    incomplete = folder.journal.with_suffix(".new")
    try:
        with incomplete.open("x+b") as file:
            recorder = TraceRecorder(folder.id, title, partial(_keep, folder.outputs, budget))
            for event in recorder.events(items):
                budget.take(_write(file, event, outputs))
            if recorder.is_plain:
                _make_plain(file)
            file.flush()
            os.fsync(file.fileno())
        incomplete.rename(folder.journal)
    finally:
        outputs.end_call()
        incomplete.unlink(missing_ok=True)


def _keep(outputs: Path, budget: ImportBudget, image: Image) -> Picture:
    budget.take(len(image.data))
    return keep_image(image, PictureStore(outputs))


def _write(file: BinaryIO, event: Event, outputs: LongOutputs) -> int:
    """Write an event; return its bytes, with those of its output in a file."""
    size = 0
    if isinstance(event, ToolOutput):
        size = len(event.text)
        event = outputs.truncate(event)
    elif isinstance(event, ToolEnded):
        outputs.end_call()
    return size + file.write(encode(event) + b"\n")


def _make_plain(file: BinaryIO) -> None:
    """Change the mode in the journal's first line, whose length stays the same."""
    file.seek(0)
    at = file.readline().index(_SANDBOX)
    file.seek(at)
    file.write(_PLAIN.ljust(len(_SANDBOX)))


def parse_arguments(call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments; as ``{"unparsed": text}`` if they are not a JSON object."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    return arguments if isinstance(arguments, dict) else {"unparsed": call.arguments}


def _as_own_tool(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a call as one of the shell tool, if it executes a command or Python code."""
    command = arguments.get("command", arguments.get("cmd", arguments.get("action")))
    code = arguments.get("code", arguments.get("source"))
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        command = shlex.join(command)
    if name.lower() in _SHELLS and isinstance(command, str):
        return BASH, {"command": command}
    if name.lower() in _PYTHONS and isinstance(code, str):
        return BASH, {"command": f"python3 -c {shlex.quote(code)}"}
    return name, arguments


def _summary(name: str, arguments: dict[str, Any]) -> str:
    own, executed = _as_own_tool(name, arguments)
    if name == EDITOR:
        edit = f"{arguments.get('command', '')} {arguments.get('path', '')}"
        return one_line(mark_hidden(edit))[:_MAX_LINE]
    operation: Operation = Custom(name, arguments)
    if own == BASH:
        operation = Bash(str(executed.get("command", "")))
    return Action(Submit() if name == SUBMIT else operation).summary
