"""Words found again in a run: in which step they stand, and the line around them.

Looked at are what the person said, what the model thought, said and called, what came back
and the answers, as the journal holds them; of an output that is kept beside the journal that
is its end.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from agent.events import (
    Event,
    ModelAnswered,
    Notice,
    ReasoningDelta,
    RunContinued,
    RunEnded,
    RunStarted,
    StepStarted,
    TextDelta,
    Told,
    ToolEnded,
    ToolOutput,
    ToolStarted,
)
from agent.legible import legible

MOST = 1000
Part = Literal["asked", "step", "answer"]
_BEFORE, _AFTER = 40, 80


@dataclass(frozen=True, slots=True)
class Found:
    """A place that holds the words.

    Attributes:
        part: What the place is: what the person asked, a step, or a round's answer.
        round: The round, from 1.
        step: The step's number; 0 where it is none.
        line: What stands around the first time they occur there, on one line.
    """

    part: Part
    round: int
    step: int
    line: str


@dataclass
class _Place:
    """The texts of one place."""

    part: Part
    round: int
    step: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        self.texts.setdefault(name, []).append(text)

    def search(self, words: re.Pattern[str]) -> Found | None:
        for pieces in self.texts.values():
            text = "".join(pieces)
            match = words.search(text)
            if match:
                return Found(self.part, self.round, self.step, _around(text, match))
        return None


def find(events: Iterable[Event], words: str) -> Iterator[Found]:
    """Where words stand, in order, one place each; upper and lower case are the same.

    Args:
        events: The run.
        words: What is looked for, as it is written; nothing is found for none.
    """
    pattern = re.compile(re.escape(words), re.IGNORECASE)
    for place in _places(events) if words else ():
        found = place.search(pattern)
        if found:
            yield found


def _places(events: Iterable[Event]) -> Iterator[_Place]:
    place, number = _Place("asked", 0), 0
    for event in events:
        match event:
            case RunStarted() | RunContinued():
                yield place
                number += 1
                place = _Place("asked", number)
                place.add("asked", event.task if isinstance(event, RunStarted) else event.text)
            case StepStarted():
                yield place
                place = _Place("step", number, event.step)
            case RunEnded():
                yield place
                place = _Place("answer", number)
                place.add("answer", event.answer)
            case _:
                _take(place, event)
    yield place


def _take(place: _Place, event: Event) -> None:
    match event:
        case ReasoningDelta():
            place.add("thought", event.text)
        case TextDelta():
            place.add("text", event.text)
        case ModelAnswered():  # the whole, in place of the pieces
            place.texts.update(thought=[event.reasoning], text=[event.text])
        case ToolStarted():
            values = [value for value in event.arguments.values() if isinstance(value, str)]
            place.add(f"call {event.call_id}", "\n".join(values))
        case ToolOutput():
            place.add(f"{event.stream} {event.call_id}", event.text)
        case ToolEnded() if not _has_output(place, event.call_id):
            place.add(f"stdout {event.call_id}", event.observation)
        case Told() | Notice():
            place.add(event.kind, f"{event.text}\n")
        case _:
            pass


def _has_output(place: _Place, call_id: str) -> bool:
    return any(f"{stream} {call_id}" in place.texts for stream in ("stdout", "stderr"))


def _around(text: str, match: re.Match[str]) -> str:
    """The line of a match, shortened to what stands near it."""
    first = text.rfind("\n", 0, match.start()) + 1
    last = text.find("\n", match.end())
    last = len(text) if last < 0 else last
    start, end = max(first, match.start() - _BEFORE), min(last, match.end() + _AFTER)
    shown = " ".join(legible(text[start:end]).split())
    return f"{'…' if start > first else ''}{shown}{'…' if end < last else ''}"
