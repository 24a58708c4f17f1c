"""One model turn: streaming, retries, and recovery from a full context."""

import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from agent.errors import ContextTooLong, MaxTokensTooHigh, ModelUnavailable, PicturesRefused
from agent.events import (
    CallDelta,
    Event,
    ModelAnswered,
    Notice,
    ObservationsCleared,
    PicturesDropped,
    ReasoningDelta,
    Retrying,
    TextDelta,
)
from agent.limits import Limits
from agent.loop.conversation import Conversation, LengthEstimate
from agent.loop.meter import estimate_tokens
from agent.loop.notes import PICTURE_REFUSED
from agent.models.base import (
    CallPiece,
    EncodedMessages,
    Finish,
    Model,
    ModelNotice,
    ModelRequest,
    Piece,
    ReasoningPiece,
    RequestRecorder,
    TextPiece,
    TextWasReasoning,
    ToolCall,
    ToolSchema,
    Usage,
)
from agent.util.stop import Stop
from agent.util.text import plural, replace_surrogates

_MAX_RETRY_SECONDS = 60.0
_MIN_ANSWER_TOKENS = 256
_FALLBACK_BUDGET_TOKENS = 8192
_BUDGET_MARGIN_TOKENS = 100
CLEARED_OBSERVATION = (
    "[This output was removed to free space in the context. Run the command again if you need it.]"
)


Recording = Callable[
    [int, Sequence[ToolSchema], int | None], AbstractContextManager[RequestRecorder | None]
]
"""Returns a context that records one attempt of a turn: its step, tools and budget."""

Summarise = Callable[[int, float | None], Generator[Event, None, bool]]
"""Summarises older steps for a step within some seconds; returns whether that freed space."""


class TurnTimeout(Exception):
    """The turn used all of its time."""


