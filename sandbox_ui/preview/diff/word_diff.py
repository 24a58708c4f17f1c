"""Word diff of similar lines; makes invisible characters visible."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

WIDTH = 1000
"""Maximum characters shown of a line."""

_BEFORE = 80
_LIKE = 0.4
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_WORDS = 400
_WINDOW = 8
_UNSEEN = str.maketrans(
    {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}
    | {0x7F: "␡"}
    | {
        code: f"⟨U+{code:04X}⟩"
        for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
    }
)

Parts = list[str]


@dataclass(frozen=True, slots=True)
class Pair:
    """A line before and after a change, in alternating equal and differing parts.

    ``before`` is None for an added line, ``after`` for a removed one.
    """

    before: Parts | None
    after: Parts | None


def visible(line: str) -> str:
    """Return a line without terminator; invisible characters are named."""
    return line.removesuffix("\n").translate(_UNSEEN)


def clipped(line: str) -> str:
    """Return the start of a line and the length of the rest."""
    if len(line) <= WIDTH:
        return visible(line)
    return f"{visible(line[:WIDTH])}… ({len(line) - WIDTH:,} more)"


class Pairs:
    """Matches removed lines to similar added ones, within a budget per file."""

    def __init__(self, budget: int = 4_000_000) -> None:
        self._left = budget

    def of(self, removed: list[str], added: list[str]) -> Iterator[Pair]:
        """Yield all lines of one block in order, each once."""
        at = 0
        for line in removed:
            found = self._partner(line, added, at, same=len(removed) == len(added))
            if found is None:
                yield Pair([clipped(line)], None)
                continue
            place, pair = found
            yield from (Pair(None, [clipped(each)]) for each in added[at:place])
            yield pair
            at = place + 1
        yield from (Pair(None, [clipped(each)]) for each in added[at:])

    def _partner(
        self, line: str, added: list[str], at: int, *, same: bool
    ) -> tuple[int, Pair] | None:
        for place in range(at, min(at + (1 if same else _WINDOW), len(added))):
            pair = self._compared(line, added[place])
            if pair:
                return place, pair
        return None

    def _compared(self, before: str, after: str) -> Pair | None:
        seen = _windows(before, after)
        pair = self._matched(*(_WORDS.findall(text) for text in seen))
        if pair is None and max(len(before), len(after)) > WIDTH:
            return Pair([visible(seen[0])], [visible(seen[1])])
        return pair

    def _matched(self, one: list[str], other: list[str]) -> Pair | None:
        self._left -= len(one) * len(other)
        if self._left < 0 or max(len(one), len(other)) > _MOST_WORDS:
            return None
        matcher = SequenceMatcher(None, one, other, autojunk=False)
        if matcher.real_quick_ratio() < _LIKE or matcher.quick_ratio() < _LIKE:
            return None
        matched = matcher.get_matching_blocks()
        same = sum(len(word) for a, _, size in matched for word in one[a : a + size])
        whole = max(sum(map(len, one)), sum(map(len, other)))
        if whole and same / whole < _LIKE:
            return None
        return Pair(
            _cut(one, [(a, a + size) for a, _, size in matched]),
            _cut(other, [(b, b + size) for _, b, size in matched]),
        )


def _cut(words: list[str], same: list[tuple[int, int]]) -> Parts:
    """Return alternating equal and differing parts, starting with equal."""
    parts: Parts = []
    at = 0
    for begin, end in same:
        if begin > at or not parts:
            parts += ["".join(words[at:begin])] if parts else ["", "".join(words[at:begin])]
            parts.append("")
        parts[-1] += "".join(words[begin:end])
        at = end
    return [visible(part) for part in _tidied(parts)]


def _tidied(parts: Parts) -> Parts:
    """Remove empty parts at the start and the end."""
    if len(parts) > 2 and not parts[1]:
        parts = [parts[0] + parts[2], *parts[3:]]
    while len(parts) > 1 and not parts[-1]:
        parts = parts[:-1]
    return parts


def _windows(before: str, after: str) -> tuple[str, str]:
    """Return the compared and shown parts of two lines: near the first difference."""
    if max(len(before), len(after)) <= WIDTH:
        return before, after
    pairs = zip_longest(before, after)
    differs = next((at for at, (a, b) in enumerate(pairs) if a != b), 0)
    first = max(0, differs - _BEFORE)
    return _window(before, first), _window(after, first)


def _window(line: str, first: int) -> str:
    lead = "… " if first else ""
    tail = " …" if len(line) > first + WIDTH else ""
    return f"{lead}{line[first : first + WIDTH]}{tail}"
