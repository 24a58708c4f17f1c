"""Texts on which a regular expression takes longest, made from its own parts.

Each repetition in a pattern is fed many of what it repeats, behind what comes before it and in
front of something that makes the match fail: there a backtracking engine tries everything again.
"""

import re
import re._constants as ops  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import time
from collections.abc import Callable, Iterator
from typing import Any

_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_MIN_REPEATS = 50
"""A repetition that allows fewer is no danger."""

_SAMPLE_CHARACTERS = "aA1 \t\n-_.,:;=/\\\"'<>[]{}()&#*+?!|$%^~@\u00e9\u3042\x1b\x9b"


def worst_case_texts(pattern: "re.Pattern[Any]", count: int) -> Iterator[str]:
    """Texts whose repeated parts are ``count`` long, one or more for each repetition."""
    tree = parser.parse(_source(pattern), pattern.flags & ~re.DEBUG)
    seen = set()
    for before, repeated in _repetitions(list(tree), ""):
        for unit in _units(repeated):
            for start in {before, ""}:
                for end in ("", "\x00", "\x00!", "a", "\n"):
                    text = start + unit * (count // len(unit)) + end
                    if text not in seen:
                        seen.add(text)
                        yield text


def time_ratio(function: Callable[[Any], object], small: Any, large: Any) -> float:
    """How many times longer ``large`` takes than ``small``; 0 where it takes hardly anything.

    Processor time of this thread is measured, which other processes do not add to.
    """
    took = _cpu_seconds(function, large)
    if took < 0.02:
        return 0
    took = min(took, *(_cpu_seconds(function, large) for _ in range(2))) if took < 1 else took
    return took / max(min(_cpu_seconds(function, small) for _ in range(3)), 1e-6)


def _cpu_seconds(function: Callable[[Any], object], text: Any) -> float:
    begun = time.thread_time()
    function(text)
    return time.thread_time() - begun


def _source(pattern: "re.Pattern[Any]") -> str:
    source = pattern.pattern
    return source.decode("latin-1") if isinstance(source, bytes) else str(source)


def _repetitions(items: list[Any], before: str) -> Iterator[tuple[str, list[Any]]]:
    """Each repetition's beginning of the text, and what it repeats."""
    for op, argument in items:
        if op in _REPEATS:
            _, high, inner = argument
            if high == ops.MAXREPEAT or high >= _MIN_REPEATS:
                yield before, list(inner)
            yield from _repetitions(list(inner), before)
        elif op is ops.SUBPATTERN:
            yield from _repetitions(list(argument[3]), before)
        elif op is ops.BRANCH:
            for way in argument[1]:
                yield from _repetitions(list(way), before)
        elif op is ops.ATOMIC_GROUP:
            yield from _repetitions(list(argument), before)
        before += sample([(op, argument)])


def _units(repeated: list[Any]) -> list[str]:
    """Short texts of which a repetition takes many."""
    if len(repeated) == 1 and repeated[0][0] in (ops.IN, ops.ANY, ops.NOT_LITERAL):
        return [char for char in _SAMPLE_CHARACTERS if _matches(repeated[0], char)] or ["a"]
    return [sample(repeated) or "a"]


def sample(items: list[Any]) -> str:
    """A short text that these parts of a pattern match."""
    made = ""
    for op, argument in items:
        if op is ops.LITERAL:
            made += chr(argument)
        elif op in (ops.IN, ops.ANY, ops.NOT_LITERAL):
            made += next(
                (char for char in _SAMPLE_CHARACTERS if _matches((op, argument), char)), "a"
            )
        elif op in _REPEATS:
            low, _, inner = argument
            made += sample(list(inner)) * max(low, 0 if low == 0 else 1)
        elif op is ops.SUBPATTERN:
            made += sample(list(argument[3]))
        elif op is ops.BRANCH:
            made += sample(list(argument[1][0]))
        elif op is ops.ATOMIC_GROUP:
            made += sample(list(argument))
    return made


def _matches(item: tuple[Any, Any], char: str) -> bool:
    op, argument = item
    if op is ops.ANY:
        return True
    if op is ops.NOT_LITERAL:
        return bool(ord(char) != argument)
    negated = argument[0][0] is ops.NEGATE
    return bool(negated) != any(_is_in(each, char) for each in argument)


_CATEGORIES = {
    ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_NOT_DIGIT: r"\D", ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S", ops.CATEGORY_WORD: r"\w", ops.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _is_in(member: tuple[Any, Any], char: str) -> bool:
    op, argument = member
    if op is ops.LITERAL:
        return ord(char) == int(argument)
    if op is ops.RANGE:
        return int(argument[0]) <= ord(char) <= int(argument[1])
    if op is ops.CATEGORY:
        return re.fullmatch(_CATEGORIES[argument], char) is not None
    return False
