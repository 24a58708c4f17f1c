"""The events of a run, in order: everything that reaches the model or the user.

A round begins with ``run_started`` or ``run_continued`` and ends in exactly one ``run_ended``.
Everything else shown (steps, totals, states) is reduced from the events (``agent.runs.state``).
"""

import json
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from agent.capabilities.usage import CapabilityUsage
from agent.errors import JournalError
from agent.models.base import (
    FinishReason,
    OpaqueParts,
    Picture,
    PictureLimits,
    ReasoningField,
    ToolCall,
    TurnTokens,
    Usage,
)
from agent.sandbox.base import EndReason, StreamName
from agent.sandbox.network.policy import NetworkAccess, NetworkRequest
from agent.util import clock
from agent.util.text import replace_surrogates

FORMAT = 3
"""The version of the journal format that this version writes; see ``agent.runs.journal``."""

Mode = Literal["sandbox", "plain"]
Status = Literal[
    "submitted", "answered", "step_limit", "token_limit", "budget_limit", "time_limit",
    "stopped", "failed",
]  # fmt: skip
# Journals of earlier versions hold a boolean.
Network = Annotated[
    NetworkAccess, BeforeValidator(lambda value: _EARLIER_NETWORK.get(str(value), value))
]
_EARLIER_NETWORK = {"True": "open", "False": "none"}
SandboxOrigin = Literal["new", "restarted", "recreated"]
Verdict = Literal["same", "volatile", "unverified", "differs"]
"""How a replayed step compares, best to worst; ``volatile``: only times and the like differ."""
Decision = Literal["allowed", "edited", "denied"]
"""What the user decided on a call that waited for approval."""
ApprovalReason = Literal["every", "network", "delete", "install", "long", "unclear"]
"""Why a call waits for approval: the rule that it matches, or that its text cannot be read."""
Preparation = Literal["queued", "preparing_image", "starting_sandbox", "ready"]


def now() -> float:
    """Return the seconds since the epoch; see ``agent.util.clock.EventClock``."""
    return clock.EVENTS.time()


@dataclass(frozen=True, slots=True)
class Totals:
    """Cumulative totals of a run over all its rounds."""

    steps: int = 0  # model turns
    prompt_tokens: int = 0  # read by the model, summed over the turns
    cached_tokens: int = 0  # the part that the endpoint read from its cache
    generated_tokens: int = 0  # written by the model
    environment_tokens: int = 0  # from the sandbox and the loop
    peak_context: int = 0  # longest conversation of any turn, in tokens
    estimated: bool = False  # whether any count is (shown with ≈)
    metered: bool = True  # whether the model counts tokens at all
    model_seconds: float = 0.0  # waiting for the model
    sandbox_seconds: float = 0.0  # in commands and file operations
    cost: float | None = None  # in the unit of the configured price; None without one
    peak_memory: int | None = None  # of the container in bytes; None if unknown
    cache_written_tokens: int = 0  # that it wrote to its cache, if it reports them
    truncated: bool = False  # the server cut the conversation without saying so


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    at: float = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepEvent(_Event):
    step: int


