"""The pictures that a run's model has got, reduced from its events for the page."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from agent.events import (
    Event,
    MessageDelivered,
    ObservationsCleared,
    PicturesDropped,
    RunContinued,
    RunStarted,
    StepStarted,
    SummaryEnded,
    ToolEnded,
)
from agent.models.base import Picture


@dataclass(slots=True)
class SentPicture:
    """A picture that the model gets; ``dropped`` is the step from which it no longer does."""

    where: Literal["message", "step", "call"]
    round: int
    step: int  # before the message of a round: the last one
    call_id: str
    picture: Picture
    dropped: int | None = None


@dataclass(slots=True)
class SentPictures:
    """The pictures in their order; static/core/run/sent_pictures.js does the same."""

    all: list[SentPicture] = field(default_factory=list)
    _round: int = 0
    _step: int = 0

    def apply(self, event: Event) -> None:
        """Apply one event; most change nothing."""
        match event:
            case StepStarted():
                self._step = event.step
            case RunStarted() | RunContinued():
                self._round += 1
                self._add("message", "", event.pictures)
            case MessageDelivered():
                self._add("step", "", event.pictures)
            case ToolEnded():
                self._add("call", event.call_id, event.pictures)
            case PicturesDropped():
                for picture in event.pictures:
                    self._drop_oldest(event.step, picture.file)
            case ObservationsCleared():
                self._drop(event.step, lambda each: each.call_id in event.call_ids)
            case SummaryEnded() if event.text:
                replaced = range(event.first_step, event.last_step + 1)
                self._drop(
                    event.step, lambda each: each.where != "message" and each.step in replaced
                )
            case _:
                pass

    def before(self, step: int) -> "SentPictures":
        """Return the pictures as they were before a step began."""
        kept = [each for each in self.all if each.where == "message" or each.step < step]
        return SentPictures(
            [replace(each, dropped=None) if (each.dropped or 0) >= step else each for each in kept]
        )

    def _add(
        self,
        where: Literal["message", "step", "call"],
        call_id: str,
        pictures: tuple[Picture, ...],
    ) -> None:
        self.all += [
            SentPicture(where, self._round, self._step, call_id, each) for each in pictures
        ]

    def _drop_oldest(self, step: int, file: str) -> None:
        sent = (each for each in self.all if each.dropped is None and each.picture.file == file)
        for each in sent:
            each.dropped = step
            return

    def _drop(self, step: int, matches: Callable[[SentPicture], bool]) -> None:
        for each in self.all:
            if each.dropped is None and matches(each):
                each.dropped = step
