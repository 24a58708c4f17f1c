"""The messages sent to the model, reduced from the run's events and nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import is_

from agent.events import (
    EarlierMessage,
    Event,
    Forked,
    MessageDelivered,
    ModelAnswered,
    ObservationEdited,
    ObservationsCleared,
    PicturesDropped,
    Reminder,
    RunContinued,
    RunStarted,
    StepStarted,
    SummaryEnded,
    SummaryStarted,
    ToolEnded,
)
from agent.loop.meter import estimate_tokens
from agent.loop.notes import PICTURE_REFUSED
from agent.models.base import (
    AssistantMessage,
    Message,
    Picture,
    PictureLimits,
    ReadPicture,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)

EVENT_KINDS = (
    "run_started", "run_continued", "forked", "reminder", "step_started", "model_answered",
    "tool_ended", "observation_edited", "observations_cleared", "message_delivered",
    "pictures_dropped", "summary_started", "summary_ended",
)  # fmt: skip
"""The kinds of events that change a conversation: a small part of a journal's lines."""

_INTERRUPTED_RESULT = "Error: this call was interrupted before it returned a result."
_MISSING_RESULT = "Error: the result of this call is missing from the run's record."
_MIN_CLEARED_CHARACTERS = 400
_KEPT_TURNS = 2
_KEPT_SHARE = 0.25
_MIN_SUMMARISED_TURNS = 2


@dataclass(frozen=True, slots=True)
class OlderSteps:
    """Older steps of a conversation, which a summary can replace."""

    first_step: int  # may have been replaced by a summary
    last_step: int
    tokens: int  # an estimate
    user_texts: tuple[str, ...]  # what the user said in them


@dataclass(frozen=True, slots=True)
class _Turn:
    step: int
    index: int  # of its message


