"""What a user does to a round: pause it, send a message, decide on a call, edit its result."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agent.data_folder import random_id
from agent.errors import SteeringRefused, UsageError
from agent.events import ApprovalReason, Decision, now
from agent.loop.approval import Rule, parse_rules
from agent.util.state_files import read_record, rename_damaged
from agent.util.stop import Stop
from agent.util.text import replace_surrogates

MAX_MESSAGES = 50
"""Maximum number of messages that wait to be delivered."""

MAX_PICTURES = 16
"""Maximum number of pictures with one message."""

MAX_OBSERVATION = 100_000
"""Maximum number of characters of an edited observation."""

NOT_WORKING = "The run is not working. Send a message to continue it."
_NOT_RESTING = "Pause the run first: what the model sees can be edited while the run waits."
_NOT_UNSENT = "Only the results of the last step can be edited, until they are sent to the model."
_EMPTY_OBSERVATION = "The observation is empty. Enter what the model is to see."
_LONG_OBSERVATION = f"The observation is longer than {MAX_OBSERVATION:,} characters."
_NOT_WAITING = "This call does not wait for approval any more."
_DELIVERED = "This message was delivered already, or was taken back."
_TOO_MANY = f"{MAX_MESSAGES} messages are waiting already. Take one back first."


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message that waits to be delivered to the model; ``at`` is when the user sent it."""

    id: str
    text: str
    at: float
    pictures: tuple[str, ...] | None = None  # as in ``Steering.queue_message``


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that waits for the user's decision."""

    step: int
    call_id: str
    name: str
    arguments: Mapping[str, Any]  # as parsed
    reasons: tuple[ApprovalReason, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """The user's decision on a call; see ``agent.events.CallReviewed``."""

    decision: Decision
    arguments: dict[str, Any] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ObservationEdit:
    """What the user lets the model see as the result of a call."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class SteeringState:
    """What the user has asked for, and what waits for the user."""

    paused: bool  # before its next model turn, or will be
    approval: tuple[Rule, ...]
    messages: tuple[QueuedMessage, ...]  # that wait to be delivered
    waiting: WaitingCall | None
    editable: tuple[str, ...]  # call ids whose observation may be edited now
    version: int  # grows with each change


@dataclass(frozen=True, slots=True)
class _Stored:
    """What survives the round and the process."""

    approval: tuple[Rule, ...] = ()
    messages: tuple[QueuedMessage, ...] = ()


class Steering:
    """How a user steers a run while it works, from any thread.

    Rules and messages that wait are kept in a file; a pause ends with its round.

    Args:
        file: Where they are kept; None to forget them with this object.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._changed = threading.Condition()
        self._listeners: list[Callable[[], None]] = []
        self._version = 0
        self._closed = False
        self._round = 0
        self._turns: int | None = None  # until the round pauses; None: it does not
        self._stored = _load(file)
        self._waiting: WaitingCall | None = None
        self._check: Callable[[Mapping[str, Any]], object] = lambda _: None
        self._review: Review | None = None
        self._expected: dict[str, tuple[tuple[ApprovalReason, ...], Review]] = {}
        self._unsent: dict[str, str] | None = None  # observations; None: the round does not wait
        self._edits: list[ObservationEdit] = []  # which the loop has not recorded yet
        self._expected_edits: dict[str, str] = {}
        self._delivering = ""  # the id of a message that is being delivered

    @property
    def state(self) -> SteeringState:
        """What the user has asked for, and what waits for the user."""
        with self._changed:
            stored, waiting = self._stored, None if self._review else self._waiting
            return SteeringState(
                self._turns == 0, stored.approval, stored.messages, waiting,
                tuple(self._unsent or ()), self._version,
            )  # fmt: skip

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call a function, from any thread, whenever ``state`` may have changed."""
        self._listeners.append(listener)

    # What a user does

    def pause(self) -> None:
        """Let the round wait before its next model turn.

        Raises:
            SteeringRefused: The round has ended.
        """
        self._set_turns(0)

    def resume(self) -> None:
        """Let a paused round go on.

        Raises:
            SteeringRefused: The round has ended.
        """
        self._set_turns(None)

    def step(self) -> None:
        """Let the round take one more step, then wait again.

        Raises:
            SteeringRefused: The round has ended.
        """
        self._set_turns(1)

    def queue_message(self, text: str, pictures: Iterable[str] | None = None) -> QueuedMessage:
        """Send a message, which the model receives with its next observation.

        Args:
            text: What it says.
            pictures: Paths of files in the workspace that the model is to see with it, at most 16;
                None for the pictures that the user has added since the model's last call.

        Raises:
            SteeringRefused: The round has ended, or too many messages wait.
            UsageError: The text is empty, or there are too many pictures.
            OSError: The message cannot be stored.
        """
        if not text.strip():
            raise UsageError("The message is empty.")
        shown = None if pictures is None else tuple(pictures)
        if shown and len(shown) > MAX_PICTURES:
            raise UsageError(f"A message can have at most {MAX_PICTURES} pictures.")
        message = QueuedMessage(random_id(), replace_surrogates(text), now(), shown)
        with self._change():
            self._require_open()
            if len(self._stored.messages) >= MAX_MESSAGES:
                raise SteeringRefused(_TOO_MANY)
            self._store(messages=(*self._stored.messages, message))
        return message

    def revoke_message(self, message: str) -> None:
        """Take back a message by its id.

        Raises:
            SteeringRefused: It was delivered already, or was taken back.
            OSError: The change cannot be stored.
        """
        with self._change():
            known = {each.id for each in self._stored.messages} - {self._delivering}
            if message not in known:
                raise SteeringRefused(_DELIVERED)
            self._remove(message)

    def set_approval(self, rules: Iterable[str]) -> None:
        """Set the rules by which calls wait for approval; a call that waits keeps waiting.

        Args:
            rules: ``every``, ``network``, ``delete``, ``install``, ``long``, or ``risky`` for the
                last four; none to let every call run.

        Raises:
            UsageError: There is no such rule.
            OSError: The change cannot be stored.
        """
        approval = parse_rules(rules)
        with self._change():
            if approval != self._stored.approval:
                self._store(approval=approval)

    def add_approval(self, rules: Iterable[str]) -> None:
        """Add rules to those by which calls wait for approval; see ``set_approval``."""
        self.set_approval({*self.approval, *rules})

    def allow(self, call_id: str) -> None:
        """Let a call that waits be executed.

        Raises:
            SteeringRefused: It does not wait.
        """
        self._decide(call_id, Review("allowed"))

    def edit(self, call_id: str, arguments: Mapping[str, Any]) -> None:
        """Let a call that waits be executed with other parameters; the model is told.

        Args:
            call_id: The call.
            arguments: Those that replace its own, or are added.

        Raises:
            SteeringRefused: It does not wait.
            UsageError: The tool would not execute the edit as given; the call goes on waiting.
        """
        with self._changed:
            waiting, check = self._waiting_call(call_id), self._check
        edited = {**waiting.arguments, **arguments}
        check(edited)
        same = edited == dict(waiting.arguments)
        self._decide(call_id, Review("allowed") if same else Review("edited", edited))

    def deny(self, call_id: str, reason: str = "") -> None:
        """Refuse a call that waits; the model gets the reason as its result.

        Raises:
            SteeringRefused: It does not wait.
        """
        self._decide(call_id, Review("denied", reason=replace_surrogates(reason).strip()))

    def edit_observation(self, call_id: str, text: str) -> None:
        """Let the model see another text as the result of a call, which was not sent to it yet.

        Args:
            call_id: A call of the last step.
            text: The whole text that the model sees instead.

        Raises:
            SteeringRefused: The round does not wait for the user, or the result was sent already.
            UsageError: The text is empty or too long.
        """
        if not text.strip():
            raise UsageError(_EMPTY_OBSERVATION)
        if len(text) > MAX_OBSERVATION:
            raise UsageError(_LONG_OBSERVATION)
        edit = ObservationEdit(call_id, replace_surrogates(text))
        with self._change():
            self._require_open()
            if self._unsent is None:
                raise SteeringRefused(_NOT_RESTING)
            if call_id not in self._unsent:
                raise SteeringRefused(_NOT_UNSENT)
            if edit.text != self._unsent[call_id]:
                self._unsent[call_id] = edit.text
                self._edits.append(edit)

    # What the loop does

    def open(self) -> int:
        """Begin a round, which can be steered; return its number."""
        with self._change():
            self._closed = False
            self._round += 1
            return self._round

    def close(self, number: int) -> None:
        """End a round by its number: it waits for nothing any more, unless another has begun."""
        with self._change():
            if number == self._round:
                self._closed, self._turns, self._waiting, self._review = True, None, None, None
                self._unsent, self._edits = None, []

    def close_without_messages(self) -> bool:
        """End a round unless a message waits; return whether it ended."""
        with self._change():
            self._closed = not self._stored.messages
            return self._closed

    @property
    def is_paused(self) -> bool:
        """Whether the round is to wait before its next model turn."""
        return self._turns == 0

    @property
    def approval(self) -> tuple[Rule, ...]:
        """The rules by which calls wait for approval."""
        return self._stored.approval

    def begin_pause(self, unsent: Mapping[str, str]) -> None:
        """Begin to wait; the user may edit these observations, by the call's id."""
        with self._change():
            self._unsent = dict(unsent)

    def wait_while_paused(self, stop: Stop) -> ObservationEdit | None:
        """Return the user's next edit; None once the round may go on, or is stopped."""
        return self._wait(stop, lambda: self._turns != 0)

    def begin_turn(self) -> None:
        """Count a model turn of the steps that a paused round may take."""
        if self._turns:
            with self._change():
                self._turns = self._turns - 1 if self._turns else self._turns

    def take_messages(self) -> Iterator[QueuedMessage]:
        """Yield the messages that wait; each is delivered once the next one is asked for."""
        for message in self._stored.messages:
            with self._changed:
                if message not in self._stored.messages:
                    continue  # taken back meanwhile
                self._delivering = message.id
            yield message
            with self._change(), suppress(OSError):  # at worst it is shown as waiting again
                self._remove(message.id)

    def expect(self, call_id: str, reasons: tuple[ApprovalReason, ...], review: Review) -> None:
        """Decide in advance on a call, which then waits for nobody, as in a replay."""
        self._expected[call_id] = (reasons, review)

    def take_expected(self, call_id: str) -> tuple[tuple[ApprovalReason, ...], Review] | None:
        """Return why a call would have waited, and what was decided in advance, if anything."""
        return self._expected.pop(call_id, None)

    def expect_edit(self, edit: ObservationEdit) -> None:
        """Edit an observation in advance, as in a replay."""
        self._expected_edits[edit.call_id] = edit.text

    def take_expected_edits(self, unsent: Mapping[str, str]) -> Iterator[ObservationEdit]:
        """Yield what was edited in advance of these observations, by the call's id."""
        for call_id in unsent:
            text = self._expected_edits.pop(call_id, None)
            if text is not None:
                yield ObservationEdit(call_id, text)

    def ask(
        self,
        call: WaitingCall,
        check: Callable[[Mapping[str, Any]], object],
        unsent: Mapping[str, str],
    ) -> None:
        """Let a call wait for the user, who may edit ``unsent`` observations meanwhile.

        ``check`` raises ``UsageError`` for parameters that the tool would not execute as given.
        """
        with self._change():
            self._waiting, self._check, self._review = call, check, None
            self._unsent = dict(unsent)

    def wait_for_review(self, stop: Stop) -> Review | ObservationEdit | None:
        """Return the decision, or an edit before it; None after any stop: nobody may be there."""
        edit = self._wait(stop, lambda: self._review is not None or self._closed)
        if edit is not None:
            return edit
        with self._change():
            review = None if stop.stops_after_step else self._review
            self._waiting = self._review = None
        return review

    def _wait(self, stop: Stop, is_over: Callable[[], bool]) -> ObservationEdit | None:
        """Return the user's next edit of an observation; None once the wait is over."""
        with stop.on_stop_requested(self._wake), self._changed:
            self._changed.wait_for(lambda: self._edits or is_over() or stop.stops_after_step)
            if self._edits:
                return self._edits.pop(0)
            self._unsent = None
        with self._change():
            return None

    def _set_turns(self, turns: int | None) -> None:
        with self._change():
            self._require_open()
            self._turns = turns

    def _decide(self, call_id: str, review: Review) -> None:
        with self._change():
            self._waiting_call(call_id)
            self._review = review

    def _waiting_call(self, call_id: str) -> WaitingCall:
        waiting = self._waiting
        if waiting is None or self._review is not None or waiting.call_id != call_id:
            raise SteeringRefused(_NOT_WAITING)
        return waiting

    def _require_open(self) -> None:
        if self._closed:
            raise SteeringRefused(NOT_WORKING)

    def _remove(self, message: str) -> None:
        kept = tuple(each for each in self._stored.messages if each.id != message)
        self._store(messages=kept)

    def _store(self, **changes: Any) -> None:
        stored = replace(self._stored, **changes)
        if self._file is not None:
            _save(self._file, stored)
        self._stored = stored

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Hold the lock during a change, then wake the loop and call the listeners."""
        with self._changed:
            yield
            self._version += 1
            self._changed.notify_all()
        for listener in self._listeners:
            listener()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


@cache  # on first use: most runs are never steered
def _adapter() -> TypeAdapter[_Stored]:
    return TypeAdapter(_Stored)


def _load(file: Path | None) -> _Stored:
    if file is None:
        return _Stored()
    try:
        return _adapter().validate_json(read_record(file))
    except OSError:
        return _Stored()
    except ValidationError as error:
        with suppress(OSError):
            rename_damaged(file, f"{error.error_count()} of its values are not valid.")
        return _Stored()


def _save(file: Path, stored: _Stored) -> None:
    if stored == _Stored():
        file.unlink(missing_ok=True)
        return
    new = file.with_name(f"{file.name}.new")
    new.write_text(json.dumps(_adapter().dump_python(stored, mode="json")))
    new.replace(file)
