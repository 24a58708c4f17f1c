"""The model of a trace, common to all formats: a ``Start``, items in order, an ``Ended``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent.events import Decision, Mode, Status
from agent.models.base import FinishReason, OpaqueParts, ToolCall, Usage
from agent.traces.formats.images import Image


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What holds for the whole trace; ``title`` stands in for a missing task."""

    title: str = ""
    agent: str = ""
    model: str = ""
    system: str = ""
    mode: Mode | None = None
    prompt: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserText:
    """A message to the model; ``task`` is what the user wrote, where ``text`` says more.

    The agent sends a ``reminder``, and the user one ``while_working``, within a round; ``copied``
    ones are of an earlier trace; ``labels_before_text`` counts the ``images`` before the text.
    """

    text: str
    task: str = ""
    at: float | None = None
    reminder: bool = False
    while_working: bool = False
    copied: bool = False
    images: tuple[Image, ...] = ()
    labels_before_text: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnIds:
    """A turn as ids: what the model read, the answer, and log-probabilities if known."""

    prompt: tuple[int, ...]
    generated: tuple[int, ...]
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn of the model, complete ``at`` a time; ``model`` only where it is not the trace's."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    usage: Usage | None = None
    estimated: bool = False
    finish: FinishReason | None = None
    seconds: float | None = None
    at: float | None = None
    cost: float | None = None
    copied: bool = False
    ids: TurnIds | None = None
    opaque: OpaqueParts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The user's decision on a call; see ``agent.events.CallReviewed``."""

    decision: Decision
    arguments: dict[str, Any] | None = None
    reason: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a tool call of the last turn; without an id, of the first open one.

    ``original`` is what the tool returned, if the user edited ``text``, which the model saw.
    """

    call_id: str = ""
    text: str = ""
    exit_code: int | None = None
    ok: bool | None = None
    seconds: float | None = None
    at: float | None = None
    review: Review | None = None
    original: str | None = None
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that other items cannot hold, with the usage of a request that was no turn."""

    text: str
    usage: Usage | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of a round; ``answer`` None: the last turn's text."""

    status: Status = "answered"
    reason: str = ""
    answer: str | None = None
    at: float | None = None
    cost: float | None = None  # of the whole trace, if its turns do not say theirs


def usage_of_counts(prompt: int | None, generated: int | None, **parts: int | None) -> Usage | None:
    """Return the usage of a turn; None if neither prompt nor answer was counted."""
    unknown = prompt is None and generated is None
    return None if unknown else Usage.of(prompt or 0, generated or 0, **parts)


Item = Start | UserText | Turn | Result | Note | Ended
Trace = Iterator[Item]