class Conversation:
    """A run's messages; every tool call has a result before the next user message.

    Without ``read_picture``, pictures are sent as descriptions. ``most_pictures`` is how many the
    endpoint takes in a request, once it refused more.
    """

    def __init__(
        self, events: Iterable[Event] = (), read_picture: ReadPicture | None = None
    ) -> None:
        self.read_picture = read_picture
        self.most_pictures: int | None = None
        self._model = ""
        self.messages: list[Message] = []
        self._open_calls: dict[str, ToolCall] = {}  # calls without a result
        self._first_user: str | None = None
        self._call_ids: set[str] = set()
        self._turns: list[_Turn] = []  # those that no summary has replaced
        self._user_texts: list[tuple[int, str]] = []  # the step before, and what the user said
        self._summary_request: list[Message] | None = None
        self._unsummarised: list[Message] = []  # what is before the first turn, without a summary
        self._first_summarised: int | None = None
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Update the messages from an event; most events change nothing."""
        match event:
            case RunStarted():
                self.messages = [SystemMessage(event.system)] if event.system else []
                self.messages += map(_earlier_message, event.history)
                self.messages.append(UserMessage(event.user, event.pictures))
                self._first_user = event.user
                self._turns = []
                self._model = event.model
            case RunContinued() | Reminder() | MessageDelivered():
                self._add_message(event)
            case Forked():
                self._answer_open_calls(_INTERRUPTED_RESULT)
                self._replace_prompts(event)
            case StepStarted():
                self._summary_request = None
                self._answer_open_calls(_MISSING_RESULT)
                self._add_note(event.note)
            case ModelAnswered() if event.text or event.calls:
                self._answer_open_calls(_MISSING_RESULT)
                self._add_turn(event)
            case ToolEnded() if self._open_calls.pop(event.call_id, None):
                self.messages.append(
                    ToolResult(event.call_id, event.name, event.observation, event.pictures)
                )
            case ObservationEdited():
                self._edit_observation(event)
            case (
                ObservationsCleared() | PicturesDropped() | SummaryStarted() | SummaryEnded()
            ):  # fmt: skip
                self._free_space(event)
            case _:
                pass

    def _free_space(
        self, event: ObservationsCleared | PicturesDropped | SummaryStarted | SummaryEnded
    ) -> None:
        match event:
            case ObservationsCleared():
                self._clear_observations(set(event.call_ids), event.note)
            case PicturesDropped():
                for messages in (self.messages, self._unsummarised):
                    _drop_pictures(messages, len(event.pictures), event.note)
                if event.note == PICTURE_REFUSED:
                    self.most_pictures = len(self.pictures())
            case SummaryStarted():
                self._summary_request = self.messages[: self._end_of_step(event.last_step)]
                _add_user_text(self._summary_request, event.instruction)
            case SummaryEnded():
                self._summary_request = None
                if event.text and self._turns:
                    self._replace_steps(event)

    @property
    def is_summarising(self) -> bool:
        """Whether the next request is for a summary of older steps."""
        return self._summary_request is not None

    def request_messages(self) -> Sequence[Message]:
        """Return the messages of the next request: the conversation, or what is summarised."""
        return self.messages if self._summary_request is None else self._summary_request

    def unsent_observations(self) -> dict[str, str]:
        """Return the results that no request has contained yet, by the call's id."""
        results = [result for _, result in self._unsent_results()]
        return {result.call_id: result.text for result in reversed(results)}

    def pictures(self) -> list[Picture]:
        """Return the pictures of the next request, oldest first."""
        return [picture for message in self.messages for picture in pictures_of(message)]

    def pictures_to_drop(self, limits: PictureLimits) -> tuple[Picture, ...]:
        """Return the oldest sent pictures over the limits; half stay, to change few prompts."""
        sent = self.messages[: self._turns[-1].index] if self._turns else []
        kept = [picture for message in sent for picture in pictures_of(message)]
        tokens = 0
        if len(kept) <= limits.count and sum(each.tokens for each in kept) <= limits.tokens:
            return ()
        for count, picture in enumerate(reversed(kept)):
            tokens += picture.tokens
            if count and (count >= limits.count / 2 or tokens > limits.tokens / 2):
                return tuple(kept[: len(kept) - count])
        return ()

    def call_ids(self) -> set[str]:
        """Return the ids of all calls so far, also of those that a summary has replaced."""
        return set(self._call_ids)

    def older_steps(self) -> OlderSteps | None:
        """Return the steps that a summary can replace; None if they are too few."""
        turns, cut = self._turns, len(self._turns) - _KEPT_TURNS
        if cut < _MIN_SUMMARISED_TURNS:
            return None
        sizes = [estimate_messages([message]) for message in self.messages]
        total = sum(sizes)
        while (
            cut > _MIN_SUMMARISED_TURNS
            and sum(sizes[turns[cut - 1].index :]) <= total * _KEPT_SHARE
        ):
            cut -= 1
        first = self._first_summarised or turns[0].step
        last = turns[cut - 1].step
        before = self._unsummarised or self.messages[: turns[0].index]
        texts = tuple(text for step, text in self._user_texts if first <= step <= last)
        return OlderSteps(
            first, last, total - estimate_messages(before) - sum(sizes[turns[cut].index :]), texts
        )

    def clearable_call_ids(self, keep: int = 2) -> tuple[str, ...]:
        """Return the ids of the older half of the long observations, but the latest ``keep``."""
        results = [m for m in self.messages if isinstance(m, ToolResult)]
        candidates = [
            m.call_id
            for m in results[: max(0, len(results) - keep)]
            if len(m.text) > _MIN_CLEARED_CHARACTERS or m.pictures
        ]
        return tuple(candidates[: (len(candidates) + 1) // 2])

    def _add_message(self, event: RunContinued | Reminder | MessageDelivered) -> None:
        self._answer_open_calls(_INTERRUPTED_RESULT)
        pictures = () if isinstance(event, Reminder) else event.pictures
        if isinstance(event, RunContinued) and event.model != self._model:
            self._model, self.most_pictures = event.model, None
        text = event.sent if isinstance(event, RunContinued) else event.text
        _add_user_text(self.messages, text, pictures)
        if event.text and not isinstance(event, Reminder):
            last_step = self._turns[-1].step if self._turns else 0
            self._user_texts.append((last_step, event.text))

    def _add_turn(self, event: ModelAnswered) -> None:
        self._turns.append(_Turn(event.step, len(self.messages)))
        self.messages.append(
            AssistantMessage(
                event.text, event.reasoning, event.calls, event.reasoning_field, event.opaque
            )
        )
        self._open_calls = {call.id: call for call in event.calls}
        self._call_ids.update(self._open_calls)

    def _end_of_step(self, step: int) -> int:
        """Return the index of the first turn after a step."""
        later = (turn.index for turn in self._turns if turn.step > step)
        return next(later, len(self.messages))

    def _replace_steps(self, event: SummaryEnded) -> None:
        """Replace turns by a summary in the message before: not all APIs take two in a row."""
        start, end = self._turns[0].index, self._end_of_step(event.last_step)
        if self._first_summarised is None:
            self._first_summarised = event.first_step
            self._unsummarised = self.messages[:start]
        before = [*self._unsummarised]
        _add_user_text(before, event.text)
        self.messages = [*before, *self.messages[end:]]
        kept = [turn for turn in self._turns if turn.step > event.last_step]
        self._turns = _shifted(kept, len(before) - end)

    def _replace_prompts(self, event: Forked) -> None:
        """Replace the system prompt and the first round's message, if the fork has others."""
        count = len(self.messages)
        self.messages = _with_prompts(self.messages, event, self._first_user)
        self._turns = _shifted(self._turns, len(self.messages) - count)
        if self._unsummarised:
            self._unsummarised = _with_prompts(self._unsummarised, event, self._first_user)
        if event.user is not None and self._first_user is not None:
            self._first_user = event.user

    def _add_note(self, note: str) -> None:
        match self.messages[-1] if self.messages and note else None:
            case None:
                pass
            case UserMessage() | ToolResult() as last:
                self.messages[-1] = replace(last, text=last.text + note)
            case _:
                self.messages.append(UserMessage(note.lstrip("\n")))

    def _answer_open_calls(self, error: str) -> None:
        """Answer the calls that have no result; an intact journal has none mid-round."""
        for call in self._open_calls.values():
            self.messages.append(ToolResult(call.id, call.name, error))
        self._open_calls = {}

    def _unsent_results(self) -> Iterator[tuple[int, ToolResult]]:
        """Yield the results since the last turn, the last one first, with their indices."""
        for index in range(len(self.messages) - 1, -1, -1):
            message = self.messages[index]
            if not isinstance(message, ToolResult):
                return
            yield index, message

    def _edit_observation(self, event: ObservationEdited) -> None:
        for index, result in self._unsent_results():
            if result.call_id == event.call_id:
                self.messages[index] = replace(result, text=event.observation)

    def _clear_observations(self, call_ids: set[str], note: str) -> None:
        for index, message in enumerate(self.messages):
            if isinstance(message, ToolResult) and message.call_id in call_ids:
                self.messages[index] = ToolResult(message.call_id, message.name, note)


def _shifted(turns: Iterable[_Turn], by: int) -> list[_Turn]:
    return [replace(turn, index=turn.index + by) for turn in turns]


def _with_prompts(
    messages: Sequence[Message], event: Forked, first_user: str | None
) -> list[Message]:
    """Return the messages with the prompts of a fork, where it has others."""
    messages = list(messages)
    if event.system is not None:
        kept = [each for each in messages if not isinstance(each, SystemMessage)]
        messages = [*([SystemMessage(event.system)] if event.system else []), *kept]
    if event.user is None or first_user is None:
        return messages
    for index, message in enumerate(messages):
        if isinstance(message, UserMessage) and message.text.startswith(first_user):
            text = event.user + message.text.removeprefix(first_user)
            messages[index] = replace(message, text=text)
            break
    return messages


def _add_user_text(messages: list[Message], text: str, pictures: tuple[Picture, ...] = ()) -> None:
    """Add what a user says; it continues the last message if that is a user's."""
    if not text:
        return  # a fork that continues without a message
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage):
        messages[-1] = UserMessage(f"{last.text}\n\n{text}", last.pictures + pictures)
    else:
        messages.append(UserMessage(text, pictures))


def pictures_of(message: Message) -> tuple[Picture, ...]:
    """Return the pictures that a message has."""
    return message.pictures if isinstance(message, UserMessage | ToolResult) else ()


def _drop_pictures(messages: list[Message], count: int, note: str) -> None:
    """Replace the oldest pictures of messages by text."""
    for index, message in enumerate(messages):
        if not isinstance(message, UserMessage | ToolResult) or not message.pictures:
            continue
        if count <= 0:
            return
        dropped = message.pictures[:count]
        text = "".join(f"\n[{each.description}: {note}]" for each in dropped)
        kept = message.pictures[count:]
        messages[index] = replace(message, text=message.text + text, pictures=kept)
        count -= len(dropped)


class LengthEstimate:
    """Estimate of the length of a conversation's requests; reads what they repeat once."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._tokens = 0

    def tokens(self, messages: Sequence[Message]) -> int:
        """Return an estimate of the length of messages in tokens."""
        known = self._messages
        if len(messages) < len(known) or not all(map(is_, known, messages)):
            known.clear()
            self._tokens = 0
        new = messages[len(known) :]
        known += new
        self._tokens += estimate_messages(new)
        return self._tokens


def estimate_messages(messages: Iterable[Message]) -> int:
    """Return an estimate of the length of messages in tokens."""
    return sum(
        estimate_tokens(_text(message)) + sum(each.tokens for each in pictures_of(message))
        for message in messages
    )


def _earlier_message(message: EarlierMessage) -> Message:
    is_user = message.role == "user"
    return UserMessage(message.text) if is_user else AssistantMessage(message.text)


def _text(message: Message) -> str:
    if isinstance(message, AssistantMessage):
        calls = "".join(call.name + call.arguments for call in message.calls)
        return message.text + message.reasoning + calls
    return message.text
