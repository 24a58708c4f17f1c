"""Word diff of similar lines; makes invisible characters visible."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

MAX_LINE_LENGTH = 1000
"""Maximum characters shown of a line."""

_LEADING_CONTEXT = 80
_MIN_SIMILARITY = 0.4
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_WORDS = 400
_SEARCH_LINES = 8
_INVISIBLE_CHARACTERS = str.maketrans(
    {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}
    | {0x7F: "␡"}
    | {
        code: f"⟨U+{code:04X}⟩"
        for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
    }
)

Parts = list[str]


@dataclass(frozen=True, slots=True)
class LinePair:
    """A line before and after a change, in alternating equal and differing parts.

    ``before`` is None for an added line, ``after`` for a removed one.
    """

    before: Parts | None
    after: Parts | None


def show_invisible(line: str) -> str:
    """Return a line without terminator; invisible characters are named."""
    return line.removesuffix("\n").translate(_INVISIBLE_CHARACTERS)


def clip_line(line: str) -> str:
    """Return the start of a line and the length of the rest."""
    if len(line) <= MAX_LINE_LENGTH:
        return show_invisible(line)
    return f"{show_invisible(line[:MAX_LINE_LENGTH])}… ({len(line) - MAX_LINE_LENGTH:,} more)"


class LineMatcher:
    """Matches removed lines to similar added ones, within a budget per file."""

    def __init__(self, budget: int = 4_000_000) -> None:
        self._left = budget

    def match(self, removed: list[str], added: list[str]) -> Iterator[LinePair]:
        """Yield all lines of one block in order, each once."""
        at = 0
        for line in removed:
            found = self._find_similar(line, added, at, same=len(removed) == len(added))
            if found is None:
                yield LinePair([clip_line(line)], None)
                continue
            place, pair = found
            yield from (LinePair(None, [clip_line(each)]) for each in added[at:place])
            yield pair
            at = place + 1
        yield from (LinePair(None, [clip_line(each)]) for each in added[at:])

    def _find_similar(
        self, line: str, added: list[str], at: int, *, same: bool
    ) -> tuple[int, LinePair] | None:
        for place in range(at, min(at + (1 if same else _SEARCH_LINES), len(added))):
            pair = self._compare(line, added[place])
            if pair:
                return place, pair
        return None

    def _compare(self, before: str, after: str) -> LinePair | None:
        seen = _difference_windows(before, after)
        pair = self._diff_words(*(_WORDS.findall(text) for text in seen))
        if pair is None and max(len(before), len(after)) > MAX_LINE_LENGTH:
            return LinePair([show_invisible(seen[0])], [show_invisible(seen[1])])
        return pair

    def _diff_words(self, one: list[str], other: list[str]) -> LinePair | None:
        self._left -= len(one) * len(other)
        if self._left < 0 or max(len(one), len(other)) > _MAX_WORDS:
            return None
        matcher = SequenceMatcher(None, one, other, autojunk=False)
        if matcher.real_quick_ratio() < _MIN_SIMILARITY or matcher.quick_ratio() < _MIN_SIMILARITY:
            return None
        matched = matcher.get_matching_blocks()
        same = sum(len(word) for a, _, size in matched for word in one[a : a + size])
        whole = max(sum(map(len, one)), sum(map(len, other)))
        if whole and same / whole < _MIN_SIMILARITY:
            return None
        return LinePair(
            _alternating_parts(one, [(a, a + size) for a, _, size in matched]),
            _alternating_parts(other, [(b, b + size) for _, b, size in matched]),
        )


def _alternating_parts(words: list[str], same: list[tuple[int, int]]) -> Parts:
    """Return alternating equal and differing parts, starting with equal."""
    parts: Parts = []
    at = 0
    for begin, end in same:
        if begin > at or not parts:
            parts += ["".join(words[at:begin])] if parts else ["", "".join(words[at:begin])]
            parts.append("")
        parts[-1] += "".join(words[begin:end])
        at = end
    return [show_invisible(part) for part in _strip_empty(parts)]


def _strip_empty(parts: Parts) -> Parts:
    """Remove empty parts at the start and the end."""
    if len(parts) > 2 and not parts[1]:
        parts = [parts[0] + parts[2], *parts[3:]]
    while len(parts) > 1 and not parts[-1]:
        parts = parts[:-1]
    return parts


def _difference_windows(before: str, after: str) -> tuple[str, str]:
    """Return the compared and shown parts of two lines: near the first difference."""
    if max(len(before), len(after)) <= MAX_LINE_LENGTH:
        return before, after
    pairs = zip_longest(before, after)
    differs = next((at for at, (a, b) in enumerate(pairs) if a != b), 0)
    first = max(0, differs - _LEADING_CONTEXT)
    return _window(before, first), _window(after, first)


def _window(line: str, first: int) -> str:
    lead = "… " if first else ""
    tail = " …" if len(line) > first + MAX_LINE_LENGTH else ""
    return f"{lead}{line[first : first + MAX_LINE_LENGTH]}{tail}"
