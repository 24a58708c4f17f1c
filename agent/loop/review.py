"""Approval of a call by the user before it is executed."""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent.errors import UsageError
from agent.events import ApprovalRequested, CallReviewed, Event, ObservationEdited
from agent.loop.approval import CallChecker
from agent.loop.meter import UsageMeter
from agent.loop.notes import DENIED_REASON, DENIED_RESULT, EDITED_NOTE, NOT_EXECUTED_RESULT
from agent.loop.steering import ObservationEdit, Review, Steering, WaitingCall
from agent.models.base import ToolCall
from agent.tools.toolbox import Action, InvalidCall, Toolbox
from agent.util.stop import Stop

_NOT_AS_EDITED = "{tool} would ignore or change these parameters: {names}. Correct or remove them."
_MAX_NAMES = 200  # characters of parameters' names in a message


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A reviewed call: its action, or its result without one, and a note for the model."""

    action: Action | None
    result: str = ""
    note: str = ""


class CallReviewer:
    """Lets calls that match a rule wait for the user, which counts in no time limit."""

    def __init__(
        self,
        steering: Steering,
        meter: UsageMeter,
        stop: Stop,
        read_file: Callable[[str], str | None],
        unsent_observations: Callable[[], Mapping[str, str]],
    ) -> None:
        self._steering = steering
        self._meter = meter
        self._stop = stop
        self._checker = CallChecker(read_file)
        self._unsent_observations = unsent_observations

    def review(
        self, step: int, call: ToolCall, action: Action, toolbox: Toolbox
    ) -> Generator[Event, None, Reviewed]:
        """Wait for the user's decision if a rule asks for one."""
        expected = self._steering.take_expected(call.id)
        reasons = (
            expected[0] if expected else self._checker.reasons(action, self._steering.approval)
        )
        if not reasons and not expected:
            return Reviewed(action)

        def parse(arguments: Mapping[str, Any]) -> Action:
            edited = toolbox.parse(replace(call, arguments=json.dumps(arguments)))
            if isinstance(edited, InvalidCall):
                raise UsageError(edited.text.removeprefix("Error: "))
            return edited

        def check(arguments: Mapping[str, Any]) -> None:
            executed = parse(arguments).arguments
            given = {name: value for name, value in arguments.items() if value is not None}
            if others := sorted(name for name in given if executed.get(name) != given[name]):
                names = ", ".join(others)[:_MAX_NAMES]
                raise UsageError(_NOT_AS_EDITED.format(tool=action.name, names=names))

        waiting = WaitingCall(step, call.id, action.name, action.arguments, reasons)
        with self._meter.waiting_for_user():
            if expected is None:
                self._steering.ask(waiting, check, self._unsent_observations())
            yield ApprovalRequested(
                step=step, call_id=call.id, name=action.name, arguments=action.arguments,
                summary=action.summary, reasons=reasons,
            )  # fmt: skip
            review = expected[1] if expected else (yield from self._wait_for_review(step))
        if review is None:
            return Reviewed(None, NOT_EXECUTED_RESULT.format(why="the run was stopped"))
        note = _note(review)
        yield CallReviewed(
            step=step, call_id=call.id, decision=review.decision, arguments=review.arguments,
            reason=review.reason, note=note,
        )  # fmt: skip
        if review.decision == "denied":
            why = DENIED_REASON.format(reason=review.reason) if review.reason else ""
            return Reviewed(None, DENIED_RESULT + why)
        if review.arguments is None:
            return Reviewed(action)
        return Reviewed(parse(review.arguments), note=note)

    def _wait_for_review(self, step: int) -> Generator[Event, None, Review | None]:
        while True:
            found = self._steering.wait_for_review(self._stop)
            if not isinstance(found, ObservationEdit):
                return found
            yield ObservationEdited(step=step, call_id=found.call_id, observation=found.text)


def _note(review: Review) -> str:
    if review.arguments is None:
        return ""
    return EDITED_NOTE.format(arguments=json.dumps(review.arguments, ensure_ascii=False))
