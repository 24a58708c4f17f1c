"""The rule about syllables, which the package syllapy counts."""

import itertools
from functools import cache
from importlib import import_module

from agent.grading.rules.text import plain_words


def odd_even_syllables(text: str) -> bool:
    """Words with odd and even numbers of syllables alternate."""
    odd = [_count(word) % 2 for word in plain_words(text.lower())]
    return all(one != other for one, other in itertools.pairwise(odd))


@cache
def _syllapy() -> object:
    return import_module("syllapy")


def _count(word: str) -> int:
    count: int = _syllapy().count(word)  # type: ignore[attr-defined]
    return count
