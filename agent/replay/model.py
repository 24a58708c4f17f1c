"""A model that answers with the turns of a recorded run."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from agent.errors import SteeringRefused
from agent.events import Status
from agent.loop.steering import ObservationEdit, Review, Steering
from agent.models.base import (
    CallPiece,
    Finish,
    ModelRequest,
    PictureLimits,
    Piece,
    ReasoningPiece,
    TextPiece,
)
from agent.replay.calls import is_left_out
from agent.replay.recording import RecordedRound, Recording
from agent.runs.transcript import Step
from agent.util.stop import Stop

NAME = "Replay"
_UNREADABLE = "(This turn cannot be read in the run's record.)"
_PIECE = 2_000
_ENDS: dict[Status | None, str] = {
    None: "The record ends here.",
    "stopped": "The recorded run was stopped here.",
    "failed": "The recorded run failed here.",
    "step_limit": "The recorded run reached its step limit here.",
    "token_limit": "The recorded run reached its token limit here.",
    "budget_limit": "The recorded run reached its cost limit here.",
    "time_limit": "The recorded run reached its time limit here.",
}


class ReplayModel:
    """Answers with recorded turns, except calls that did not end; repeats what the user did."""

    metered = False

    def __init__(
        self, recording: Recording, name: str = NAME, steering: Steering | None = None
    ) -> None:
        self._steering = steering or Steering()
        self.name = name
        self._recording = recording
        self._round = RecordedRound("")
        self._position = 0
        self._stop = Stop()

    @property
    def picture_limits(self) -> PictureLimits | None:
        """Those of the recorded model, so that views give the same."""
        return self._round.picture_limits

    def begin_round(self, round_: RecordedRound, stop: Stop) -> None:
        """Answer with the turns of a round, at whose end ``stop`` is set."""
        self._round, self._position, self._stop = round_, 0, stop

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:  # noqa: ARG002
        """Return the next recorded turn; see ``Model.stream``."""
        steps = self._round.steps
        step = steps[self._position] if self._position < len(steps) else None
        self._position += 1
        is_last = self._position >= len(steps)
        reason = _ENDS.get(self._round.status, _ENDS[None])
        if step is None or (is_last and not step.answered):
            self._stop.reason = self._stop.reason or reason
            self._stop.set()
            return
        record = self._recording.read_step(step)
        if is_last:
            self._stop.set_after_step(reason)
        else:
            self._queue_messages(steps[self._position].messages)
        self._expect_decisions(record)
        for piece in pieces(record):
            if stop.is_set:
                return
            yield piece

    def _queue_messages(self, messages: list[str]) -> None:
        for text in messages:
            with suppress(SteeringRefused):  # the replay ends
                self._steering.queue_message(text)

    def _expect_decisions(self, record: Step) -> None:
        for call_id, call in record.calls.items():
            if call.reviewed is not None:
                reasons = call.requested.reasons if call.requested else ()
                decision, arguments = call.reviewed.decision, call.reviewed.arguments
                review = Review(decision, arguments, call.reviewed.reason)
                self._steering.expect(call_id, reasons, review)
            if call.edited is not None:
                self._steering.expect_edit(ObservationEdit(call_id, call.edited.observation))


def as_executed(record: Step) -> Step:
    """Return a recorded turn as if its calls were those that the user let run."""
    if record.answer is None:
        return record
    calls = []
    for call in record.answer.calls:
        reviewed = record.calls[call.id].reviewed
        if reviewed is None or reviewed.decision == "allowed":
            calls.append(call)
        elif reviewed.arguments is not None:
            calls.append(replace(call, arguments=json.dumps(reviewed.arguments)))
    return replace(record, answer=replace(record.answer, calls=tuple(calls)))


def pieces(record: Step, size: int = _PIECE) -> Iterator[Piece]:
    """Yield a recorded turn, with its texts in parts of ``size`` characters."""
    answer = record.answer
    if answer is None:
        yield TextPiece(_UNREADABLE)
        yield Finish("stop")
        return
    yield from (ReasoningPiece(part) for part in _split(answer.reasoning, size))
    yield from (TextPiece(part) for part in _split(answer.text, size))
    index = 0
    for call in answer.calls:
        if is_left_out(record.calls[call.id]):
            continue
        yield CallPiece(index, call.id, call.name)
        yield from (CallPiece(index, arguments=part) for part in _split(call.arguments, 8 * size))
        index += 1
    yield Finish(answer.finish)


def _split(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))
