"""Comparison of two texts, line by line, in bounded memory."""

import difflib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import BinaryIO

from agent.events import Verdict
from agent.replay.volatile import normalise
from agent.util.text import sanitize, shortened

MAX_DIFF = 4_000
"""Maximum characters of a diff."""

_WINDOW = 200
_CONTEXT = 3
_MAX_SHOWN_LINE = 300
_LINE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class TextComparison:
    """How two texts compare."""

    verdict: Verdict = "same"
    rules: tuple[str, ...] = ()  # their names, if volatile
    diff: str = ""  # lines around the first difference


@dataclass(frozen=True, slots=True)
class Times:
    """When the two texts were written, in seconds since the epoch."""

    recorded: float
    replayed: float


def compare_lines(recorded: Iterable[str], replayed: Iterable[str], times: Times) -> TextComparison:
    """Compare two texts, given as their lines."""
    used: set[str] = set()
    before: deque[str] = deque(maxlen=_CONTEXT)
    one_side, other_side = iter(recorded), iter(replayed)
    for number, (one, other) in enumerate(zip_longest(one_side, other_side), 1):
        if one == other:
            before.append(one or "")
            continue
        first = normalise(one or "", times.recorded)
        second = normalise(other or "", times.replayed)
        if one is None or other is None or first.text != second.text:
            left = [*before, *_rest(one, one_side)]
            right = [*before, *_rest(other, other_side)]
            return TextComparison("differs", diff=_diff(left, right, times, number - len(before)))
        used |= first.rules | second.rules
        before.append(other)
    return TextComparison("volatile", tuple(sorted(used))) if used else TextComparison()


def read_lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a file as text, very long ones in parts."""
    while line := file.readline(_LINE_BYTES):
        yield line.rstrip(b"\n").decode("utf-8", "replace")


def _rest(line: str | None, others: Iterator[str]) -> list[str]:
    return [] if line is None else [line, *islice(others, _WINDOW)]


def _diff(left: list[str], right: list[str], times: Times, first: int) -> str:
    """Return a unified diff of lines, in which volatile parts are placeholders."""
    one = [_shown(line, times.recorded) for line in left]
    two = [_shown(line, times.replayed) for line in right]
    rows = list(difflib.unified_diff(one, two, "recorded", "replayed", lineterm="", n=_CONTEXT))
    if first > 1:
        rows.insert(2, f"(from line {first})")
    text = "\n".join(rows)
    return text if len(text) <= MAX_DIFF else f"{text[:MAX_DIFF]}\n[… more differs …]"


def _shown(line: str, at: float) -> str:
    return shortened(sanitize(normalise(line, at).text), _MAX_SHOWN_LINE)
