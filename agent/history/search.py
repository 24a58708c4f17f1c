"""Searches for words in one run, or in the database, which has a part of each run's text."""

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.events import (
    Annotation,
    Event,
    MessageDelivered,
    Notice,
    Reminder,
    RunContinued,
    RunEnded,
    RunStarted,
    UnreadableEvent,
)
from agent.runs.outputs.pictures import pictures_of
from agent.runs.transcript import Call, Step, steps_of
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
    """A part of a run that contains the words; in the list, also its model or a file name."""

    part: Part
    round: int  # from 1
    step: int  # 0 if the part is not a step
    line: str  # the text around the first match in the part


Passage = tuple[Part, int, int, str]
"""The text of one part of a run, with the kind, round and step as in ``SearchMatch``."""


@dataclass(slots=True)
class _SearchPart:
    """The texts of one part of the run."""

    part: Part
    round: int
    step: int = 0
    texts: list[str] = field(default_factory=list)
    is_annotation: bool = False

    def search(self, words: re.Pattern[str]) -> SearchMatch | None:
        for text in self.texts:
            match = words.search(text)
            if match:
                return SearchMatch(self.part, self.round, self.step, _excerpt(text, *match.span()))
        return None


def find(events: Iterable[Event], words: str) -> Iterator[SearchMatch]:
    """Yield the first match of a literal text in each part of a run, in order, ignoring case."""
    pattern = re.compile(re.escape(words), re.IGNORECASE)
    for place in _split_into_parts(events) if words else ():
        found = place.search(pattern)
        if found:
            yield found


def _split_into_parts(events: Iterable[Event]) -> Iterator[_SearchPart]:
    place, number = _SearchPart("asked", 0), 0
    for each in steps_of((0, event) for event in events):
        match each:
            case RunStarted() | RunContinued():
                yield place
                number += 1
                text = each.task if isinstance(each, RunStarted) else each.text
                place = _SearchPart("asked", number, texts=[text, *_sources(each)])
            case RunEnded():
                yield place
                place = _SearchPart("answer", number, texts=[each.answer])
            case Step():
                yield place
                yield _SearchPart("step", number, each.number, [*_texts(each)])
                place = _SearchPart("asked", number)
            case Annotation():
                yield _SearchPart("step", number, each.step, [each.text], is_annotation=True)
            case _:
                place.texts += _part_texts(each)
    yield place


def _texts(step: Step) -> Iterator[str]:
    answer = step.answer
    yield "".join([answer.reasoning if answer else "", *step.reasoning])
    yield "".join([answer.text if answer else "", *step.text])
    for part in step.parts:
        yield from _part_texts(part)


def _part_texts(part: Event | Call) -> Iterator[str]:
    match part:
        case Call():
            values = (part.arguments or {}).values()
            yield "\n".join(value for value in values if isinstance(value, str))
            yield from map("".join, part.outputs.values())
            if part.ended and not part.outputs:
                yield part.ended.observation
            if part.edited:
                yield part.edited.observation
            if part.ended:
                yield from _sources(part.ended)
        case Reminder() | Notice() | UnreadableEvent() | MessageDelivered():
            yield part.text
            yield from _sources(part)
        case _:
            pass


def _sources(event: Event) -> Iterator[str]:
    """Yield what the pictures show that the model got with an event."""
    yield from (picture.source for picture in pictures_of(event))


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
        kind = "step" if place.part == "step" and not place.is_annotation else "asked"
        text = _shorten("\n".join(filter(None, place.texts)), min(MAX_PASSAGE_CHARS, left[kind]))
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

    Words are quoted. One shorter than a trigram becomes all trigrams that begin with it; common
    words are left out.
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
