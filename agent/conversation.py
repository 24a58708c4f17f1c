"""What the model is sent: a fold over the run's events, so that nothing else can reach it."""

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
from agent.meter import estimate_tokens
from agent.models.base import Assistant, Message, System, ToolCall, ToolResult, User

_INTERRUPTED = "Error: this call was interrupted before it had a result."
_WORTH_FORGETTING = 400


class Conversation:
    """The messages of a run, in order; every tool call is answered before a person speaks."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.messages: list[Message] = []
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Take in what an event means for the model; most mean nothing."""
        match event:
            case RunStarted():
                self.messages = [System(event.system)] if event.system else []
                self._say(event.user)
            case RunContinued() | Told():
                self._settle()
                self._say(event.text)
            case StepStarted() if event.note:
                self._add_note(event.note)
            case ModelAnswered() if event.text or event.calls:
                self.messages.append(Assistant(event.text, event.reasoning, event.calls))
            case ToolEnded():
                self.messages.append(ToolResult(event.call_id, event.name, event.observation))
            case Forgotten():
                self._replace(set(event.call_ids), event.note)
            case _:
                pass

    def tokens(self) -> int:
        """An estimate of the conversation's length."""
        return sum(estimate_tokens(_text(message)) for message in self.messages)

    def call_ids(self) -> set[str]:
        """The ids of all calls so far."""
        assistants = (m for m in self.messages if isinstance(m, Assistant))
        return {call.id for message in assistants for call in message.calls}

    def forgettable(self, keep: int = 2) -> tuple[str, ...]:
        """The older half of the observations that are worth replacing by a note.

        Args:
            keep: How many of the latest observations are never offered.
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
        match self.messages[-1]:
            case User(text):
                self.messages[-1] = User(text + note)
            case ToolResult(call_id, name, text):
                self.messages[-1] = ToolResult(call_id, name, text + note)
            case _:
                self.messages.append(User(note.lstrip("\n")))

    def _settle(self) -> None:
        answered = {m.call_id for m in self.messages if isinstance(m, ToolResult)}
        for call in self._last_calls():
            if call.id not in answered:
                self.messages.append(ToolResult(call.id, call.name, _INTERRUPTED))

    def _last_calls(self) -> tuple[ToolCall, ...]:
        for message in reversed(self.messages):
            if isinstance(message, Assistant):
                return message.calls
        return ()

    def _replace(self, call_ids: set[str], note: str) -> None:
        for index, message in enumerate(self.messages):
            if isinstance(message, ToolResult) and message.call_id in call_ids:
                self.messages[index] = ToolResult(message.call_id, message.name, note)


def _text(message: Message) -> str:
    if isinstance(message, Assistant):
        calls = "".join(call.name + call.arguments for call in message.calls)
        return message.text + message.reasoning + calls
    return message.text
