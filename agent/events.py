"""What happens in a run, as small typed facts in order.

A run is a sequence of rounds. Each begins with ``run_started`` or, after a follow-up
message, ``run_continued``, and ends in exactly one ``run_ended``. Everything that reaches
the model or the person is an event; whatever else is shown (steps, totals, states) is a fold
over them (``agent.fold``).
"""

import json
import time
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from agent.errors import JournalError
from agent.legible import whole
from agent.models.base import FinishReason, Tokens, ToolCall, Usage
from agent.sandbox.base import Ending, Stream
from agent.sandbox.network import Access, Request

Mode = Literal["sandbox", "plain"]
Status = Literal[
    "submitted", "answered", "step_limit", "token_limit", "budget_limit", "time_limit",
    "stopped", "failed",
]  # fmt: skip
# Journals of earlier versions say whether there was a network at all.
Network = Annotated[Access, BeforeValidator(lambda said: _EARLIER.get(said, said))]
_EARLIER = {True: "open", False: "none"}
Origin = Literal["new", "woken", "remade"]
Preparation = Literal["in_line", "preparing_image", "starting_sandbox", "ready"]


def now() -> float:
    """Seconds since the epoch."""
    return time.time()


@dataclass(frozen=True, slots=True)
class Totals:
    """Running totals of a run, all rounds together.

    Attributes:
        steps: Model turns taken.
        prompt_tokens: Tokens read by the model, summed over the turns.
        cached_tokens: The part of them that the endpoint had cached.
        generated_tokens: Tokens that the model wrote.
        environment_tokens: Tokens that came back from the sandbox and the loop.
        peak_context: The longest conversation of any turn, in tokens.
        estimated: Whether any count is an estimate (shown with ≈).
        metered: Whether the model counts tokens at all.
        model_seconds: Time spent waiting for the model.
        sandbox_seconds: Time spent in commands and file operations.
        cost: Money, in the unit of the price that was set; None without a price.
        peak_memory: The container's memory at its highest, bytes; None if unknown.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    at: float = field(default_factory=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(_Event):
    """The first round begins: the task, and the exact prompts that the model is given."""

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
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContinued(_Event):
    """A follow-up message begins another round in the same conversation and sandbox.

    Attributes:
        limits: The round's own; none in journals of earlier versions.
    """

    text: str
    model: str
    metered: bool
    limits: dict[str, float | None] = field(default_factory=dict)
    kind: Literal["run_continued"] = "run_continued"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparing(_Event):
    """The run waits for its turn, or its sandbox is being made; ``progress`` from 0 to 1."""

    state: Preparation
    detail: str = ""
    progress: float | None = None
    kind: Literal["preparing"] = "preparing"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReady(_Event):
    """The sandbox takes commands.

    Attributes:
        sandbox: Its id.
        seconds: How long that took.
        pooled: Whether it was waiting warm.
        origin: ``new``; ``woken`` after it rested, with what was installed in it; ``remade``
            on the files of one that is gone with what was installed.
    """

    sandbox: str
    seconds: float
    pooled: bool
    origin: Origin = "new"
    kind: Literal["sandbox_ready"] = "sandbox_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted(_Event):
    """A model turn begins; ``note`` is what was added to the last message for it."""

    step: int
    note: str
    kind: Literal["step_started"] = "step_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta(_Event):
    """More of the model's reasoning."""

    step: int
    text: str
    kind: Literal["reasoning_delta"] = "reasoning_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(_Event):
    """More of the model's text."""

    step: int
    text: str
    kind: Literal["text_delta"] = "text_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDelta(_Event):
    """More of a tool call as the model writes it; ``name`` comes with its first part."""

    step: int
    index: int
    name: str
    arguments: str
    kind: Literal["call_delta"] = "call_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying(_Event):
    """A turn failed in a way that may pass; what it streamed so far is void."""

    step: int
    attempt: int
    reason: str
    wait: float
    kind: Literal["retrying"] = "retrying"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(_Event):
    """Something was adapted; a sentence for the person."""

    step: int
    text: str
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswered(_Event):
    """A model turn, whole.

    Attributes:
        usage: None for a model that is not metered.
        tokens: The turn as ids, where the model gave them. They are for the trainer; nobody
            who follows a run is sent them (``without_tokens``).
    """

    step: int
    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage | None
    estimated: bool
    seconds: float
    tokens: Tokens | None = None
    kind: Literal["model_answered"] = "model_answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(_Event):
    """A tool call is being executed; ``head`` is its one line for a person."""

    step: int
    call_id: str
    name: str
    arguments: dict[str, Any]
    head: str
    kind: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput(_Event):
    """Output as it comes.

    Attributes:
        text: What came; where ``beside`` is set only the last part of it.
        skipped: Bytes that the sandbox left out just before ``text``.
        beside: The file in the run's folder that holds the whole output, once it is long.
    """

    step: int
    call_id: str
    stream: Stream
    text: str
    skipped: int = 0
    beside: str = ""
    kind: Literal["tool_output"] = "tool_output"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(_Event):
    """A tool call has its result.

    Attributes:
        observation: Exactly what the model is told.
        requests: What the sandbox asked of the network meanwhile, as the proxy measured it.
        full: What of the disk was full, in a sentence; empty where it was not.
    """

    step: int
    call_id: str
    name: str
    ok: bool
    exit_code: int | None
    ending: Ending
    seconds: float
    observation: str
    requests: tuple[Request, ...] = ()
    full: str = ""
    kind: Literal["tool_ended"] = "tool_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(_Event):
    """The loop spoke to the model in the person's place (a reminder, a last warning)."""

    step: int
    text: str
    kind: Literal["told"] = "told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten(_Event):
    """Older observations were replaced by a note, to make room in the model's context."""

    step: int
    call_ids: tuple[str, ...]
    note: str
    kind: Literal["forgotten"] = "forgotten"


