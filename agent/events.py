"""The events of a run, as typed records in order.

A run is a sequence of rounds. Each begins with ``run_started`` or, after a follow-up
message, ``run_continued``, and ends in exactly one ``run_ended``. Everything that reaches
the model or the user is an event; everything else shown (steps, totals, states) is reduced
from the events (``agent.runs.state``).
"""

import json
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from agent.capabilities.usage import CapabilityUsage
from agent.errors import JournalError
from agent.models.base import FinishReason, OpaqueParts, ReasoningField, ToolCall, TurnTokens, Usage
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
"""How a replayed step compares with the recorded one, from best to worst.

``volatile`` means that only parts differ that differ in every execution, such as times;
``unverified`` that it cannot be told.
"""
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
    """Cumulative totals of a run over all its rounds.

    Attributes:
        steps: Model turns taken.
        prompt_tokens: Tokens read by the model, summed over the turns.
        cached_tokens: Prompt tokens that the endpoint read from its cache.
        cache_written_tokens: Prompt tokens that it wrote to its cache, if it reports them.
        generated_tokens: Tokens that the model wrote.
        environment_tokens: Tokens that came from the sandbox and the loop.
        peak_context: The longest conversation of any turn, in tokens.
        estimated: Whether any count is an estimate (shown with ≈).
        metered: Whether the model counts tokens at all.
        model_seconds: Time spent waiting for the model.
        sandbox_seconds: Time spent in commands and file operations.
        cost: Money, in the unit of the configured price; None without a price.
        peak_memory: The container's peak memory in bytes; None if unknown.
        truncated: Whether the server cut the conversation without saying so.
    """

    steps: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    environment_tokens: int = 0
    peak_context: int = 0
    estimated: bool = False
    metered: bool = True
    model_seconds: float = 0.0
    sandbox_seconds: float = 0.0
    cost: float | None = None
    peak_memory: int | None = None
    cache_written_tokens: int = 0
    truncated: bool = False


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
    """The first round begins: the task and the exact prompts sent to the model.

    Attributes:
        history: The messages between ``system`` and ``user``, if a client gave any.
        spec: What was asked for (``agent.runs.spec.RunSpec``), without the task; empty if unknown.
        passport: What was known of the model (``Passport.provenance``); None if it was not tested.
        format: The version of the format that the round is written in; 1 if missing.
    """

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
    history: tuple[EarlierMessage, ...] = ()
    spec: dict[str, Any] = field(default_factory=dict)
    passport: dict[str, Any] | None = None
    format: int = 1
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContinued(_Event):
    """A follow-up message begins another round in the same conversation and sandbox.

    Attributes:
        limits: The limits of this round; empty in journals of earlier versions.
        passport: As in ``RunStarted``.
        format: As in ``RunStarted``.
    """

    text: str
    model: str
    metered: bool
    limits: dict[str, float | None] = field(default_factory=dict)
    passport: dict[str, Any] | None = None
    format: int = 1
    kind: Literal["run_continued"] = "run_continued"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked(_Event):
    """The run is a fork: the events before this one are a copy of its parent's.

    It ends a round that was cut off in the copy. A ``run_continued`` follows, whose text is empty
    where the conversation goes on without a message.

    Attributes:
        parent: The id of the run that was forked.
        step: The last step that was copied.
        totals: The totals of the copied steps, which this run did not spend.
        missing: Paths, as URLs, of files whose contents were not kept: the first 200.
        missing_total: Their number.
        setup: Commands that run in the new sandbox before the first turn of the model.
        mode: The mode from here on; None for the same. The same holds for what follows.
        prompt: The name of the prompt.
        system: The system prompt.
        user: The message of the first round as the model sees it.
    """

    parent: str
    step: int
    totals: Totals
    missing: tuple[str, ...] = ()
    missing_total: int = 0
    setup: tuple[str, ...] = ()
    mode: Mode | None = None
    prompt: str | None = None
    system: str | None = None
    user: str | None = None
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
    """The sandbox accepts commands.

    Attributes:
        sandbox: Its id.
        seconds: Time until it was ready.
        pooled: Whether it came from the pool of warm sandboxes.
        origin: ``new``; ``restarted`` after a stop, with its installed software;
            ``recreated``: a new container on the old files, without its installed software.
        image: The id of its image, ``sha256:…``; empty if unknown, as after a restart.
        node: The name of the cluster's node that it is on; empty for this machine.
    """

    sandbox: str
    seconds: float
    pooled: bool
    origin: SandboxOrigin = "new"
    image: str = ""
    node: str = ""
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
    """More of the model's text, which turns out to be reasoning in rare cases.

    ``ModelAnswered`` says what is text and what is reasoning.
    """

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
    """A complete model turn.

    Attributes:
        usage: None for a model that is not metered.
        reasoning_field: The name of the field in which the endpoint sent the reasoning.
        tokens: The turn's token ids, if the model returned them. They are for the trainer
            and are not sent to subscribers (``without_unshown``).
        opaque: What the API gave to be given back with the answer; not sent to subscribers either.
        left_out: The settings that were asked for and not sent to the endpoint.
    """

    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage | None
    estimated: bool
    seconds: float
    tokens: TurnTokens | None = None
    reasoning_field: ReasoningField = "reasoning_content"
    opaque: OpaqueParts | None = None
    left_out: tuple[str, ...] = ()
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
    """Output of a tool call as it arrives.

    Attributes:
        text: The output; only its last part if ``output_file`` is set.
        skipped: Bytes that the sandbox left out just before ``text``.
        output_file: The file in the run's folder that holds the whole output, if it is long.
    """

    call_id: str
    stream: StreamName
    text: str
    skipped: int = 0
    output_file: str = ""
    kind: Literal["tool_output"] = "tool_output"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(_StepEvent):
    """A tool call has its result.

    Attributes:
        observation: The exact text sent to the model, unless ``ObservationEdited`` follows.
        requests: The sandbox's network requests during the call, as measured by the proxy.
        storage_note: A sentence on which storage was full; empty if none was.
        cpu_seconds: CPU time of the sandbox during the call; None if it is unknown.
        packages: Packages installed during the call, as the sandbox reports it.
        used: What the call used of the computer; None in journals of earlier versions.
    """

    call_id: str
    name: str
    ok: bool
    exit_code: int | None
    end_reason: EndReason
    seconds: float
    observation: str
    requests: tuple[NetworkRequest, ...] = ()
    storage_note: str = ""
    cpu_seconds: float | None = None
    packages: tuple[str, ...] = ()
    used: CapabilityUsage | None = None
    kind: Literal["tool_ended"] = "tool_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder(_StepEvent):
    """The loop sent the model a user message (a reminder, a last warning)."""

    text: str
    kind: Literal["reminder"] = "reminder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused(_StepEvent):
    """The round waits for the user before its next model turn.

    Attributes:
        step: The last step; 0 if none has begun.
    """

    kind: Literal["paused"] = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed(_StepEvent):
    """A paused round goes on.

    Attributes:
        step: As in ``Paused``.
        seconds: How long it waited.
    """

    seconds: float
    kind: Literal["resumed"] = "resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelivered(_StepEvent):
    """A message that the user sent while the round ran reaches the model with this step.

    Attributes:
        message: The id that it had while it waited.
        sent: When the user sent it.
    """

    text: str
    message: str = ""
    sent: float = 0.0
    kind: Literal["message_delivered"] = "message_delivered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(_StepEvent):
    """A call waits for the user's decision.

    Attributes:
        arguments: The call's parameters, as parsed.
        summary: One line for the user.
        reasons: Why it waits.
    """

    call_id: str
    name: str
    arguments: dict[str, Any]
    summary: str
    reasons: tuple[ApprovalReason, ...] = ()
    kind: Literal["approval_requested"] = "approval_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReviewed(_StepEvent):
    """The user decided on a call that waited.

    Attributes:
        arguments: The parameters as the user edited them; None unless ``edited``.
        reason: Why it was denied, as the model is told.
        note: What the model is told of an edit, at the end of the call's observation.
    """

    call_id: str
    decision: Decision
    arguments: dict[str, Any] | None = None
    reason: str = ""
    note: str = ""
    kind: Literal["call_reviewed"] = "call_reviewed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationEdited(_StepEvent):
    """The user edited what the model sees of a call's result, before it was sent.

    Attributes:
        observation: The exact text sent to the model instead of that in ``ToolEnded``, which says
            what the tool returned.
    """

    call_id: str
    observation: str
    kind: Literal["observation_edited"] = "observation_edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationsCleared(_StepEvent):
    """A note replaces older observations, to free space in the model's context."""

    call_ids: tuple[str, ...]
    note: str
    kind: Literal["observations_cleared"] = "observations_cleared"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryStarted(_StepEvent):
    """The model is asked to summarise older steps, to free space in its context.

    The request holds the conversation up to the end of these steps, then ``instruction``.

    Attributes:
        step: The step that needs the space.
        first_step: The first step to be replaced.
        last_step: The last one.
        instruction: What the model is asked.
    """

    first_step: int
    last_step: int
    instruction: str
    kind: Literal["summary_started"] = "summary_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryEnded(_StepEvent):
    """A summary replaces older steps in the conversation, or could not be made.

    The steps themselves stay in the journal.

    Attributes:
        step: As in ``SummaryStarted``, and so are ``first_step`` and ``last_step``.
        text: What the model sees in place of these steps; empty if nothing was replaced.
        reason: Why nothing was replaced.
        usage: Of the request; None if it is not known.
        estimated: Whether ``usage`` is an estimate.
        seconds: Time that the model took.
        replaced_tokens: About how many tokens the steps took.
        summary_tokens: About how many tokens ``text`` takes.
    """

    first_step: int
    last_step: int
    text: str
    reason: str = ""
    usage: Usage | None = None
    estimated: bool = False
    seconds: float = 0.0
    replaced_tokens: int = 0
    summary_tokens: int = 0
    kind: Literal["summary_ended"] = "summary_ended"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A path in the workspace that a step added, changed or removed.

    Attributes:
        hash: The SHA-256 in hex of a file's content or of a link's target; None if it was not read,
            as in journals of earlier versions.
    """

    path: str
    kind: Literal["added", "changed", "removed"]
    size: int = 0
    hash: str | None = None


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
    """A round ended.

    Attributes:
        status: How it ended.
        reason: If it failed or reached a limit: what happened and what to do.
        answer: The content of ``output/answer.txt``, or the final text without that file.
    """

    status: Status
    reason: str
    answer: str
    totals: Totals
    kind: Literal["run_ended"] = "run_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStarted(_Event):
    """A run executes the recorded calls of another run again.

    Attributes:
        run: The id of the recorded run; empty if only its journal was given.
        steps: The numbers of the steps to replay.
        notes: Sentences on what could not be restored, or on the record as a whole.
        complete: Whether everything could be restored; without it, the replay is unverified.
    """

    run: str
    steps: tuple[int, ...]
    notes: tuple[str, ...] = ()
    complete: bool = True
    kind: Literal["replay_started"] = "replay_started"


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """How a replayed call compares with the recorded one.

    Attributes:
        rules: The names of the rules for what is volatile.
        reason: Why it is unverified or differs, as a sentence.
        diff: The lines around the first difference of its output.
    """

    call_id: str
    verdict: Verdict
    rules: tuple[str, ...] = ()
    reason: str = ""
    diff: str = ""


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
    """A replayed step was compared with the recorded one.

    Attributes:
        calls: Its calls.
        files: The first of the changed paths that are not the same; ``total`` counts all.
        notes: Sentences on the step or its record.
    """

    verdict: Verdict
    calls: tuple[CheckedCall, ...] = ()
    files: tuple[CheckedFile, ...] = ()
    total: int = 0
    notes: tuple[str, ...] = ()
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
    """A journal line that this version cannot read; this event is never written.

    Attributes:
        at: When the line was written; 0 if unknown.
        step: The step that the line names; 0 if none.
        event_kind: The kind of event that the line names; empty if none.
        text: A sentence about it for the user.
    """

    event_kind: str
    text: str
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
def _event_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[JournalEvent | UnreadableEvent, Field(discriminator="kind")])


def encode(event: Event) -> bytes:
    """Return the event as one line of JSON, without the newline.

    A lone surrogate, as a task from a command line may contain, becomes ``�``.
    """
    try:
        return _event_adapter().dump_json(event)
    except PydanticSerializationError:
        text = json.dumps(_event_adapter().dump_python(event), ensure_ascii=False)
        return to_json(from_json(replace_surrogates(text)), inf_nan_mode="null")


def decode(line: bytes) -> JournalEvent:
    """Return the event that ``encode`` wrote.

    Raises:
        JournalError: The line is not a known event.
    """
    try:
        return journal_adapter().validate_json(line)
    except ValidationError as error:
        problems = error.error_count()  # their texts could take much memory
        raise JournalError(f"Not an event: {line[:80]!r}: {problems} invalid values") from error


def without_unshown(line: bytes) -> bytes:
    """Return an event's line without what is never shown: token ids and opaque parts.

    They can take most of a model turn's bytes.
    """
    if not any(mark in line for mark in _UNSHOWN):
        return line
    event = decode(line)
    if not isinstance(event, ModelAnswered):
        return line
    return encode(replace(event, tokens=None, opaque=None))
