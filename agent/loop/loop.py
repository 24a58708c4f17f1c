"""The ReAct loop: run a model with its tools until it submits, and yield events.

Every event is applied to the conversation as it is yielded, so the model receives exactly what the
journal contains.
"""

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from agent.errors import ContextTooLong, SandboxError, StudioError
from agent.events import (
    Event,
    MessageDelivered,
    ModelAnswered,
    Notice,
    ObservationEdited,
    Paused,
    PicturesDropped,
    Reminder,
    Resumed,
    RunEnded,
    Status,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    Totals,
)
from agent.limits import Limits
from agent.loop.conversation import Conversation
from agent.loop.failures import EMPTY_ANSWER, NO_TOOLS_MESSAGE, check_claimed_files
from agent.loop.meter import LIMIT_REASONS, LimitStatus, UsageMeter
from agent.loop.notes import (
    ALREADY_SUBMITTED,
    NOT_EXECUTED_RESULT,
    PICTURE_DROPPED,
    REMINDER,
    last_turn_note,
    step_note,
)
from agent.loop.review import CallReviewer
from agent.loop.steering import ObservationEdit, Steering
from agent.loop.summary import Summariser
from agent.loop.truncation import TruncationWatch
from agent.loop.turn import Recording, TurnRunner, TurnTimeout, clear_observations
from agent.models.base import Model, Picture, PictureLimits, ToolCall
from agent.tools.actions import SUBMIT
from agent.tools.observation import OutputDecoder
from agent.tools.toolbox import Action, InvalidCall, Toolbox, ToolOutcome
from agent.util.stop import Stop

