"""The messages sent to the model, reduced from the run's events and nothing else."""

from collections.abc import Iterable

from agent.events import (
    Event,
    Forgotten,
    ModelAnswered,
    RunContinued,
    RunStarted,
    StepStarted,
    Told,
    ToolEnded,
)
from agent.loop.meter import estimate_tokens
from agent.models.base import Assistant, Message, System, ToolCall, ToolResult, User

_INTERRUPTED = "Error: this call was interrupted before it had a result."
_LOST = "Error: the result of this call is missing in the run's record."
_WORTH_FORGETTING = 400


class Conversation:
    """A run's messages; every tool call has a result before the next user message."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.messages: list[Message] = []
        self._open: dict[str, ToolCall] = {}  # calls without a result
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Update the messages from an event; most events change nothing."""
        match event:
            case RunStarted():
                self.messages = [System(event.system)] if event.system else []
                self._say(event.user)
            case RunContinued() | Told():
                self._settle(_INTERRUPTED)
                self._say(event.text)
            case StepStarted():
                self._settle(_LOST)
                self._add_note(event.note)
            case ModelAnswered() if event.text or event.calls:
                self._settle(_LOST)
                self.messages.append(
                    Assistant(event.text, event.reasoning, event.calls, event.reasoning_field)
                )
                self._open = {call.id: call for call in event.calls}
            case ToolEnded() if self._open.pop(event.call_id, None):
                self.messages.append(ToolResult(event.call_id, event.name, event.observation))
            case Forgotten():
                self._replace(set(event.call_ids), event.note)
            case _:
                pass

    def tokens(self) -> int:
        """Return an estimate of the conversation's length in tokens."""
        return sum(estimate_tokens(_text(message)) for message in self.messages)

    def call_ids(self) -> set[str]:
        """Return the ids of all calls so far."""
        assistants = (m for m in self.messages if isinstance(m, Assistant))
        return {call.id for message in assistants for call in message.calls}

    def forgettable(self, keep: int = 2) -> tuple[str, ...]:
        """Return the call ids of the older half of the long observations.

        Args:
            keep: Number of latest observations that are never returned.
        """
        results = [m for m in self.messages if isinstance(m, ToolResult)]
        worth = [
            m.call_id
            for m in results[: max(0, len(results) - keep)]
            if len(m.text) > _WORTH_FORGETTING
        ]
        return tuple(worth[: (len(worth) + 1) // 2])

    def _say(self, text: str) -> None:
        last = self.messages[-1] if self.messages else None
        if isinstance(last, User):
            self.messages[-1] = User(f"{last.text}\n\n{text}")
        else:
            self.messages.append(User(text))

    def _add_note(self, note: str) -> None:
        match self.messages[-1] if self.messages and note else None:
            case None:
                pass
            case User(text):
                self.messages[-1] = User(text + note)
            case ToolResult(call_id, name, text):
                self.messages[-1] = ToolResult(call_id, name, text + note)
            case _:
                self.messages.append(User(note.lstrip("\n")))

    def _settle(self, why: str) -> None:
        """Answer the calls that have no result; an intact journal has none mid-round."""
        for call in self._open.values():
            self.messages.append(ToolResult(call.id, call.name, why))
        self._open = {}

    def _replace(self, call_ids: set[str], note: str) -> None:
        for index, message in enumerate(self.messages):
            if isinstance(message, ToolResult) and message.call_id in call_ids:
                self.messages[index] = ToolResult(message.call_id, message.name, note)


def _text(message: Message) -> str:
    if isinstance(message, Assistant):
        calls = "".join(call.name + call.arguments for call in message.calls)
        return message.text + message.reasoning + calls
    return message.text
