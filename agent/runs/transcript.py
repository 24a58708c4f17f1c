"""The fold of a run's events into steps and calls, in constant memory: one step at a time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from agent.events import (
    Annotation,
    ApprovalRequested,
    CallDelta,
    CallReviewed,
    Event,
    Forked,
    ModelAnswered,
    ObservationEdited,
    ReasoningDelta,
    Retrying,
    RunContinued,
    RunEnded,
    RunStarted,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    WorkspaceChanged,
)
from agent.sandbox.base import StreamName


@dataclass(slots=True)
class Call:
    """One tool call: its arguments if it was executed, its result if there is one, its output.

    Of a long output, ``outputs`` has some parts, and ``files`` the name of the file that holds all.
    """

    id: str
    name: str = ""
    started: ToolStarted | None = None
    ended: ToolEnded | None = None
    outputs: dict[StreamName, list[str]] = field(default_factory=dict)
    files: dict[StreamName, str] = field(default_factory=dict)
    skipped: bool = False
    requested: ApprovalRequested | None = None
    reviewed: CallReviewed | None = None
    edited: ObservationEdited | None = None

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments as executed; None if it was not."""
        return None if self.started is None else self.started.arguments

    def _add_output(self, event: ToolOutput) -> None:
        self.skipped = self.skipped or event.skipped > 0
        self.outputs.setdefault(event.stream, []).append(event.text)
        if event.output_file:
            self.files[event.stream] = event.output_file


Part = Event | Call
"""A call in place of its events, or any other event of a run but pieces of a turn."""

_CallEvent = (
    ToolStarted | ToolOutput | ToolEnded | ApprovalRequested | CallReviewed | ObservationEdited
)

_PIECES = (ReasoningDelta, TextDelta, CallDelta, ToolOutput)
_IN_STEP = (ReasoningDelta, TextDelta, ModelAnswered, *get_args(_CallEvent))  # of a damaged record


@dataclass(slots=True)
class Step:
    """One step."""

    number: int = 0  # 0 where its beginning is missing
    begin: int = 0  # journal cursor; 0 where events came without one
    end: int = 0
    at: float = 0.0
    answer: ModelAnswered | None = None  # the model's complete turn
    reasoning: list[str] = field(default_factory=list)  # pieces of an incomplete turn's
    text: list[str] = field(default_factory=list)  # the same of its text
    calls: dict[str, Call] = field(default_factory=dict)  # by id, in the model's order
    parts: list[Part] = field(default_factory=list)  # calls stand where they ended
    _open: dict[str, Call] = field(default_factory=dict)

    @property
    def changes(self) -> list[WorkspaceChanged]:
        """How it changed the workspace."""
        return [each for each in self.parts if isinstance(each, WorkspaceChanged)]

    def apply(self, event: Event, cursor: int = 0) -> None:
        """Add an event of the step."""
        self.end, self.at = cursor, event.at
        match event:
            case ReasoningDelta():
                self.reasoning.append(event.text)
            case TextDelta():
                self.text.append(event.text)
            case CallDelta():
                pass
            case (
                ToolStarted() | ToolOutput() | ToolEnded() | ApprovalRequested() | CallReviewed()
                | ObservationEdited()
            ):  # fmt: skip
                self._apply_to_call(event)
            case _:
                self.parts.append(event)
                if isinstance(event, ModelAnswered | Retrying):  # the pieces are complete, or void
                    self.reasoning, self.text = [], []
                if isinstance(event, ModelAnswered):
                    self.answer = event
                    for call in event.calls:
                        self.calls.setdefault(call.id, Call(call.id, call.name))

    def _apply_to_call(self, event: _CallEvent) -> None:
        call = self.calls.get(event.call_id)
        if call is None or _is_used_again(call, event):
            self.parts += filter(None, [self._open.pop(event.call_id, None)])
            call = self.calls[event.call_id] = Call(event.call_id)
        match event:
            case ToolStarted():
                call.started = event
            case ToolOutput():
                call._add_output(event)
            case ToolEnded():
                call.ended = event
                self.parts.append(call)
            case ApprovalRequested():
                call.requested = event
            case CallReviewed():
                call.reviewed = event
            case ObservationEdited():
                call.edited = event
        call.name = call.name or getattr(event, "name", "")
        if call.ended is None:
            self._open[call.id] = call
        else:
            self._open.pop(call.id, None)

    def close(self) -> None:
        """End the step: calls without a result become parts."""
        self.parts += self._open.values()
        self._open = {}


def _is_used_again(call: Call, event: _CallEvent) -> bool:
    """Whether another call has the id of this one, as a stranger's record may have it."""
    begun = call.started is not None and isinstance(event, ToolStarted)
    ended = call.ended is not None
    return begun or (ended and isinstance(event, ToolStarted | ToolEnded | ApprovalRequested))


class Transcript:
    """Folds a run's events; only the current step is kept. Annotations follow it."""

    def __init__(self) -> None:
        self._step: Step | None = None
        self._annotations: list[Annotation] = []
        self._cursor = 0

    def apply(self, event: Event, cursor: int = 0) -> Iterator[Step | Event]:
        """Apply an event; yield the steps that are over, and events outside steps."""
        begin, self._cursor = self._cursor, cursor
        match event:
            case StepStarted():
                yield from self.close()
                self._step = Step(event.step, begin)
                self._step.apply(event, cursor)
            case RunStarted() | RunContinued() | Forked() | RunEnded():
                yield from self.close()
                yield event
            case Annotation() if self._step is not None:
                self._annotations.append(event)
            case _ if self._step is not None or isinstance(event, _IN_STEP):
                self._step = self._step or Step(begin=begin)
                self._step.apply(event, cursor)
            case _:
                yield event

    def close(self) -> Iterator[Step | Event]:
        """Yield the current step, if there is one: no further event belongs to it."""
        step, self._step = self._step, None
        if step is not None:
            step.close()
            yield step
        annotations, self._annotations = self._annotations, []
        yield from annotations


def steps_of(events: Iterable[tuple[int, Event]]) -> Iterator[Step | Event]:
    """Yield a run's steps, and the events between them; see ``Transcript``."""
    transcript = Transcript()
    for cursor, event in events:
        yield from transcript.apply(event, cursor)
    yield from transcript.close()


def parts_of(events: Iterable[Event]) -> Iterator[Part]:
    """Yield the parts of a run, in order, those of a step at its end; outputs are not kept."""
    for each in steps_of((0, event) for event in events if not isinstance(event, _PIECES)):
        if isinstance(each, Step):
            yield from each.parts
        else:
            yield each
