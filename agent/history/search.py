"""Search for words in one run, and in the database of all runs.

Both search the journal's user messages, reasoning, texts, calls, observations and answers. Of a
long output that is stored outside the journal, only the end is searched. The database holds a
limited part of a run's text.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.events import (
    Event,
    MessageDelivered,
    ModelAnswered,
    Notice,
    ObservationEdited,
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
from agent.util.text import mark_format_controls, replace_surrogates, sanitize

MAX_MATCHES = 1000
MAX_PASSAGE_CHARS = 8_000
"""Maximum characters of one part of a run in the database: its beginning and its end."""
MAX_RUN_CHARS = 64_000
"""Maximum characters of a run's steps in the database, and of all its other parts."""
MAX_QUERY_CHARS = 200
Part = Literal["asked", "step", "answer", "run"]
_BEFORE, _AFTER, _TRIGRAM = 40, 80, 3


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A part of the run that contains the words.

    Attributes:
        part: The kind of part: a user message, a step, a round's answer, or, in the list of all
            runs, the run's model or a file name.
        round: The round, from 1.
        step: The step's number; 0 if the part is not a step.
        line: The text around the first match in the part, on one line.
    """

    part: Part
    round: int
    step: int
    line: str


Passage = tuple[Part, int, int, str]
"""The text of one part of a run, with the kind, round and step as in ``SearchMatch``."""


@dataclass
class _SearchPart:
    """The texts of one part of the run."""

    part: Part
    round: int
    step: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        self.texts.setdefault(name, []).append(text)

    @property
    def text(self) -> str:
        """The part's text."""
        return "\n".join("".join(pieces) for pieces in self.texts.values())

    def search(self, words: re.Pattern[str]) -> SearchMatch | None:
        for pieces in self.texts.values():
            text = "".join(pieces)
            match = words.search(text)
            if match:
                return SearchMatch(self.part, self.round, self.step, _excerpt(text, *match.span()))
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
        case ObservationEdited():
            place.add(f"{event.kind} {event.call_id}", event.observation)
        case Reminder() | Notice() | UnreadableEvent() | MessageDelivered():
            place.add(event.kind, f"{event.text}\n")
        case _:
            pass


def _has_output(place: _SearchPart, call_id: str) -> bool:
    return any(f"{stream} {call_id}" in place.texts for stream in ("stdout", "stderr"))


def _excerpt(text: str, begin: int, stop: int) -> str:
    """Return the line of a match, shortened to the text near it."""
    first = text.rfind("\n", 0, begin) + 1
    last = text.find("\n", stop)
    last = len(text) if last < 0 else last
    start, end = max(first, begin - _BEFORE), min(last, stop + _AFTER)
    excerpt = " ".join(sanitize(mark_format_controls(text[start:end])).split())
    return f"{'…' if start > first else ''}{excerpt}{'…' if end < last else ''}"


def normalize(text: str) -> str:
    """Return text for comparison: without differences of case, width and form."""
    if text.isascii():
        return text.lower().replace("\0", " ")
    text = replace_surrogates(text).replace("\0", " ")
    return unicodedata.normalize("NFKC", text).casefold()


def query_words(query: str) -> list[str]:
    """Return the normalized words of a query, each of which must occur."""
    return normalize(query[:MAX_QUERY_CHARS]).split()


def passages_of(events: Iterable[Event]) -> Iterator[Passage]:
    """Yield the texts of a run to store in the database, within its limits."""
    left = {"step": MAX_RUN_CHARS, "asked": MAX_RUN_CHARS}
    for place in _split_into_parts(events):
        kind = "step" if place.part == "step" else "asked"
        text = _shorten(place.text, min(MAX_PASSAGE_CHARS, left[kind]))
        left[kind] -= len(text)
        if text.strip():
            yield place.part, place.round, place.step, text


def _shorten(text: str, limit: int) -> str:
    """Return the beginning and the end of a long text."""
    if len(text) <= limit:
        return text
    end = limit // 4
    return f"{text[: limit - end]}\n{text[len(text) - end :]}"


def is_common(word: str) -> bool:
    """Return whether almost every run contains a word; only titles are searched for it."""
    return len(word) == 1 and word.isascii()


def match_expression(database: sqlite3.Connection, words: Sequence[str]) -> str | None:
    """Return the FTS5 expression of normalized words; None if one of them does not occur.

    Words are quoted. A word that is shorter than a trigram is replaced by the trigrams that begin
    with it. A common word is left out.
    """
    groups = list[str]()
    for word in words:
        if is_common(word):
            continue
        trigrams = [word]
        if len(word) < _TRIGRAM:
            found = database.execute(
                "SELECT term FROM vocabulary WHERE term >= ? AND term < ?",
                (word, word + chr(0x10FFFF)),
            )
            trigrams = [term for (term,) in found]
        if not trigrams:
            return None
        groups.append(" OR ".join('"{}"'.format(each.replace('"', '""')) for each in trigrams))
    return " AND ".join(f"({group})" for group in groups)


def first_match(
    passages: Iterable[Passage], words: Sequence[str]
) -> tuple[SearchMatch, str] | None:
    """Return the first match of any of these normalized words, and the word as written there."""
    for part, round_, step, text in passages:
        normalized = normalize(text)
        for word in words:
            at = normalized.find(word)
            if at >= 0:
                line = _excerpt(text, at, at + len(word))
                found = text[at : at + len(word)]
                return SearchMatch(part, round_, step, line), (
                    found if normalize(found) == word else word
                )
    return None
