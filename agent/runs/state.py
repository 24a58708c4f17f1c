"""The state of a run, reduced from its events; of steps it has only summaries."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent.capabilities.usage import CapabilityUsage, combine, with_written
from agent.events import (
    Annotation,
    ApprovalRequested,
    CallDelta,
    CallReviewed,
    Decision,
    Event,
    FileChange,
    Forked,
    Mode,
    ModelAnswered,
    Notice,
    ObservationEdited,
    Paused,
    Preparing,
    ReasoningDelta,
    ReplayStarted,
    Resumed,
    Retrying,
    RunContinued,
    RunEnded,
    RunStarted,
    SandboxReady,
    Status,
    StepEnded,
    StepNoted,
    StepStarted,
    StepVerified,
    SummaryEnded,
    SummaryStarted,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Totals,
    UnreadableEvent,
    Verdict,
    WorkspaceChanged,
)
from agent.limits import Limits
from agent.loop.meter import UsageMeter
from agent.models.base import Usage
from agent.runs.metrics.tally import Tally
from agent.runs.outputs.sent_pictures import SentPictures
from agent.sandbox.base import EndReason
from agent.sandbox.network.policy import NetworkAccess
from agent.util.text import mark_hidden, plural

StateName = (
    Literal[
        "draft",
        "queued",
        "preparing_image",
        "starting_sandbox",
        "waiting_model",
        "thinking",
        "writing",
        "running_tool",
        "retrying",
        "paused",
        "waiting_approval",
        "summarising",
    ]
    | Status
)
MAX_ANNOTATIONS, MAX_ANNOTATION_CHARS = 50, 4_000
"""Maximum number of annotations of a step, and of characters of one."""

_MAX_EXCERPT_CHARS = 200
_EDITS = ("create", "str_replace", "insert")
_SHOWN_CHANGES = 20


@dataclass
class CallSummary:
    """The summary of one tool call; ``end_reason`` is None while it runs."""

    id: str
    name: str
    summary: str
    began: float
    ok: bool = True
    end_reason: EndReason | None = None
    exit_code: int | None = None
    seconds: float = 0.0
    executed: bool = True  # False if it could not be understood
    edits: bool = False  # a command of the editor that changes a file
    observation_edited: bool = False  # by the user


@dataclass
class StepSummary:
    """The summary of one step."""

    step: int
    round: int
    begin: int  # journal cursor before its first event
    end: int  # after its last event so far
    began: float
    text: str = ""
    reasoning: str = ""
    calls: list[CallSummary] = field(default_factory=list)
    changes: list[FileChange] = field(default_factory=list)
    total_changes: int = 0
    usage: Usage | None = None
    estimated: bool = False
    model_seconds: float = 0.0
    ended: bool = False
    used: CapabilityUsage | None = None  # None if it was not recorded
    verdict: Verdict | None = None  # in a replay
    reviews: dict[str, Decision] = field(default_factory=dict)  # by the call's id
    summaries: list[SummaryEnded] = field(default_factory=list)  # of older steps, before its turn
    annotations: list[Annotation] = field(default_factory=list)  # of the user


@dataclass
class ReplaySummary:
    """How a replay compares with the recorded run; see ``ReplayStarted``."""

    run: str  # empty if only its journal was given
    steps: int  # to be replayed
    notes: tuple[str, ...] = ()
    complete: bool = True
    counts: dict[Verdict, int] = field(default_factory=dict)  # steps by verdict, so far
    verdict: Verdict = "unverified"

    def count(self, verdict: Verdict) -> None:
        """Count a step's verdict."""
        self.counts[verdict] = self.counts.get(verdict, 0) + 1
        self.verdict = self._total()

    def _total(self) -> Verdict:
        if self.counts.get("differs"):
            return "differs"
        if self.counts.get("unverified") or not self.complete:
            return "unverified"
        if sum(self.counts.values()) < self.steps:
            return "unverified"
        return "volatile" if self.counts.get("volatile") else "same"


