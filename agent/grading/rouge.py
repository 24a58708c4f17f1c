"""ROUGE-L: similarity of two texts by their longest common subsequence of words."""

import re

MAX_WORDS = 16_384
"""Maximum number of words compared in each text; further words count as wrong."""

# A number with its sign is one word; scripts without spaces are split into characters.
_WORD = re.compile(
    r"(?<!\w)-?\d+(?:[.,]\d+)*|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W\u3040-\u30ff\u3400-\u9fff]+"
)


def rouge_l(answer: str, truth: str) -> float:
    """Return the F-measure of the longest common subsequence of words, ignoring case."""
    answer_words, truth_words = (_WORD.findall(text.casefold()) for text in (answer, truth))
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