@dataclass(frozen=True, slots=True)
class EarlierMessage:
    """A message of a conversation that a client continues with a new run."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(_Event):
    """The first round begins: the task and the exact prompts sent to the model."""

    run: str
    task: str
    mode: Mode
    model: str
    metered: bool
    prompt: str
    system: str
    user: str
    inputs: tuple[str, ...] = ()
    network: Network = "open"
    hosts: tuple[str, ...] = ()
    limits: dict[str, float | None] = field(default_factory=dict)
    history: tuple[EarlierMessage, ...] = ()  # before ``user``, if a client gave any
    spec: dict[str, Any] = field(default_factory=dict)  # ``RunSpec``, without the task
    passport: dict[str, Any] | None = None  # ``Passport.provenance``; None if not tested
    pictures: tuple[Picture, ...] = ()  # given to the model with ``user``
    picture_limits: PictureLimits | None = None  # None: the model takes no pictures
    format: int = 1  # version of the format that the round is written in
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContinued(_Event):
    """A follow-up message begins another round in the same conversation and sandbox."""

    text: str
    model: str
    metered: bool
    user: str = ""  # what the model gets, if that is more than ``text``: the documents, too
    limits: dict[str, float | None] = field(default_factory=dict)
    passport: dict[str, Any] | None = None
    pictures: tuple[Picture, ...] = ()  # given to the model with the message
    picture_limits: PictureLimits | None = None
    format: int = 1
    kind: Literal["run_continued"] = "run_continued"

    @property
    def sent(self) -> str:
        """What the model gets."""
        return self.user or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked(_Event):
    """The run is a fork: the events before are its parent's. It ends a round that was cut off.

    A ``run_continued`` follows, without a text if the conversation goes on without a message.
    """

    parent: str  # the forked run
    step: int  # the last that was copied
    totals: Totals  # of the copied steps, which this run did not spend
    missing: tuple[str, ...] = ()  # first 200 paths, as URLs, whose contents were not kept
    missing_total: int = 0
    setup: tuple[str, ...] = ()  # commands in the new sandbox before the first turn
    mode: Mode | None = None  # from here on; None for the same, as what follows
    prompt: str | None = None  # its name
    system: str | None = None
    user: str | None = None  # the first round's message as the model sees it
    kind: Literal["forked"] = "forked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparing(_Event):
    """The run is queued or its sandbox is starting; ``progress`` is from 0 to 1."""

    state: Preparation
    detail: str = ""
    progress: float | None = None
    kind: Literal["preparing"] = "preparing"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReady(_Event):
    """The sandbox accepts commands; a ``recreated`` one has lost its installed software."""

    sandbox: str
    seconds: float
    pooled: bool  # from the pool of warm sandboxes
    origin: SandboxOrigin = "new"
    image: str = ""  # its id, ``sha256:…``; empty if unknown
    node: str = ""  # of the cluster; empty for this machine
    kind: Literal["sandbox_ready"] = "sandbox_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted(_StepEvent):
    """A model turn begins; ``note`` is the text added to the last message for it."""

    note: str
    kind: Literal["step_started"] = "step_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta(_StepEvent):
    """More of the model's reasoning."""

    text: str
    kind: Literal["reasoning_delta"] = "reasoning_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(_StepEvent):
    """More of the model's text; it may turn out to be reasoning in ``ModelAnswered``."""

    text: str
    kind: Literal["text_delta"] = "text_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDelta(_StepEvent):
    """More of a tool call as the model writes it; ``name`` comes with its first part."""

    index: int
    name: str
    arguments: str
    kind: Literal["call_delta"] = "call_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying(_StepEvent):
    """A turn failed temporarily and is retried; its streamed deltas are void."""

    attempt: int
    reason: str
    wait: float
    kind: Literal["retrying"] = "retrying"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(_StepEvent):
    """A sentence telling the user that the loop adapted something."""

    text: str
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswered(_StepEvent):
    """A complete model turn; ``tokens`` and ``opaque``, to be given back, are not shown."""

    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage | None  # None for a model that is not metered
    estimated: bool
    seconds: float
    tokens: TurnTokens | None = None
    reasoning_field: ReasoningField = "reasoning_content"  # in which it was sent
    opaque: OpaqueParts | None = None
    left_out: tuple[str, ...] = ()  # settings that were not sent to the endpoint
    kind: Literal["model_answered"] = "model_answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(_StepEvent):
    """A tool call is being executed; ``summary`` is one line for the user."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    summary: str
    kind: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput(_StepEvent):
    """Output of a tool call as it arrives."""

    call_id: str
    stream: StreamName
    text: str  # only its last part if ``output_file`` is set
    skipped: int = 0  # bytes that the sandbox left out just before
    output_file: str = ""  # in the run's folder: a long output as a whole
    kind: Literal["tool_output"] = "tool_output"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(_StepEvent):
    """A tool call has its result."""

    call_id: str
    name: str
    ok: bool
    exit_code: int | None
    end_reason: EndReason
    seconds: float
    observation: str  # as sent, unless ``ObservationEdited`` follows
    requests: tuple[NetworkRequest, ...] = ()  # of the sandbox meanwhile, by the proxy
    storage_note: str = ""  # which storage was full
    cpu_seconds: float | None = None  # of the sandbox; None if unknown
    packages: tuple[str, ...] = ()  # installed meanwhile, as the sandbox reports it
    used: CapabilityUsage | None = None  # None in journals of earlier versions
    pictures: tuple[Picture, ...] = ()  # that the model gets with the observation
    kind: Literal["tool_ended"] = "tool_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder(_StepEvent):
    """The loop sent the model a user message (a reminder, a last warning)."""

    text: str
    kind: Literal["reminder"] = "reminder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused(_StepEvent):
    """The round waits for the user before its next model turn; ``step`` 0 if none has begun."""

    kind: Literal["paused"] = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed(_StepEvent):
    """A paused round goes on."""

    seconds: float  # how long it waited
    kind: Literal["resumed"] = "resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelivered(_StepEvent):
    """A message that the user sent while the round ran reaches the model with this step."""

    text: str
    message: str = ""  # the id that it had while it waited
    sent: float = 0.0
    pictures: tuple[Picture, ...] = ()  # given to the model with it
    kind: Literal["message_delivered"] = "message_delivered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(_StepEvent):
    """A call waits for the user's decision."""

    call_id: str
    name: str
    arguments: dict[str, Any]  # as parsed
    summary: str  # one line for the user
    reasons: tuple[ApprovalReason, ...] = ()  # why it waits
    kind: Literal["approval_requested"] = "approval_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReviewed(_StepEvent):
    """The user decided on a call that waited."""

    call_id: str
    decision: Decision
    arguments: dict[str, Any] | None = None  # as edited; None unless ``edited``
    reason: str = ""  # why it was denied, as the model is told
    note: str = ""  # on an edit, at the end of the call's observation
    kind: Literal["call_reviewed"] = "call_reviewed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationEdited(_StepEvent):
    """The user edited what the model sees of a call's result, before it was sent."""

    call_id: str
    observation: str  # instead of that in ``ToolEnded``
    kind: Literal["observation_edited"] = "observation_edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationsCleared(_StepEvent):
    """A note replaces older observations, to free space in the model's context."""

    call_ids: tuple[str, ...]
    note: str
    kind: Literal["observations_cleared"] = "observations_cleared"


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturesDropped(_StepEvent):
    """Text replaces older pictures in the conversation, to free space in the model's context."""

    pictures: tuple[Picture, ...]  # the oldest that it still had, in order
    note: str  # in place of each, after its source and size
    kind: Literal["pictures_dropped"] = "pictures_dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryStarted(_StepEvent):
    """The model gets older steps, then ``instruction`` to summarise them; ``step`` needs space."""

    first_step: int  # to be replaced, to ``last_step``
    last_step: int
    instruction: str
    kind: Literal["summary_started"] = "summary_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryEnded(_StepEvent):
    """A summary replaces older steps in the conversation, or could not be made."""

    first_step: int
    last_step: int
    text: str  # in place of these steps; empty if nothing was replaced
    reason: str = ""  # why nothing was replaced
    usage: Usage | None = None  # of the request; None if unknown
    estimated: bool = False  # of ``usage``
    seconds: float = 0.0
    replaced_tokens: int = 0  # about how many the steps took
    summary_tokens: int = 0  # about how many ``text`` takes
    kind: Literal["summary_ended"] = "summary_ended"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A path in the workspace that a step added, changed or removed."""

    path: str
    kind: Literal["added", "changed", "removed"]
    size: int = 0
    hash: str | None = None  # of a file or a link's target; None if not read


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceChanged(_StepEvent):
    """A step's workspace changes: the first 200 paths; ``total`` counts all."""

    changes: tuple[FileChange, ...]
    total: int
    kind: Literal["workspace_changed"] = "workspace_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded(_StepEvent):
    """A step is complete: its turn, its calls, their results."""

    totals: Totals
    kind: Literal["step_ended"] = "step_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(_Event):
    """A round ended."""

    status: Status
    reason: str  # of a failure or a limit, and what to do
    answer: str  # ``output/answer.txt``, or the final text without it
    totals: Totals
    kind: Literal["run_ended"] = "run_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStarted(_Event):
    """A run executes the recorded calls of another run again."""

    run: str  # the recorded one; empty if only its journal was given
    steps: tuple[int, ...]
    notes: tuple[str, ...] = ()  # sentences on what could not be restored, or the record
    complete: bool = True  # all was restored; else the replay is unverified
    kind: Literal["replay_started"] = "replay_started"


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """How a replayed call compares with the recorded one."""

    call_id: str
    verdict: Verdict
    rules: tuple[str, ...] = ()  # for what is volatile
    reason: str = ""  # why it is unverified or differs
    diff: str = ""  # lines around the output's first difference


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """How a path that a step changed compares; only paths that are not the same are listed."""

    path: str
    verdict: Verdict
    rules: tuple[str, ...] = ()
    reason: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepVerified(_StepEvent):
    """A replayed step was compared with the recorded one."""

    verdict: Verdict
    calls: tuple[CheckedCall, ...] = ()
    files: tuple[CheckedFile, ...] = ()  # first changed paths that differ; ``total`` counts all
    total: int = 0
    notes: tuple[str, ...] = ()  # sentences on the step or its record
    kind: Literal["step_verified"] = "step_verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation(_StepEvent):
    """What a user adds to the record of a step at any time, also when its round has ended."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNoted(Annotation):
    """The user wrote a note on a step for those who read the run; the model does not get it."""

    kind: Literal["step_noted"] = "step_noted"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableEvent(_StepEvent):
    """A journal line that this version cannot read; this event is never written."""

    event_kind: str  # that the line names
    text: str  # a sentence about it for the user
    kind: Literal["unreadable"] = "unreadable"


JournalEvent = (
    RunStarted
    | RunContinued
    | Forked
    | Preparing
    | SandboxReady
    | StepStarted
    | ReasoningDelta
    | TextDelta
    | CallDelta
    | Retrying
    | Notice
    | ModelAnswered
    | ToolStarted
    | ToolOutput
    | ToolEnded
    | Reminder
    | Paused
    | Resumed
    | MessageDelivered
    | ApprovalRequested
    | CallReviewed
    | ObservationEdited
    | ObservationsCleared
    | PicturesDropped
    | SummaryStarted
    | SummaryEnded
    | WorkspaceChanged
    | StepEnded
    | RunEnded
    | ReplayStarted
    | StepVerified
    | StepNoted
)
Event = JournalEvent | UnreadableEvent | Annotation
KINDS: tuple[type[JournalEvent], ...] = get_args(JournalEvent)
KIND_NAMES = frozenset(kind.__dataclass_fields__["kind"].default for kind in KINDS)

# A string would have its quotes escaped; other events that contain these bytes stay unchanged.
_UNSHOWN = (b'"tokens":{', b'"opaque":{')


@cache  # on first use: building one takes 20 ms, and a run that is only recorded reads no event
def journal_adapter() -> TypeAdapter[JournalEvent]:
    """Return the adapter that reads the events of a journal."""
    return TypeAdapter(Annotated[JournalEvent, Field(discriminator="kind")])


@cache
def event_adapter() -> TypeAdapter[Any]:
    """Return the adapter of all events; it is slow to build."""
    return TypeAdapter(Annotated[JournalEvent | UnreadableEvent, Field(discriminator="kind")])


def encode(event: Event) -> bytes:
    """Return the event as a line of JSON, without the newline; a lone surrogate becomes ``�``."""
    try:
        return event_adapter().dump_json(event)
    except PydanticSerializationError:
        text = json.dumps(event_adapter().dump_python(event), ensure_ascii=False)
        return to_json(from_json(replace_surrogates(text)), inf_nan_mode="null")


def decode(line: bytes) -> JournalEvent:
    """Return the event that ``encode`` wrote."""
    try:
        return journal_adapter().validate_json(line)
    except ValidationError as error:
        problems = error.error_count()  # their texts could take much memory
        raise JournalError(f"Not an event: {line[:80]!r}: {problems} invalid values") from error


def without_unshown(line: bytes) -> bytes:
    """Return an event's line without what is never shown: token ids and opaque parts."""
    if not any(mark in line for mark in _UNSHOWN):
        return line
    event = decode(line)
    if not isinstance(event, ModelAnswered):
        return line
    return encode(replace(event, tokens=None, opaque=None))
