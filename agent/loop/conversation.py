"""The messages sent to the model, reduced from the run's events and nothing else."""

from collections.abc import Iterable

from agent.events import (
    EarlierMessage,
    Event,
    Forked,
    MessageDelivered,
    ModelAnswered,
    ObservationsCleared,
    Reminder,
    RunContinued,
    RunStarted,
    StepStarted,
    ToolEnded,
)
from agent.loop.meter import estimate_tokens
from agent.models.base import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)

_INTERRUPTED_RESULT = "Error: this call was interrupted before it returned a result."
_MISSING_RESULT = "Error: the result of this call is missing from the run's record."
_MIN_CLEARED_CHARACTERS = 400


class Conversation:
    """A run's messages; every tool call has a result before the next user message."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.messages: list[Message] = []
        self._open_calls: dict[str, ToolCall] = {}  # calls without a result
        self._first_user: str | None = None
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Update the messages from an event; most events change nothing."""
        match event:
            case RunStarted():
                self.messages = [SystemMessage(event.system)] if event.system else []
                self.messages += map(_earlier_message, event.history)
                self.messages.append(UserMessage(event.user))
                self._first_user = event.user
            case RunContinued() | Reminder():
                self._answer_open_calls(_INTERRUPTED_RESULT)
                self._add_user_text(event.text)
            case MessageDelivered():
                self._answer_open_calls(_INTERRUPTED_RESULT)
                self._add_user_text(event.text)
            case Forked():
                self._answer_open_calls(_INTERRUPTED_RESULT)
                self._replace_prompts(event)
            case StepStarted():
                self._answer_open_calls(_MISSING_RESULT)
                self._add_note(event.note)
            case ModelAnswered() if event.text or event.calls:
                self._answer_open_calls(_MISSING_RESULT)
                self.messages.append(
                    AssistantMessage(
                        event.text, event.reasoning, event.calls, event.reasoning_field
                    )
                )
                self._open_calls = {call.id: call for call in event.calls}
            case ToolEnded() if self._open_calls.pop(event.call_id, None):
                self.messages.append(ToolResult(event.call_id, event.name, event.observation))
            case ObservationsCleared():
                self._clear_observations(set(event.call_ids), event.note)
            case _:
                pass

    def estimated_tokens(self) -> int:
        """Return an estimate of the conversation's length in tokens."""
        return sum(estimate_tokens(_text(message)) for message in self.messages)

    def call_ids(self) -> set[str]:
        """Return the ids of all calls so far."""
        assistants = (m for m in self.messages if isinstance(m, AssistantMessage))
        return {call.id for message in assistants for call in message.calls}

    def clearable_call_ids(self, keep: int = 2) -> tuple[str, ...]:
        """Return the call ids of the older half of the long observations.

        Args:
            keep: Number of latest observations that are never returned.
        """
        results = [m for m in self.messages if isinstance(m, ToolResult)]
        candidates = [
            m.call_id
            for m in results[: max(0, len(results) - keep)]
            if len(m.text) > _MIN_CLEARED_CHARACTERS
        ]
        return tuple(candidates[: (len(candidates) + 1) // 2])

    def _replace_prompts(self, event: Forked) -> None:
        """Replace the system prompt and the first round's message, if the fork has others."""
        if event.system is not None:
            kept = [each for each in self.messages if not isinstance(each, SystemMessage)]
            self.messages = [*([SystemMessage(event.system)] if event.system else []), *kept]
        if event.user is None or self._first_user is None:
            return
        for index, message in enumerate(self.messages):
            if isinstance(message, UserMessage) and message.text.startswith(self._first_user):
                rest = message.text.removeprefix(self._first_user)
                self.messages[index] = UserMessage(event.user + rest)
                self._first_user = event.user
                return

    def _add_user_text(self, text: str) -> None:
        if not text:
            return  # a fork that continues without a message
        last = self.messages[-1] if self.messages else None
        if isinstance(last, UserMessage):
            self.messages[-1] = UserMessage(f"{last.text}\n\n{text}")
        else:
            self.messages.append(UserMessage(text))

    def _add_note(self, note: str) -> None:
        match self.messages[-1] if self.messages and note else None:
            case None:
                pass
            case UserMessage(text):
                self.messages[-1] = UserMessage(text + note)
            case ToolResult(call_id, name, text):
                self.messages[-1] = ToolResult(call_id, name, text + note)
            case _:
                self.messages.append(UserMessage(note.lstrip("\n")))

    def _answer_open_calls(self, error: str) -> None:
        """Answer the calls that have no result; an intact journal has none mid-round."""
        for call in self._open_calls.values():
            self.messages.append(ToolResult(call.id, call.name, error))
        self._open_calls = {}

    def _clear_observations(self, call_ids: set[str], note: str) -> None:
        for index, message in enumerate(self.messages):
            if isinstance(message, ToolResult) and message.call_id in call_ids:
                self.messages[index] = ToolResult(message.call_id, message.name, note)


def _earlier_message(message: EarlierMessage) -> Message:
    is_user = message.role == "user"
    return UserMessage(message.text) if is_user else AssistantMessage(message.text)


def _text(message: Message) -> str:
    if isinstance(message, AssistantMessage):
        calls = "".join(call.name + call.arguments for call in message.calls)
        return message.text + message.reasoning + calls
    return message.text
