"""One model turn: stream it, try again what may pass, make room where it does not fit."""

import random
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from agent.conversation import Conversation
from agent.errors import AnswerTooLong, ContextTooLong, ModelUnavailable
from agent.events import (
    CallDelta,
    Event,
    Forgotten,
    ModelAnswered,
    Notice,
    ReasoningDelta,
    Retrying,
    TextDelta,
)
from agent.meter import Limits, estimate_tokens
from agent.models.base import (
    Adapted,
    CallPiece,
    Finish,
    Model,
    Piece,
    ReasoningPiece,
    Request,
    TextPiece,
    ToolCall,
    ToolSchema,
    Usage,
)
from agent.stop import Stop

_LONGEST_WAIT = 60.0
_SMALLEST_ANSWER = 256
_FIRST_GUESS = 8192
_MARGIN = 100
FORGOTTEN = "[This output was left out to make room in the context. Run it again if you need it.]"


class OutOfTime(Exception):
    """The turn took all the time that it was given."""


@dataclass
class _Partial:
    """What one try has streamed so far."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, ToolCall] = field(default_factory=dict)
    finish: Finish | None = None

    def add(self, step: int, piece: Piece) -> Event | None:
        match piece:
            case TextPiece(text):
                self.text.append(_printable(text))
                return TextDelta(step=step, text=self.text[-1])
            case ReasoningPiece(text):
                self.reasoning.append(_printable(text))
                return ReasoningDelta(step=step, text=self.reasoning[-1])
            case CallPiece():
                return self._add_call(step, piece)
            case Adapted(text):
                return Notice(step=step, text=text)
            case Finish():
                self.finish = piece
                return None

    def _add_call(self, step: int, piece: CallPiece) -> Event:
        old = self.calls.get(piece.index, ToolCall("", "", ""))
        added = _printable(piece.arguments)
        self.calls[piece.index] = ToolCall(
            old.id or _printable(piece.id), old.name + _printable(piece.name), old.arguments + added
        )
        return CallDelta(step=step, index=piece.index, name=piece.name, arguments=added)


class Turn:
    """Takes one turn of a model.

    Args:
        model: The model that answers.
        conversation: What it is sent; whoever iterates applies each event to it.
        tools: The tools that it is told of.
        limits: Tries, back-off and the answer's budget.
        stop: Ends the turn without an answer.
    """

    def __init__(
        self,
        model: Model,
        conversation: Conversation,
        tools: Sequence[ToolSchema],
        limits: Limits,
        stop: Stop,
    ) -> None:
        self._model = model
        self._conversation = conversation
        self._tools = tools
        self._limits = limits
        self._stop = stop
        self._granted = self._budget = limits.turn_tokens
        self._deadline = float("inf")

    def take(
        self, step: int, seconds: float | None = None
    ) -> Generator[Event, None, ModelAnswered | None]:
        """Stream the turn; its last event is the returned ``ModelAnswered``.

        Args:
            step: The step that it is of.
            seconds: Wall time that it may take, further tries included; None for no limit.

        Returns:
            None where a stop came first.

        Raises:
            ModelError: the model did not answer, and trying further makes no sense.
            OutOfTime: it was still at it when its time was up.
        """
        failures = 0
        self._deadline = time.monotonic() + seconds if seconds is not None else float("inf")
        while True:
            try:
                return (yield from self._try(step))
            except ModelUnavailable as error:
                failures += 1
                if failures >= self._limits.attempts:
                    raise
                wait = self._wait_before(failures, error)
                yield Retrying(step=step, attempt=failures + 1, reason=str(error), wait=wait)
                if self._stop.wait(min(wait, self._deadline - time.monotonic())):
                    return None
                self._check_time()
            except ContextTooLong as error:
                yield self._make_room(step, error)
            except AnswerTooLong as error:
                yield self._ask_for_less(step, error)

    def _try(self, step: int) -> Generator[Event, None, ModelAnswered | None]:
        partial, began = _Partial(), time.monotonic()
        request = Request(tuple(self._conversation.messages), self._tools, self._budget)
        for piece in self._model.stream(request, self._stop):
            event = partial.add(step, piece)
            if event is not None:
                yield event
            self._check_time()
        if partial.finish is None:
            if self._stop.is_set:
                return None
            raise ModelUnavailable("The model's answer broke off before its end.")
        answer = self._answer(step, partial, partial.finish, time.monotonic() - began)
        yield answer
        return answer

    def _check_time(self) -> None:
        if time.monotonic() >= self._deadline:
            raise OutOfTime

    def _answer(
        self, step: int, partial: _Partial, finish: Finish, seconds: float
    ) -> ModelAnswered:
        calls = self._named_apart(step, partial)
        answer = ModelAnswered(
            step=step,
            text="".join(partial.text),
            reasoning="".join(partial.reasoning),
            calls=calls,
            finish=finish.reason,
            usage=finish.usage,
            estimated=False,
            seconds=seconds,
            tokens=finish.tokens,
        )
        if finish.usage is None and self._model.metered:
            return replace(answer, usage=self._estimate(answer), estimated=True)
        return answer

    def _named_apart(self, step: int, partial: _Partial) -> tuple[ToolCall, ...]:
        """The calls, each with an id that no other call of the conversation has."""
        taken = self._conversation.call_ids()
        calls = []
        for position, (_, call) in enumerate(sorted(partial.calls.items())):
            own = call.id if call.id and call.id not in taken else f"call_{step}_{position}"
            taken.add(own)
            calls.append(replace(call, id=own))
        return tuple(calls)

    def _estimate(self, answer: ModelAnswered) -> Usage:
        written = answer.text + answer.reasoning
        written += "".join(call.name + call.arguments for call in answer.calls)
        return Usage(self._conversation.tokens(), estimate_tokens(written))

    def _wait_before(self, failures: int, error: ModelUnavailable) -> float:
        if error.retry_after is not None:
            return min(error.retry_after, _LONGEST_WAIT)
        spread = random.uniform(0.8, 1.2)  # so that many runs do not come back at once
        return float(min(self._limits.backoff * 2 ** (failures - 1) * spread, _LONGEST_WAIT))

    def _make_room(self, step: int, error: ContextTooLong) -> Event:
        """A smaller answer first, then fewer observations; else the error stands."""
        smaller = _room_for_answer(self._budget, error)
        if smaller is not None:
            self._budget = smaller
            text = f"The context is nearly full: this answer may have {smaller} tokens."
            return Notice(step=step, text=text)
        call_ids = self._conversation.forgettable()
        if not call_ids:
            raise error
        self._budget = self._granted  # there is room again
        return Forgotten(step=step, call_ids=call_ids, note=FORGOTTEN)

    def _ask_for_less(self, step: int, error: AnswerTooLong) -> Event:
        guess = self._budget // 2 if self._budget else _FIRST_GUESS
        smaller = error.affordable if error.affordable is not None else guess
        if smaller < _SMALLEST_ANSWER or (self._budget is not None and smaller >= self._budget):
            raise error
        self._granted = self._budget = smaller
        text = f"The endpoint grants no longer answer: this one may have {smaller} tokens."
        return Notice(step=step, text=text)


def _room_for_answer(budget: int | None, error: ContextTooLong) -> int | None:
    """A smaller budget that may fit, or None where the conversation itself is too long."""
    if budget is None:
        return None
    if error.limit is not None and error.used is not None:
        room = error.limit - error.used - _MARGIN
    else:
        room = budget // 2
    return room if _SMALLEST_ANSWER <= room < budget else None


def _printable(text: str) -> str:
    """The text without lone surrogates, which no journal and no page could hold."""
    return text.encode("utf-8", "replace").decode()
