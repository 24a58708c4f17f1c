"""Detects servers that cut conversations silently, as Ollama does: the prompt stops growing."""

from agent.events import (
    Event,
    MessageDelivered,
    ModelAnswered,
    ObservationEdited,
    ObservationsCleared,
    Reminder,
    StepStarted,
    SummaryEnded,
    ToolEnded,
)
from agent.loop.meter import estimate_tokens

TRUNCATED = (
    "The server reads only {tokens:,} tokens of the conversation, which is longer: it cut the "
    "oldest messages without saying so. Give the model a longer context on the server (Ollama: set "
    "OLLAMA_CONTEXT_LENGTH and restart it), or limit the conversation."
)
_MIN_GROWTH_TOKENS = 200


class TruncationWatch:
    """Compares the growth of a conversation with the reported prompt sizes; reports a cut once."""

    def __init__(self, *, found: bool = False) -> None:
        self.found = found
        self._prompt: int | None = None  # of the last turn; None where it cannot be compared
        self._grown = 0  # estimated tokens of what came since, without reasoning

    def apply(self, event: Event) -> str:
        """Take in an event; return a sentence for the user when it shows that text was cut."""
        match event:
            case ObservationsCleared() | SummaryEnded() | ObservationEdited():
                self._prompt = None
            case Reminder() | MessageDelivered():
                self._prompt = None  # templates drop the reasoning before a message of the user
            case StepStarted():
                self._grown += estimate_tokens(event.note)
            case ToolEnded():
                self._grown += estimate_tokens(event.observation)
            case ModelAnswered():
                return self._compare(event)
            case _:
                pass
        return ""

    def _compare(self, answer: ModelAnswered) -> str:
        last, grown = self._prompt, self._grown
        written = answer.text + "".join(call.name + call.arguments for call in answer.calls)
        self._grown = estimate_tokens(written)
        self._prompt = None if answer.usage is None or answer.estimated else answer.usage.prompt
        if self.found or last is None or self._prompt is None or grown < _MIN_GROWTH_TOKENS:
            return ""
        if self._prompt > last:
            return ""
        self.found = True
        return TRUNCATED.format(tokens=self._prompt)
