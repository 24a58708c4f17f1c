"""ROUGE-L: how much of two texts is the same words in the same order."""

import re

MOST_WORDS = 16_384
"""Words of each text that are looked at; the rest counts as wrong ones."""

# A number is one word with its sign; scripts without spaces count by characters.
_WORD = re.compile(
    r"(?<!\w)-?\d+(?:[.,]\d+)*|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W\u3040-\u30ff\u3400-\u9fff]+"
)


def rouge_l(answer: str, truth: str) -> float:
    """The F measure of the longest common subsequence of words, without regard to case.

    Returns:
        From 0, nothing in common, to 1, the same words in the same order.
    """
    said, wanted = (_WORD.findall(text.casefold()) for text in (answer, truth))
    if not said or not wanted:
        return 0.0
    common = _common(said[:MOST_WORDS], wanted[:MOST_WORDS])
    return 2 * common / (len(said) + len(wanted))


def _common(first: list[str], second: list[str]) -> int:
    """The length of the longest common subsequence, by Hyyrö's bits: linear in memory."""
    places: dict[str, int] = {}
    for place, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << place
    everywhere = (1 << len(first)) - 1
    row = everywhere
    for word in second:
        hits = row & places.get(word, 0)
        row = ((row + hits) | (row - hits)) & everywhere
    return len(first) - row.bit_count()