@dataclass
class _PartialAnswer:
    """The streamed parts of one attempt."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, ToolCall] = field(default_factory=dict)
    finish: Finish | None = None

    def add(self, step: int, piece: Piece) -> Event | None:
        match piece:
            case TextPiece(text):
                self.text.append(replace_surrogates(text))
                return TextDelta(step=step, text=self.text[-1])
            case ReasoningPiece(text):
                self.reasoning.append(replace_surrogates(text))
                return ReasoningDelta(step=step, text=self.reasoning[-1])
            case CallPiece():
                return self._add_call(step, piece)
            case TextWasReasoning():
                self.reasoning, self.text = [*self.text, *self.reasoning], []
                return None
            case ModelNotice(text):
                return Notice(step=step, text=text)
            case Finish():
                self.finish = piece
                return None

    def _add_call(self, step: int, piece: CallPiece) -> Event:
        old = self.calls.get(piece.index, ToolCall("", "", ""))
        added = replace_surrogates(piece.arguments)
        self.calls[piece.index] = ToolCall(
            old.id or replace_surrogates(piece.id),
            old.name + replace_surrogates(piece.name),
            old.arguments + added,
        )
        return CallDelta(step=step, index=piece.index, name=piece.name, arguments=added)


class TurnRunner:
    """Runs single turns of a model; the caller applies each yielded event to the conversation.

    If the context is full, ``summarise`` summarises older steps, or older observations are cleared.
    """

    def __init__(
        self,
        model: Model,
        conversation: Conversation,
        tools: Sequence[ToolSchema],
        limits: Limits,
        stop: Stop,
        recording: Recording | None = None,
        summarise: Summarise | None = None,
        *,
        clears_observations: bool = True,
    ) -> None:
        self._model = model
        self._conversation = conversation
        self._tools = tools
        self._limits = limits
        self._stop = stop
        self._recording = recording or (lambda *_: nullcontext())
        self._summarise = summarise
        self._clears_observations = clears_observations
        self._granted_budget = self._budget = limits.turn_tokens
        self._deadline: float | None = None
        self._encoded = EncodedMessages()
        self._length = LengthEstimate()
        self._most_pictures = conversation.most_pictures

    def run(
        self, step: int, seconds: float | None = None
    ) -> Generator[Event, None, ModelAnswered | None]:
        """Stream the turn; return its last event, or None if stopped first.

        Raises ``TurnTimeout`` after ``seconds`` of wall time, including retries, or ``ModelError``.
        """
        failures = 0
        self._deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            yield from self._drop_surplus_pictures(step)
            try:
                return (yield from self._attempt(step))
            except ModelUnavailable as error:
                failures += 1
                if failures >= self._limits.attempts:
                    raise
                wait = self._retry_delay(failures, error)
                yield Retrying(step=step, attempt=failures + 1, reason=str(error), wait=wait)
                left = self._seconds_left()
                if self._stop.wait(wait if left is None else min(wait, left)):
                    return None
                self._check_time()
            except ContextTooLong as error:
                yield from self._recover_from_full_context(step, error)
                if self._stop.is_set:
                    return None
            except PicturesRefused as error:
                yield self._reduce_pictures(step, error)
            except MaxTokensTooHigh as error:
                yield self._reduce_answer_budget(step, error)

    def _attempt(self, step: int) -> Generator[Event, None, ModelAnswered | None]:
        partial, started = _PartialAnswer(), time.monotonic()
        messages, given = self._conversation.request_messages(), (self._tools, self._budget)
        with (
            self._stop.with_timeout(self._seconds_left()) as stop,
            self._recording(step, *given) as recorder,
        ):
            request = ModelRequest(
                tuple(messages), *given, recorder, self._encoded, self._conversation.read_picture
            )
            for piece in self._model.stream(request, stop):
                event = partial.add(step, piece)
                if event is not None:
                    yield event
                self._check_time()
        if partial.finish is None:
            if self._stop.is_set:
                return None
            self._check_time()
            raise ModelUnavailable("The model's answer ended early.")
        answer = self._build_answer(step, partial, partial.finish, time.monotonic() - started)
        yield answer
        return answer

    def _seconds_left(self) -> float | None:
        return None if self._deadline is None else self._deadline - time.monotonic()

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise TurnTimeout

    def _build_answer(
        self, step: int, partial: _PartialAnswer, finish: Finish, seconds: float
    ) -> ModelAnswered:
        calls = self._with_unique_ids(step, partial)
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
            reasoning_field=finish.reasoning_field,
            opaque=finish.opaque,
            left_out=finish.left_out,
        )
        if finish.usage is None and self._model.metered:
            return replace(answer, usage=self._estimate_usage(answer), estimated=True)
        return answer

    def _with_unique_ids(self, step: int, partial: _PartialAnswer) -> tuple[ToolCall, ...]:
        """Return the calls, each with an id that is unique in the conversation."""
        used_ids = self._conversation.call_ids()
        calls = []
        for position, (_, call) in enumerate(sorted(partial.calls.items())):
            unique_id = (
                call.id if call.id and call.id not in used_ids else f"call_{step}_{position}"
            )
            used_ids.add(unique_id)
            calls.append(replace(call, id=unique_id))
        return tuple(calls)

    def _estimate_usage(self, answer: ModelAnswered) -> Usage:
        written = answer.text + answer.reasoning
        written += "".join(call.name + call.arguments for call in answer.calls)
        sent = self._length.tokens(self._conversation.request_messages())
        return Usage(sent, estimate_tokens(written))

    def _retry_delay(self, failures: int, error: ModelUnavailable) -> float:
        if error.retry_after is not None:
            return min(error.retry_after, _MAX_RETRY_SECONDS)
        jitter = random.uniform(0.8, 1.2)  # so that many runs do not retry at once
        return float(min(self._limits.backoff * 2 ** (failures - 1) * jitter, _MAX_RETRY_SECONDS))

    def _recover_from_full_context(self, step: int, error: ContextTooLong) -> Iterator[Event]:
        """Summarise older steps, reduce the answer's budget, drop old observations, or raise."""
        if self._summarise and (yield from self._summarise(step, self._seconds_left())):
            self._budget = self._granted_budget
            return
        if self._stop.is_set:
            return
        smaller = _smaller_budget(self._budget, error)
        if smaller is not None:
            self._budget = smaller
            text = (
                f"The context is nearly full: this answer is limited to {plural(smaller, 'token')}."
            )
            yield Notice(step=step, text=text)
            return
        clears = self._clears_observations
        cleared = clear_observations(self._conversation, step) if clears else None
        if cleared is None:
            raise error
        self._budget = self._granted_budget
        yield cleared

    def _reduce_pictures(self, step: int, error: PicturesRefused) -> Event:
        """Send fewer pictures from now on: as many as the refusal grants, or half."""
        sent = len(self._conversation.pictures())
        if not sent:
            raise error
        self._most_pictures = sent // 2 if error.limit is None else min(error.limit, sent - 1)
        kept = plural(self._most_pictures, "picture") if self._most_pictures else "no picture"
        text = (
            f"The endpoint refused {plural(sent, 'picture')} in one request. From now on it gets "
            f"{kept}, the latest, and descriptions of the others."
        )
        return Notice(step=step, text=text)

    def _drop_surplus_pictures(self, step: int) -> Iterator[Event]:
        """Replace the oldest pictures if the endpoint is known to refuse so many."""
        if self._most_pictures is None:
            return
        pictures = self._conversation.pictures()
        if surplus := pictures[: max(0, len(pictures) - self._most_pictures)]:
            yield PicturesDropped(step=step, pictures=tuple(surplus), note=PICTURE_REFUSED)

    def _reduce_answer_budget(self, step: int, error: MaxTokensTooHigh) -> Event:
        guess = self._budget // 2 if self._budget else _FALLBACK_BUDGET_TOKENS
        smaller = error.affordable if error.affordable is not None else guess
        if smaller < _MIN_ANSWER_TOKENS or (self._budget is not None and smaller >= self._budget):
            raise error
        self._granted_budget = self._budget = smaller
        tokens = plural(smaller, "token")
        text = f"The endpoint allows no longer answers: this one is limited to {tokens}."
        return Notice(step=step, text=text)


def clear_observations(conversation: Conversation, step: int) -> ObservationsCleared | None:
    """Return the event that clears older observations; None if none is left to clear."""
    call_ids = conversation.clearable_call_ids()
    if not call_ids:
        return None
    return ObservationsCleared(step=step, call_ids=call_ids, note=CLEARED_OBSERVATION)


def _smaller_budget(budget: int | None, error: ContextTooLong) -> int | None:
    """Return a smaller budget that may fit, or None if the conversation is too long."""
    if budget is None:
        return None
    if error.limit is not None and error.used is not None:
        room = error.limit - error.used - _BUDGET_MARGIN_TOKENS
    else:
        room = budget // 2
    return room if _MIN_ANSWER_TOKENS <= room < budget else None
