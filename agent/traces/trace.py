"""The model of a trace: what the formats of different tools have in common, as a stream of items.

A trace begins with one ``Start``. ``UserText``, ``Turn``, ``Result`` and ``Note`` follow in the
order in which they happened; ``Ended`` ends a round, at the latest at the end of the trace.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent.events import Decision, Mode, Status
from agent.models.base import FinishReason, OpaqueParts, PartialCount, ToolCall, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What holds for the whole trace.

    Attributes:
        title: What the trace is called in its file; shown if it has no task.
        mode: ``plain`` if the model had no tools; None if that is not known.
        prompt: The name of its prompt, for runs of this program.
        tools: The tools' definitions, as in a request to the model.
    """

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
    """A message to the model.

    Attributes:
        task: What the user wrote, where ``text``, the message sent, says more.
        reminder: Whether the agent sent it by itself, within a round.
        copied: Whether it is a copy from an earlier trace, which this one continues.
        while_working: Whether the user sent it while the agent worked, within a round.
    """

    text: str
    task: str = ""
    at: float | None = None
    reminder: bool = False
    while_working: bool = False
    copied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnIds:
    """A turn as ids: what the model read, the answer, and log-probabilities if known."""

    prompt: tuple[int, ...]
    generated: tuple[int, ...]
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn of the model.

    Attributes:
        model: Its model, where it is not the trace's.
        seconds: How long the model took; None if that is not known.
        at: When the turn was complete.
        cost: What it cost, in the unit of the trace.
        opaque: What its API gave to be given back with it.
    """

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
    """The result of a tool call of the last turn.

    Attributes:
        call_id: The call's id; if empty, the first call without a result is meant.
        ok: Whether it succeeded; None if that is not known.
        review: What the user decided on it, if it waited for approval.
        original: What the tool returned, if the user edited ``text``, which the model saw.
    """

    call_id: str = ""
    text: str = ""
    exit_code: int | None = None
    ok: bool | None = None
    seconds: float | None = None
    at: float | None = None
    review: Review | None = None
    original: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that the trace mentions and the other items cannot hold.

    Attributes:
        usage: Of a request to the model that was no turn; None if there was none.
    """

    text: str
    usage: Usage | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of a round; ``answer`` is the last turn's text if it is None.

    Attributes:
        cost: The cost of the whole trace, if its turns do not say theirs.
    """

    status: Status = "answered"
    reason: str = ""
    answer: str | None = None
    at: float | None = None
    cost: float | None = None


def usage_of_counts(prompt: int | None, generated: int | None, **parts: int | None) -> Usage | None:
    """Return the usage of a turn; None if neither prompt nor answer was counted."""
    if prompt is None and generated is None:
        return None
    names: tuple[PartialCount, ...] = ("cached", "reasoning", "cache_written")
    return Usage(
        prompt or 0,
        generated or 0,
        cached=parts.get("cached") or 0,
        reasoning=parts.get("reasoning") or 0,
        cache_written=parts.get("cache_written") or 0,
        reported=tuple(name for name in names if parts.get(name) is not None),
    )


Item = Start | UserText | Turn | Result | Note | Ended
Trace = Iterator[Item]
