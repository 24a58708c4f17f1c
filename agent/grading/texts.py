"""Comparisons of texts: the same, contained, the same lines, common words."""

import re
from collections import Counter

from agent.grading.final_answer import final_answer, strip_markup

MAX_TEXT_CHARS = 65_536
"""Maximum length of an answer that is compared as a text, in characters."""

_WORD = re.compile(r"-?\d+(?:[.,]\d+)*|[^\W\d_]+")
_MAX_WORDS = 16_384


def normalized(text: str) -> str:
    """Return a text without markup, case, extra spaces and a final full stop."""
    return " ".join(strip_markup(strip_markup(text).removesuffix(".")).casefold().split())


def is_same(answer: str, truth: str) -> bool:
    """Return whether an answer is the same text, as a whole or as its final answer."""
    return normalized(truth) in (normalized(answer), normalized(final_answer(answer).text))


def is_contained(answer: str, truth: str) -> bool:
    """Return whether an answer has a text in it as whole words, ignoring case and spaces."""
    wanted, found = (" ".join(text.casefold().split()) for text in (truth, answer))
    return bool(re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", found))


def is_verbatim(answer: str, truth: str) -> bool:
    """Return whether an answer is the same text but for white space around its lines."""
    return _stripped_lines(answer) == _stripped_lines(truth)


def f1(answer: str, truth: str) -> float:
    """Return the F1 of the words, each counted as often as it occurs (as in SQuAD)."""
    found, wanted = (
        Counter(_WORD.findall(text.casefold())[:_MAX_WORDS]) for text in (answer, truth)
    )
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total()) if common else 0.0


def _stripped_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.removeprefix("\ufeff").strip().splitlines()]