@dataclass
class RoundSummary:
    """A round and how it ended (None while it runs); in a fork, a copy may be ``cut``."""

    text: str
    began: float
    first_step: int
    status: Status | None = None
    reason: str = ""
    answer: str = ""
    ended: float | None = None
    cut: bool = False


@dataclass
class RunState:
    """The state of a run; ``apply`` updates it with the next event.

    ``detail`` and ``progress`` describe ``state``; ``format`` is the newest of any round;
    ``passport`` is what was known of the model when the last round began.
    """

    run: str = ""
    mode: Mode = "sandbox"
    model: str = ""
    metered: bool = True
    prompt: str = ""
    inputs: tuple[str, ...] = ()
    network: NetworkAccess = "open"
    limits: dict[str, float | None] = field(default_factory=dict)
    sandbox: str = ""
    node: str = ""
    state: StateName = "draft"
    detail: str = ""
    progress: float | None = None
    state_since: float = 0.0
    rounds: list[RoundSummary] = field(default_factory=list)
    steps: list[StepSummary] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    cursor: int = 0
    format: int = 1
    unreadable: int = 0
    tally: Tally = field(default_factory=Tally)
    pictures: SentPictures = field(default_factory=SentPictures)
    replay: ReplaySummary | None = None
    forked: Forked | None = None
    passport: dict[str, Any] | None = None
    left_out: tuple[str, ...] = ()

    @property
    def is_running(self) -> bool:
        """Whether a round is running."""
        return bool(self.rounds) and self.rounds[-1].status is None and not self.rounds[-1].cut

    @property
    def copied_steps(self) -> int:
        """The number of steps that a fork has copied; 0 in other runs."""
        return self.forked.step if self.forked else 0

    @property
    def current_step(self) -> StepSummary | None:
        """The current step, or None; not a step cut off by the end of its round."""
        last = self.steps[-1] if self.is_running and self.steps else None
        if last is None or last.ended or last.round != len(self.rounds):
            return None
        return last

    @property
    def current_totals(self) -> Totals:
        """The totals including the current step, whose cost is added at its end."""
        step = self.current_step
        if step is None or (step.usage is None and not step.summaries):
            return self.totals
        meter = UsageMeter(Limits(), self.totals)
        for summary in step.summaries:
            meter.count_summary(summary.usage, estimated=summary.estimated, seconds=summary.seconds)
        if step.usage is None:
            return meter.totals
        meter.count_turn(step.usage, estimated=step.estimated, seconds=step.model_seconds)
        meter.count_sandbox(sum(call.seconds for call in step.calls), None)
        return meter.totals

    def apply(self, event: Event, cursor: int) -> None:
        """Apply one event; ``cursor`` is the journal cursor after it."""
        begin, self.cursor = self.cursor, cursor
        self.tally.apply(event)
        self.pictures.apply(event)
        match event:
            case RunStarted() | RunContinued():
                self._begin_round(event)
            case Forked():
                self._fork(event)
            case Preparing() | SandboxReady() | Paused() | Resumed():
                self._apply_preparation(event)
            case StepStarted():
                self._begin_step(event, begin)
            case RunEnded():
                self._end_round(event)
            case UnreadableEvent():
                self.unreadable += 1
            case ReplayStarted():
                self.replay = ReplaySummary(
                    event.run, len(event.steps), event.notes, event.complete
                )
            case StepVerified() | Annotation():
                self._add_remark(event)
            case _:
                self._apply_to_step(event)
        if self.steps and self.is_running:
            self.steps[-1].end = cursor

    def _set_state(self, state: StateName, at: float, detail: str = "") -> None:
        if (state, detail) != (self.state, self.detail):
            self.state, self.detail, self.state_since, self.progress = state, detail, at, None

    def _begin_round(self, event: RunStarted | RunContinued) -> None:
        if isinstance(event, RunStarted):
            self.run, self.mode = self.run or event.run, event.mode
            self.prompt = event.prompt
            self.inputs, self.limits = event.inputs, event.limits
            self.network = event.network
            text = event.task
        else:
            self.limits = event.limits or self.limits
            text = event.text
        self.model, self.metered = event.model, event.metered
        self.passport = event.passport
        self.format = max(self.format, event.format)
        self.rounds.append(RoundSummary(text, event.at, len(self.steps) + 1))
        self._set_state("waiting_model", event.at)

    def _fork(self, event: Forked) -> None:
        """Make the events so far a copy, whose last round may be cut off."""
        self.forked, self.sandbox, self.replay = event, "", None
        self.mode, self.prompt = event.mode or self.mode, event.prompt or self.prompt
        if self.rounds and self.rounds[-1].status is None:
            self.rounds[-1].cut = True
            if self.steps:
                self.steps[-1].ended = True
        self._set_state("draft", event.at)

    def _apply_preparation(self, event: Preparing | SandboxReady | Paused | Resumed) -> None:
        if isinstance(event, Paused | Resumed):
            paused = isinstance(event, Paused)
            self._set_state("paused" if paused else "waiting_model", event.at)
        elif isinstance(event, SandboxReady):
            self.sandbox, self.node = event.sandbox, event.node
            self._set_state("waiting_model", event.at)
        elif event.state != "ready":
            since = self.state_since if self.state == event.state else event.at
            self._set_state(event.state, event.at, event.detail)
            self.state_since, self.progress = since, event.progress

    def _begin_step(self, event: StepStarted, begin: int) -> None:
        step = StepSummary(event.step, len(self.rounds), begin, self.cursor, event.at)
        self.steps.append(step)
        self._set_state("waiting_model", event.at)

    def _add_remark(self, event: StepVerified | Annotation) -> None:
        """Add to a step, which need not be the last one."""
        if self.replay is not None and isinstance(event, StepVerified):
            self.replay.count(event.verdict)
        step = next((each for each in reversed(self.steps) if each.step == event.step), None)
        if step is not None and isinstance(event, StepVerified):
            step.verdict = event.verdict
        elif step and isinstance(event, Annotation) and len(step.annotations) < MAX_ANNOTATIONS:
            step.annotations.append(replace(event, text=event.text[:MAX_ANNOTATION_CHARS]))

    def _end_round(self, event: RunEnded) -> None:
        self.totals = event.totals
        self._set_state(event.status, event.at, event.reason)
        if self.rounds:
            last = self.rounds[-1]
            last.status, last.reason, last.answer = event.status, event.reason, event.answer
            last.ended = event.at
        if self.steps:
            _count_files(self.steps[-1])

    def _apply_to_step(self, event: Event) -> None:
        if not self.steps:
            return
        step = self.steps[-1]
        match event:
            case ToolStarted():
                summary = mark_hidden(event.summary)  # of an earlier version, or of another tool
                self._set_state("running_tool", event.at, summary)
                call = CallSummary(event.call_id, event.name, summary, event.at)
                call.edits = event.arguments.get("command") in _EDITS
                step.calls.append(call)
            case ToolEnded():
                _end_call(step, event)
            case ApprovalRequested():
                self._set_state("waiting_approval", event.at, mark_hidden(event.summary))
            case CallReviewed():
                step.reviews[event.call_id] = event.decision
                self._set_state("waiting_model", event.at)
            case ObservationEdited():
                for call in step.calls:
                    call.observation_edited |= call.id == event.call_id
            case WorkspaceChanged():
                _merge_changes(step, event)
            case StepEnded():
                self.totals, step.ended = event.totals, True
                _count_files(step)
                self._set_state("waiting_model", event.at)
            case _:
                self._apply_to_turn(step, event)

    def _apply_to_turn(self, step: StepSummary, event: Event) -> None:
        match event:
            case ReasoningDelta():
                self._set_state("thinking", event.at)
                step.reasoning = (step.reasoning + event.text)[:_MAX_EXCERPT_CHARS]
            case TextDelta():
                self._set_state("writing", event.at)
                step.text = (step.text + event.text)[:_MAX_EXCERPT_CHARS]
            case CallDelta():
                self._set_state("writing", event.at)
            case Retrying():
                self._set_state("retrying", event.at, event.reason)
                step.text = step.reasoning = ""
            case Notice():
                self._set_state("waiting_model", event.at, event.text)
            case SummaryStarted():
                self._set_state("summarising", event.at)
            case SummaryEnded():
                step.summaries.append(replace(event, text=""))
                self._set_state("waiting_model", event.at)
            case ModelAnswered():
                step.text = event.text[:_MAX_EXCERPT_CHARS]
                step.reasoning = event.reasoning[:_MAX_EXCERPT_CHARS]
                step.usage, step.estimated = event.usage, event.estimated
                step.model_seconds = event.seconds
                if event.left_out:
                    self.left_out = tuple(sorted({*self.left_out, *event.left_out}))
            case _:
                pass


