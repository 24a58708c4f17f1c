"""Search for words in a run: the matching steps and the text around each match.

It searches the journal's user messages, reasoning, texts, calls, observations and answers. Of a
long output that is stored outside the journal, only the end is searched.
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
    Reminder,
    RunContinued,
    RunEnded,
    RunStarted,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    UnreadableEvent,
)
from agent.util.text import sanitize

MAX_MATCHES = 1000
Part = Literal["asked", "step", "answer"]
_BEFORE, _AFTER = 40, 80


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A part of the run that contains the words.

    Attributes:
        part: The kind of part: a user message, a step, or a round's answer.
        round: The round, from 1.
        step: The step's number; 0 if the part is not a step.
        line: The text around the first match in the part, on one line.
    """

    part: Part
    round: int
    step: int
    line: str


@dataclass
class _SearchPart:
    """The texts of one part of the run."""

    part: Part
    round: int
    step: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        self.texts.setdefault(name, []).append(text)

    def search(self, words: re.Pattern[str]) -> SearchMatch | None:
        for pieces in self.texts.values():
            text = "".join(pieces)
            match = words.search(text)
            if match:
                return SearchMatch(self.part, self.round, self.step, _excerpt(text, match))
        return None


def find(events: Iterable[Event], words: str) -> Iterator[SearchMatch]:
    """Yield the first match in each matching part of a run, in order, ignoring case.

    Args:
        events: The run's events.
        words: The literal text to search for; an empty one matches nothing.
    """
    pattern = re.compile(re.escape(words), re.IGNORECASE)
    for place in _split_into_parts(events) if words else ():
        found = place.search(pattern)
        if found:
            yield found


def _split_into_parts(events: Iterable[Event]) -> Iterator[_SearchPart]:
    place, number = _SearchPart("asked", 0), 0
    for event in events:
        match event:
            case RunStarted() | RunContinued():
                yield place
                number += 1
                place = _SearchPart("asked", number)
                place.add("asked", event.task if isinstance(event, RunStarted) else event.text)
            case StepStarted():
                yield place
                place = _SearchPart("step", number, event.step)
            case RunEnded():
                yield place
                place = _SearchPart("answer", number)
                place.add("answer", event.answer)
            case _:
                _add_event(place, event)
    yield place


def _add_event(place: _SearchPart, event: Event) -> None:
    match event:
        case ReasoningDelta():
            place.add("thought", event.text)
        case TextDelta():
            place.add("text", event.text)
        case ModelAnswered():  # replaces the deltas
            place.texts.update(thought=[event.reasoning], text=[event.text])
        case ToolStarted():
            values = [value for value in event.arguments.values() if isinstance(value, str)]
            place.add(f"call {event.call_id}", "\n".join(values))
        case ToolOutput():
            place.add(f"{event.stream} {event.call_id}", event.text)
        case ToolEnded() if not _has_output(place, event.call_id):
            place.add(f"stdout {event.call_id}", event.observation)
        case Reminder() | Notice() | UnreadableEvent():
            place.add(event.kind, f"{event.text}\n")
        case _:
            pass


def _has_output(place: _SearchPart, call_id: str) -> bool:
    return any(f"{stream} {call_id}" in place.texts for stream in ("stdout", "stderr"))


def _excerpt(text: str, match: re.Match[str]) -> str:
    """Return the line of a match, shortened to the text near it."""
    first = text.rfind("\n", 0, match.start()) + 1
    last = text.find("\n", match.end())
    last = len(text) if last < 0 else last
    start, end = max(first, match.start() - _BEFORE), min(last, match.end() + _AFTER)
    excerpt = " ".join(sanitize(text[start:end]).split())
    return f"{'…' if start > first else ''}{excerpt}{'…' if end < last else ''}"
