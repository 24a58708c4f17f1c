"""Worst-case texts for a regular expression, generated from its own parts.

For each repetition in a pattern, the text repeats what it matches, after a match of the preceding
parts and before something that makes the match fail, which makes a backtracking engine retry.
"""

import re
import re._constants as ops  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import time
from collections.abc import Callable, Iterator
from typing import Any

_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_MIN_REPEATS = 50
"""Repetitions with a smaller maximum are harmless."""

_SAMPLE_CHARACTERS = "aA1 \t\n-_.,:;=/\\\"'<>[]{}()&#*+?!|$%^~@\u00e9\u3042\x1b\x9b"


def worst_case_texts(pattern: "re.Pattern[Any]", count: int) -> Iterator[str]:
    """Yield texts with repeated parts of length ``count``, at least one per repetition."""
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
    """Return how many times longer ``large`` takes than ``small``; 0 if it is very fast.

    The CPU time of this thread is measured, which does not depend on other processes.
    """
    seconds = _cpu_seconds(function, large)
    if seconds < 0.02:
        return 0
    seconds = (
        min(seconds, *(_cpu_seconds(function, large) for _ in range(2))) if seconds < 1 else seconds
    )
    return seconds / max(min(_cpu_seconds(function, small) for _ in range(3)), 1e-6)


def _cpu_seconds(function: Callable[[Any], object], text: Any) -> float:
    start_time = time.thread_time()
    function(text)
    return time.thread_time() - start_time


def _source(pattern: "re.Pattern[Any]") -> str:
    source = pattern.pattern
    return source.decode("latin-1") if isinstance(source, bytes) else str(source)


def _repetitions(items: list[Any], before: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield each repetition's preceding text, and the parts that it repeats."""
    for op, argument in items:
        if op in _REPEATS:
            _, high, inner = argument
            if high == ops.MAXREPEAT or high >= _MIN_REPEATS:
                yield before, list(inner)
            yield from _repetitions(list(inner), before)
        elif op is ops.SUBPATTERN:
            yield from _repetitions(list(argument[3]), before)
        elif op is ops.BRANCH:
            for branch in argument[1]:
                yield from _repetitions(list(branch), before)
        elif op is ops.ATOMIC_GROUP:
            yield from _repetitions(list(argument), before)
        before += sample([(op, argument)])


def _units(repeated: list[Any]) -> list[str]:
    """Return short texts that a repetition matches many times."""
    if len(repeated) == 1 and repeated[0][0] in (ops.IN, ops.ANY, ops.NOT_LITERAL):
        return [char for char in _SAMPLE_CHARACTERS if _matches(repeated[0], char)] or ["a"]
    return [sample(repeated) or "a"]


def sample(items: list[Any]) -> str:
    """Return a short text that these parts of a pattern match."""
    text = ""
    for op, argument in items:
        if op is ops.LITERAL:
            text += chr(argument)
        elif op in (ops.IN, ops.ANY, ops.NOT_LITERAL):
            text += next(
                (char for char in _SAMPLE_CHARACTERS if _matches((op, argument), char)), "a"
            )
        elif op in _REPEATS:
            low, _, inner = argument
            text += sample(list(inner)) * max(low, 0 if low == 0 else 1)
        elif op is ops.SUBPATTERN:
            text += sample(list(argument[3]))
        elif op is ops.BRANCH:
            text += sample(list(argument[1][0]))
        elif op is ops.ATOMIC_GROUP:
            text += sample(list(argument))
    return text


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