def _merge_changes(step: StepSummary, event: WorkspaceChanged) -> None:
    """Merge an event's changes; the end of a round may repeat those of its last step."""
    known = {change.path: change for change in step.changes}
    again = 0
    for change in event.changes:
        before = known.get(change.path)
        again += before is not None
        if before is not None and (before.kind, change.kind) == ("added", "changed"):
            change = replace(change, kind="added")
        known[change.path] = replace(change, hash=None)  # the page does not need it
    step.changes = list(known.values())[:_SHOWN_CHANGES]
    step.total_changes += event.total - again


def _end_call(step: StepSummary, event: ToolEnded) -> None:
    for call in step.calls:
        if call.id == event.call_id:
            break
    else:
        call = CallSummary(event.call_id, event.name, event.name, event.at, executed=False)
        step.calls.append(call)
    call.ok, call.end_reason = event.ok, event.end_reason
    call.exit_code, call.seconds = event.exit_code, event.seconds
    step.used = combine(step.used, event.used)


def _count_files(step: StepSummary) -> None:
    """Add the changed files to what a step used; a step without a call used nothing else."""
    if step.used is None and not step.calls:
        step.used = CapabilityUsage()
    step.used = with_written(step.used, step.total_changes)


def format_totals(totals: Totals) -> str:
    """Return the totals of a run in one line; ≈ marks an estimate."""
    times = f"model {totals.model_seconds:.1f} s, sandbox {totals.sandbox_seconds:.1f} s"
    steps = plural(totals.steps, "step")
    if not totals.metered:
        return f"{steps}, no tokens (scripted), {times}"
    if not totals.prompt_tokens + totals.generated_tokens:
        return f"{steps}, no token counts, {times}"
    about = "≈" if totals.estimated else ""
    cache = ", ".join(
        f"{count:,} {what}"
        for count, what in (
            (totals.cached_tokens, "cached"),
            (totals.cache_written_tokens, "written to the cache"),
        )
        if count
    )
    tokens = (
        f"{about}{plural(totals.prompt_tokens, 'token')} in{f' ({cache})' if cache else ''}, "
        f"{about}{totals.generated_tokens:,} out, {about}{totals.environment_tokens:,} from the "
        f"environment, longest context {about}{totals.peak_context:,}"
    )
    cost = "" if totals.cost is None else f", cost {totals.cost:.4f}"
    return f"{steps}, {tokens}, {times}{cost}"


def remark(event: Notice | UnreadableEvent | SummaryEnded | Annotation) -> str:
    """Return what an event says as one sentence, the same in every text."""
    if isinstance(event, StepNoted):
        return f"Note on step {event.step}: {event.text}"
    return describe_summary(event) if isinstance(event, SummaryEnded) else event.text


def describe_summary(event: SummaryEnded) -> str:
    """Return a sentence about a summary of older steps; ≈ marks an estimate."""
    steps = f"Steps {event.first_step} to {event.last_step}"
    if event.reason:
        return f"{steps} could not be summarised for the model: {event.reason.rstrip('.')}."
    tokens = f"≈ {event.replaced_tokens:,} → {plural(event.summary_tokens, 'token')}"
    return f"{steps} were summarised for the model: {tokens}."
