"""What a run looks like: its steps and totals as a fold over its events.

The picture holds the heads of steps only (what, state, seconds); each step's head names the
part of the journal that holds its body, so that a page opens at once however long the run is.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from agent.events import (
    CallDelta,
    Change,
    Event,
    Mode,
    ModelAnswered,
    Notice,
    Preparing,
    ReasoningDelta,
    Retrying,
    RunContinued,
    RunEnded,
    RunStarted,
    SandboxReady,
    Status,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Totals,
    WorkspaceChanged,
)
from agent.meter import Limits, Meter
from agent.models.base import Usage
from agent.sandbox.base import Ending
from agent.sandbox.network import Access

State = (
    Literal[
        "draft",
        "in_line",
        "preparing_image",
        "starting_sandbox",
        "waiting_model",
        "thinking",
        "writing",
        "running_tool",
        "retrying",
    ]
    | Status
)
_HEAD = 200
_SHOWN_CHANGES = 20


@dataclass
class CallHead:
    """One tool call in a line. ``ending`` is None while it runs."""

    id: str
    name: str
    head: str
    began: float
    ok: bool = True
    ending: Ending | None = None
    exit_code: int | None = None
    seconds: float = 0.0


@dataclass
class StepHead:
    """One step in a few lines.

    Attributes:
        begin: Journal cursor before its first event.
        end: Cursor behind its last one so far.
        rounds: The round it belongs to, from 1.
    """

    step: int
    round: int
    begin: int
    end: int
    began: float
    text: str = ""
    thought: str = ""
    calls: list[CallHead] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    changed: int = 0
    usage: Usage | None = None
    estimated: bool = False
    model_seconds: float = 0.0
    ended: bool = False


@dataclass
class RoundHead:
    """One round: what the person said, and how it ended (``status`` None while it goes on)."""

    text: str
    began: float
    first_step: int
    status: Status | None = None
    reason: str = ""
    answer: str = ""
    ended: float | None = None


@dataclass
class RunPicture:
    """A run at one moment; ``apply`` takes in the next event.

    ``detail`` and ``progress`` belong to the state (why a retry, which command, how far).
    """

    run: str = ""
    mode: Mode = "sandbox"
    model: str = ""
    metered: bool = True
    prompt: str = ""
    inputs: tuple[str, ...] = ()
    network: Access = "open"
    limits: dict[str, float | None] = field(default_factory=dict)
    sandbox: str = ""
    state: State = "draft"
    detail: str = ""
    progress: float | None = None
    since: float = 0.0
    rounds: list[RoundHead] = field(default_factory=list)
    steps: list[StepHead] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    cursor: int = 0

    @property
    def alive(self) -> bool:
        """Whether a round has begun and not ended."""
        return bool(self.rounds) and self.rounds[-1].status is None

    @property
    def going_on(self) -> StepHead | None:
        """The step that goes on; one that an earlier round's end cut off does not."""
        last = self.steps[-1] if self.alive and self.steps else None
        if last is None or last.ended or last.round != len(self.rounds):
            return None
        return last

    @property
    def used(self) -> Totals:
        """The totals, with what the step used that goes on; its price is known when it ends."""
        step = self.going_on
        if step is None or step.usage is None:
            return self.totals
        meter = Meter(Limits(), self.totals)
        meter.count_turn(step.usage, estimated=step.estimated, seconds=step.model_seconds)
        meter.count_sandbox(sum(call.seconds for call in step.calls), None)
        return meter.totals

    def apply(self, event: Event, cursor: int) -> None:
        """Take in one event; ``cursor`` is the journal's behind it."""
        begin, self.cursor = self.cursor, cursor
        match event:
            case RunStarted() | RunContinued():
                self._begin_round(event)
            case Preparing() | SandboxReady():
                self._prepare(event)
            case StepStarted():
                self._begin_step(event, begin)
            case RunEnded():
                self._end_round(event)
            case _:
                self._apply_to_step(event)
        if self.steps and self.alive:
            self.steps[-1].end = cursor

    def _enter(self, state: State, at: float, detail: str = "") -> None:
        if (state, detail) != (self.state, self.detail):
            self.state, self.detail, self.since, self.progress = state, detail, at, None

    def _begin_round(self, event: RunStarted | RunContinued) -> None:
        if isinstance(event, RunStarted):
            self.run, self.mode, self.prompt = event.run, event.mode, event.prompt
            self.inputs, self.limits = event.inputs, event.limits
            self.network = event.network
            text = event.task
        else:
            self.limits = event.limits or self.limits
            text = event.text
        self.model, self.metered = event.model, event.metered
        self.rounds.append(RoundHead(text, event.at, len(self.steps) + 1))
        self._enter("waiting_model", event.at)

    def _prepare(self, event: Preparing | SandboxReady) -> None:
        if isinstance(event, SandboxReady):
            self.sandbox = event.sandbox
            self._enter("waiting_model", event.at)
        elif event.state != "ready":
            since = self.since if self.state == event.state else event.at
            self._enter(event.state, event.at, event.detail)
            self.since, self.progress = since, event.progress

    def _begin_step(self, event: StepStarted, begin: int) -> None:
        head = StepHead(event.step, len(self.rounds), begin, self.cursor, event.at)
        self.steps.append(head)
        self._enter("waiting_model", event.at)

    def _end_round(self, event: RunEnded) -> None:
        self.totals = event.totals
        self._enter(event.status, event.at, event.reason)
        if self.rounds:
            last = self.rounds[-1]
            last.status, last.reason, last.answer = event.status, event.reason, event.answer
            last.ended = event.at

    def _apply_to_step(self, event: Event) -> None:
        if not self.steps:
            return
        step = self.steps[-1]
        match event:
            case ToolStarted():
                self._enter("running_tool", event.at, event.head)
                step.calls.append(CallHead(event.call_id, event.name, event.head, event.at))
            case ToolEnded():
                _end_call(step, event)
            case WorkspaceChanged():
                _note_changes(step, event)
            case StepEnded():
                self.totals, step.ended = event.totals, True
                self._enter("waiting_model", event.at)
            case _:
                self._apply_to_turn(step, event)

    def _apply_to_turn(self, step: StepHead, event: Event) -> None:
        match event:
            case ReasoningDelta():
                self._enter("thinking", event.at)
                step.thought = (step.thought + event.text)[:_HEAD]
            case TextDelta():
                self._enter("writing", event.at)
                step.text = (step.text + event.text)[:_HEAD]
            case CallDelta():
                self._enter("writing", event.at)
            case Retrying():
                self._enter("retrying", event.at, event.reason)
                step.text = step.thought = ""
            case Notice():
                self._enter("waiting_model", event.at, event.text)
            case ModelAnswered():
                step.usage, step.estimated = event.usage, event.estimated
                step.model_seconds = event.seconds
            case _:
                pass


def _note_changes(step: StepHead, event: WorkspaceChanged) -> None:
    """Add what an event tells; at a round's end a step's changes may come a second time."""
    known = {change.path: change for change in step.changes}
    again = 0
    for change in event.changes:
        before = known.get(change.path)
        again += before is not None
        if before is not None and (before.what, change.what) == ("added", "changed"):
            change = replace(change, what="added")
        known[change.path] = change
    step.changes = list(known.values())[:_SHOWN_CHANGES]
    step.changed += event.total - again


def _end_call(step: StepHead, event: ToolEnded) -> None:
    for call in step.calls:
        if call.id == event.call_id:
            break
    else:
        call = CallHead(event.call_id, event.name, event.name, event.at)
        step.calls.append(call)
    call.ok, call.ending = event.ok, event.ending
    call.exit_code, call.seconds = event.exit_code, event.seconds
