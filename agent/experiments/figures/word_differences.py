"""Differences between two texts, word by word."""

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

Part = tuple[Literal["same", "added", "removed"], str]
MAX_WORDS = 1_500  # that are compared in each text; the rest is one difference
_WORD = re.compile(r"\S+\s*")


@lru_cache(maxsize=256)
def word_differences(baseline: str, text: str) -> tuple[Part, ...]:
    """Return how a text differs from the baseline's, as parts in reading order.

    Joined without the removed parts they are the text; without the added ones, the baseline's.
    """
    before, after = _words(baseline), _words(text)
    matcher = SequenceMatcher(None, _keys(before), _keys(after), autojunk=False)
    parts = list[Part]()
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal":
            parts.append(("same", "".join(after[start:end])))
            continue
        if last > first:
            parts.append(("removed", "".join(before[first:last])))
        if end > start:
            parts.append(("added", "".join(after[start:end])))
    return tuple(parts)


def _words(text: str) -> list[str]:
    """Return the words with the white space after them; further words are one."""
    words = _WORD.findall(text)
    before = text[: len(text) - sum(map(len, words))]
    if len(words) > MAX_WORDS:
        words = [*words[:MAX_WORDS], "".join(words[MAX_WORDS:])]
    return [before, *words] if before else words


def _keys(words: list[str]) -> list[str]:
    return [word.strip() for word in words]