@dataclass(frozen=True, slots=True)
class Change:
    """One path of the workspace that a step made, changed or removed."""

    path: str
    what: Literal["added", "changed", "removed"]
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceChanged(_Event):
    """What a step did to the workspace; at most the first 200 paths, ``total`` counts all."""

    step: int
    changes: tuple[Change, ...]
    total: int
    kind: Literal["workspace_changed"] = "workspace_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded(_Event):
    """A step is complete: its turn, its calls, their results."""

    step: int
    totals: Totals
    kind: Literal["step_ended"] = "step_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(_Event):
    """A round is over.

    Attributes:
        status: How it ended.
        reason: Where it failed or ran into a limit: what happened and what to do.
        answer: ``output/answer.txt``, or the final text where there is none.
    """

    status: Status
    reason: str
    answer: str
    totals: Totals
    kind: Literal["run_ended"] = "run_ended"


Event = (
    RunStarted
    | RunContinued
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
    | Told
    | Forgotten
    | WorkspaceChanged
    | StepEnded
    | RunEnded
)
KINDS: tuple[type[Event], ...] = get_args(Event)

# Inside a text its quotes would be escaped; other events may hold it, and stay as they are.
_HAS_TOKENS = b'"tokens":{'
_adapter: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def encode(event: Event) -> bytes:
    """The event as one line of JSON, without the line's end.

    Half a character, such as a task from a command line may hold, becomes ``�``.
    """
    try:
        return _adapter.dump_json(event)
    except PydanticSerializationError:
        text = json.dumps(_adapter.dump_python(event), ensure_ascii=False)
        return whole(text).encode()


def decode(line: bytes) -> Event:
    """The event that ``encode`` wrote.

    Raises:
        JournalError: the line is not a known event.
    """
    try:
        return _adapter.validate_json(line)
    except ValidationError as error:
        raise JournalError(f"Not an event: {line[:80]!r}: {error.errors()[0]['msg']}") from error


def without_tokens(line: bytes) -> bytes:
    """The line of an event without the ids of a turn, which are longer than all the rest."""
    if _HAS_TOKENS not in line:
        return line
    event = decode(line)
    return encode(replace(event, tokens=None)) if isinstance(event, ModelAnswered) else line
