"""Comparisons of texts: the same, contained, the same lines, common words."""

import re
from collections import Counter

from agent.grading.final_answer import final_answer, strip_markup

MAX_TEXT_CHARS = 65_536  # of an answer that is compared as a text
MAX_WORDS = 16_384  # compared in each text

_WORD = re.compile(r"-?\d+(?:[.,]\d+)*|[^\W\d_]+")
# A number with its sign is one word; scripts without spaces are split into characters.
_ROUGE_WORD = re.compile(
    r"(?<!\w)-?\d+(?:[.,]\d+)*|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W\u3040-\u30ff\u3400-\u9fff]+"
)


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
        Counter(_WORD.findall(text.casefold())[:MAX_WORDS]) for text in (answer, truth)
    )
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total()) if common else 0.0


def _stripped_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.removeprefix("\ufeff").strip().splitlines()]


def rouge_l(answer: str, truth: str) -> float:
    """Return the F-measure of the longest common subsequence of words, ignoring case."""
    answer_words, truth_words = (_ROUGE_WORD.findall(text.casefold()) for text in (answer, truth))
    if not answer_words or not truth_words:
        return 0.0
    common = _lcs_length(answer_words[:MAX_WORDS], truth_words[:MAX_WORDS])
    return 2 * common / (len(answer_words) + len(truth_words))


def _lcs_length(first: list[str], second: list[str]) -> int:
    """Return the LCS length, by Hyyrö's bit-parallel algorithm, in linear memory."""
    positions: dict[str, int] = {}
    for place, word in enumerate(first):
        positions[word] = positions.get(word, 0) | 1 << place
    everywhere = (1 << len(first)) - 1
    row = everywhere
    for word in second:
        hits = row & positions.get(word, 0)
        row = ((row + hits) | (row - hits)) & everywhere
    return len(first) - row.bit_count()