ANSWER_TRUNCATED = "The model's answer was cut off at its token limit."
UNFIT_PROMPT = (
    "The task and its documents do not fit the model's context. Nothing was cut off, so the model "
    "read none of it:"
)
_SANDBOX_LOST_RESULT = (
    "Error: the sandbox was lost during this call; it may have been executed in part."
)
_MAX_PLAIN_MODE_CALLS = 2
_COMPLETED_STATUSES: set[Status] = {"submitted", "answered"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Round:
    """The inputs of a round.

    ``previous_steps`` counts interrupted ones, too; step numbers continue from it. Each step begins
    with what ``describe_user_changes`` returns. ``read_file`` takes a path in the sandbox, to tell
    what a command executes. With ``verify_claims``, a round fails if its last message claims a file
    that is missing. ``show_pictures`` returns those of files, or of what the user has just added.
    """

    model: Model
    toolbox: Toolbox | None  # None in plain mode
    conversation: Conversation  # with the task
    limits: Limits
    stop: Stop
    previous_totals: Totals | None = None  # of the run's earlier rounds
    previous_steps: int = 0
    describe_user_changes: Callable[[], str] = str
    verify_claims: bool = False
    recording: Recording | None = None
    steering: Steering = field(default_factory=Steering)
    read_file: Callable[[str], str | None] = lambda _: None
    show_pictures: Callable[[Sequence[str] | None], tuple[Picture, ...]] = lambda _: ()
    picture_limits: PictureLimits | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    status: Status
    reason: str = ""


def run_round(round_: Round) -> Iterator[Event]:
    """Run one round; it ends in exactly one ``RunEnded`` on every path."""
    previous = round_.previous_totals
    loop = _RoundRunner(round_)
    watch = TruncationWatch(found=previous is not None and previous.truncated)
    for event in loop.events():
        round_.conversation.apply(event)
        yield event
        if (text := watch.apply(event)) and isinstance(event, ModelAnswered):
            loop.meter.mark_truncated()
            yield Notice(step=event.step, text=text)


class _RoundRunner:
    def __init__(self, round_: Round) -> None:
        self._toolbox = round_.toolbox
        self._stop = round_.stop
        self._limits = round_.limits
        self._describe_user_changes = round_.describe_user_changes
        self._verify_claims = round_.verify_claims
        self.meter = UsageMeter(round_.limits, round_.previous_totals)
        tools = round_.toolbox.schemas if round_.toolbox else ()
        turn = (
            round_.model, round_.conversation, tools, round_.limits, round_.stop, round_.recording,
        )  # fmt: skip
        self._conversation = round_.conversation
        self._summariser = Summariser(*turn, self.meter)
        self._turn_runner = TurnRunner(*turn, self._summariser.summarise)
        self._steering = round_.steering
        self._reviewer = CallReviewer(
            round_.steering, self.meter, round_.stop, round_.read_file,
            round_.conversation.unsent_observations,
        )  # fmt: skip
        self._step = round_.previous_steps
        self._show_pictures = round_.show_pictures
        self._picture_limits = round_.picture_limits
        self._last_limit: LimitStatus | None = None  # which allows no further turn
        self._plain_answers = 0
        self._plain_mode_calls = 0
        self._last_text = ""

    def events(self) -> Iterator[Event]:
        old_answer = self._read_answer_file()
        try:
            outcome = self._check_claims((yield from self._run_steps()))
        except ContextTooLong as error:
            outcome = _Outcome("token_limit", self._context_reason(error))
        except TurnTimeout:
            outcome = _Outcome("time_limit", LIMIT_REASONS["time_limit"])
        except StudioError as error:
            failed = _Outcome("failed", str(error))
            outcome = self._stopped_outcome() if self._stop.is_set else failed
        except Exception as error:  # noqa: BLE001 - boundary: every round ends in RunEnded
            _log.exception("The loop failed")
            outcome = _Outcome("failed", f"Internal error ({error!r}); see the studio's log.")
        answer = self._read_answer_file()
        if answer in ("", old_answer):
            # The last text of a stopped or failed run is not an answer.
            unanswered = outcome.status in ("stopped", "failed")
            answer = "" if unanswered else self._last_text
        if outcome.status == "answered" and not answer:
            outcome = _Outcome("failed", EMPTY_ANSWER)
        yield RunEnded(
            status=outcome.status, reason=outcome.reason, answer=answer, totals=self.meter.totals
        )

    def _run_steps(self) -> Generator[Event, None, _Outcome]:
        while True:
            yield from self._wait_while_paused()
            if self._stop.stops_after_step:
                return self._stopped_outcome()
            outcome = yield from self._run_step()
            last = self._last_limit
            if outcome is not None and not (last is None and self._has_messages(outcome)):
                return outcome
            if last is not None:
                return _Outcome(last, LIMIT_REASONS[last])

    def _wait_while_paused(self) -> Iterator[Event]:
        unsent = self._conversation.unsent_observations()
        for edit in self._steering.take_expected_edits(unsent):
            yield self._edited(edit)
        if not self._steering.is_paused:
            return
        began = time.monotonic()
        with self.meter.waiting_for_user():
            self._steering.begin_pause(self._conversation.unsent_observations())
            yield Paused(step=self._step)
            while (edited := self._steering.wait_while_paused(self._stop)) is not None:
                yield self._edited(edited)
        if not self._stop.stops_after_step:
            yield Resumed(step=self._step, seconds=time.monotonic() - began)

    def _edited(self, edit: ObservationEdit) -> ObservationEdited:
        return ObservationEdited(step=self._step, call_id=edit.call_id, observation=edit.text)

    def _has_messages(self, outcome: _Outcome) -> bool:
        """Return whether the model has finished, but a message of the user waits for it."""
        finished = outcome.status in _COMPLETED_STATUSES
        return finished and not self._steering.close_without_messages()

    def _deliver_messages(self) -> Iterator[Event]:
        for message in self._steering.take_messages():
            self._plain_answers = 0
            yield MessageDelivered(
                step=self._step,
                text=message.text,
                message=message.id,
                sent=message.at,
                pictures=self._show_pictures(message.pictures),
            )

    def _check_claims(self, outcome: _Outcome) -> _Outcome:
        if (
            not self._verify_claims
            or self._toolbox is None
            or outcome.status not in _COMPLETED_STATUSES
        ):
            return outcome
        problem = check_claimed_files(self._last_text, self._toolbox.sandbox)
        return _Outcome("failed", problem) if problem else outcome

    def _run_step(self) -> Generator[Event, None, _Outcome | None]:
        yield from self._begin_step()
        if self._stop.is_set:
            return self._stopped_outcome()
        answer = yield from self._turn_runner.run(self._step, self.meter.turn_seconds())
        if answer is None:
            return self._stopped_outcome()
        self.meter.count_turn(answer.usage, estimated=answer.estimated, seconds=answer.seconds)
        outcome = yield from self._handle_answer(answer)
        yield StepEnded(step=self._step, totals=self.meter.totals)
        return outcome

    def _begin_step(self) -> Iterator[Event]:
        """Begin a step; first summarise older steps if the context is nearly full."""
        self._step += 1
        self._steering.begin_turn()
        last = self.meter.limit_allowing_one_turn()
        summarises = last in (None, "token_limit") and self._summariser.is_due
        self._last_limit = None if summarises else last
        yield StepStarted(step=self._step, note=self._step_note(self._last_limit))
        yield from self._deliver_messages()
        if summarises:
            seconds = self.meter.turn_seconds()
            freed = yield from self._summariser.summarise(self._step, seconds)
            if not freed and not self._stop.is_set:
                yield from self._go_on_without_summary()
        if self._picture_limits is not None:
            dropped = self._conversation.pictures_to_drop(self._picture_limits)
            if dropped:
                yield PicturesDropped(step=self._step, pictures=dropped, note=PICTURE_DROPPED)

    def _go_on_without_summary(self) -> Iterator[Event]:
        """Clear older observations; if the limit is near, tell the model that this turn is last."""
        cleared = clear_observations(self._conversation, self._step)
        if cleared is not None:
            yield cleared
        self._last_limit = self.meter.limit_allowing_one_turn()
        if self._last_limit is not None and self._toolbox is not None:
            yield Reminder(step=self._step, text=last_turn_note(LIMIT_REASONS[self._last_limit]))

    def _step_note(self, last: LimitStatus | None) -> str:
        if self._toolbox is None:
            return ""
        changes = self._describe_user_changes()
        prefix = f"\n\n{changes}" if changes else ""
        why = LIMIT_REASONS[last] if last is not None else ""
        return prefix + step_note(self.meter.steps_remaining, why)

    def _handle_answer(self, answer: ModelAnswered) -> Generator[Event, None, _Outcome | None]:
        if answer.text.strip():
            self._last_text = answer.text.strip()
        if not answer.calls:
            return (yield from self._handle_plain_answer(answer))
        self._plain_answers = 0
        submitted = yield from self._execute_calls(answer)
        if self._stop.is_set:
            return self._stopped_outcome()
        if self._toolbox is None:
            return self._handle_calls_in_plain_mode()
        return _Outcome("submitted") if submitted else None

    def _handle_calls_in_plain_mode(self) -> _Outcome | None:
        """Let a model that called tools in plain mode answer once more."""
        self._plain_mode_calls += 1
        return (
            _Outcome("failed", NO_TOOLS_MESSAGE)
            if self._plain_mode_calls >= _MAX_PLAIN_MODE_CALLS
            else None
        )

    def _context_reason(self, error: ContextTooLong) -> str:
        plain = self._toolbox is None and not self._last_text
        message = UNFIT_PROMPT if plain else "The conversation no longer fits the model's context:"
        return f"{message} {error}"

    def _stopped_outcome(self) -> _Outcome:
        return _Outcome("stopped", self._stop.reason)

    def _handle_plain_answer(
        self, answer: ModelAnswered
    ) -> Generator[Event, None, _Outcome | None]:
        self._plain_answers += 1
        reminders = self._limits.reminders if self._toolbox else 0
        if reminders is None or self._plain_answers <= reminders:
            yield Reminder(step=self._step, text=REMINDER)
            return None
        self._last_text = answer.text.strip()
        return (
            _Outcome("token_limit", ANSWER_TRUNCATED)
            if answer.finish == "length"
            else _Outcome("answered")
        )

    def _execute_calls(self, answer: ModelAnswered) -> Generator[Event, None, bool]:
        """Run the calls in order; every call gets a result, whatever happens."""
        submitted, lost = False, None
        for call in answer.calls:
            if lost is not None:
                yield self._not_executed(call, "the sandbox was lost")
            elif self._stop.is_set:
                yield self._not_executed(call, "the run was stopped")
            elif submitted:
                yield self._not_executed(call, ALREADY_SUBMITTED)
            elif call is not answer.calls[0] and self._is_out_of_time_for(call):
                yield self._not_executed(call, "the time limit was reached")
            else:
                try:
                    submitted = yield from self._execute(call, cut=answer.finish == "length")
                except SandboxError as error:
                    lost = error
        if lost is not None:
            raise lost
        return submitted

    def _is_out_of_time_for(self, call: ToolCall) -> bool:
        """Return whether the time is up for this call; ``submit`` is always allowed."""
        return self.meter.is_out_of_time and call.name != SUBMIT

    def _execute(self, call: ToolCall, *, cut: bool) -> Generator[Event, None, bool]:
        toolbox = self._toolbox
        if toolbox is None:
            yield self._not_executed(call, "there are no tools in this conversation")
            return False
        action = toolbox.parse(call)
        if isinstance(action, InvalidCall):
            why = (
                " Your answer was cut off at its token limit; write less in one call."
                if cut
                else ""
            )
            yield self._tool_ended(call, ToolOutcome.failed(action.text + why))
            return False
        reviewed = yield from self._reviewer.review(self._step, call, action, toolbox)
        if reviewed.action is None:
            yield self._tool_ended(call, ToolOutcome.failed(reviewed.result))
            return False
        action = reviewed.action
        yield ToolStarted(
            step=self._step,
            call_id=call.id,
            name=action.name,
            arguments=action.arguments,
            summary=action.summary,
        )
        try:
            outcome = yield from self._run_action(toolbox, call, action)
        except SandboxError:
            yield self._tool_ended(
                call, ToolOutcome(ok=False, text=_SANDBOX_LOST_RESULT, end_reason="lost")
            )
            raise
        self.meter.count_sandbox(outcome.seconds, outcome.peak_memory)
        yield self._tool_ended(call, replace(outcome, text=outcome.text + reviewed.note))
        return outcome.submitted

    def _run_action(
        self, toolbox: Toolbox, call: ToolCall, action: Action
    ) -> Generator[Event, None, ToolOutcome]:
        live = OutputDecoder()
        for item in toolbox.run(action, self._stop, max_seconds=self.meter.seconds_left()):
            if isinstance(item, ToolOutcome):
                return item
            text = live.decode(item)
            if text or item.skipped:
                yield ToolOutput(
                    step=self._step,
                    call_id=call.id,
                    stream=item.stream,
                    text=text,
                    skipped=item.skipped,
                )
        raise AssertionError("A tool ended without an outcome.")

    def _not_executed(self, call: ToolCall, why: str) -> ToolEnded:
        return self._tool_ended(call, ToolOutcome.failed(NOT_EXECUTED_RESULT.format(why=why)))

    def _tool_ended(self, call: ToolCall, outcome: ToolOutcome) -> ToolEnded:
        return ToolEnded(
            step=self._step,
            call_id=call.id,
            name=call.name,
            ok=outcome.ok,
            exit_code=outcome.exit_code,
            end_reason=outcome.end_reason,
            seconds=outcome.seconds,
            observation=outcome.text,
            requests=outcome.requests,
            storage_note=outcome.storage_note,
            cpu_seconds=outcome.cpu_seconds,
            packages=outcome.packages,
            pictures=outcome.pictures,
        )

    def _read_answer_file(self) -> str:
        """Return ``output/answer.txt``; empty if it or the sandbox is missing."""
        if self._toolbox is None:
            return ""
        try:
            return self._toolbox.read_answer()
        except SandboxError:
            return ""
