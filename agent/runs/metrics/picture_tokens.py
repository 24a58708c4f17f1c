"""How many tokens a run's pictures took, measured by the prompts in which they were new."""

from dataclasses import dataclass

from agent.events import (
    Event,
    MessageDelivered,
    ModelAnswered,
    ObservationsCleared,
    PicturesDropped,
    Reminder,
    RunContinued,
    RunStarted,
    StepStarted,
    SummaryEnded,
    ToolEnded,
)
from agent.loop.meter import estimate_tokens


@dataclass
class PictureTokens:
    """Counts pictures, and what they add to a prompt besides the new texts.

    A first prompt, and one after messages were shortened, cannot be measured: ``measured`` and
    ``estimated`` tokens are of the ``measured_pictures`` only.
    """

    pictures: int = 0
    measured_pictures: int = 0
    measured: int = 0
    estimated: int = 0
    _before: int = 0  # tokens up to the last answer; 0 if unknown
    _texts: int = 0  # estimate of the texts since
    _new: int = 0
    _new_estimate: int = 0

    def apply(self, event: Event) -> None:
        """Count one event."""
        match event:
            case RunStarted() | RunContinued() | MessageDelivered() | ToolEnded():
                self.pictures += len(event.pictures)
                self._new += len(event.pictures)
                self._new_estimate += sum(each.tokens for each in event.pictures)
                self._texts += estimate_tokens(_text(event))
            case StepStarted():
                self._texts += estimate_tokens(event.note)
            case Reminder():
                self._texts += estimate_tokens(event.text)
            case ObservationsCleared() | PicturesDropped() | SummaryEnded():
                self._before = 0
            case ModelAnswered():
                self._measure(event)
            case _:
                pass

    def _measure(self, answer: ModelAnswered) -> None:
        usage = None if answer.estimated else answer.usage
        if usage is not None and self._before and self._new:
            more = usage.prompt - self._before - self._texts
            if more > 0:  # else earlier reasoning was left out
                self.measured += more
                self.measured_pictures += self._new
                self.estimated += self._new_estimate
        self._before = 0 if usage is None else usage.prompt + usage.generated
        self._texts = self._new = self._new_estimate = 0


def _text(event: RunStarted | RunContinued | MessageDelivered | ToolEnded) -> str:
    match event:
        case RunStarted():
            return event.user
        case ToolEnded():
            return event.observation
        case RunContinued():
            return event.sent
    return event.text
