"""Rules that count: words, numbers, names, marks, and their shares."""

import re
from collections.abc import Sequence

from agent.grading.rules.text import (
    bare,
    sentences,
    tokens,
    without_punctuation,
    words,
    words_of,
)

_DIGITS = re.compile(r"\d+")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_TIMES = (1, 2, 3, 5, 7)
_OVERLAP_TOLERANCE = 2


def word_count_range(text: str, min_words: int, max_words: int) -> bool:
    """From ``min_words`` to ``max_words`` words."""
    return min_words <= len(words(text)) <= max_words


def unique_word_count(text: str, N: int) -> bool:
    """At least N different words."""
    return len({bare(word) for word in text.lower().split()}) >= N


def conjunctions(text: str, small_n: int) -> bool:
    """At least so many different conjunctions; ``and`` and ``And,`` are two, as in IFBench."""
    known = words_of("conjunctions")
    return len({word for word in text.split() if bare(word).lower() in known}) >= small_n


def person_names(text: str, N: int) -> bool:
    """At least N of the names that the request lists."""
    return sum(bool(re.search(rf"\b{re.escape(x)}\b", text)) for x in words_of("names")) >= N


def numbers(text: str, N: int) -> bool:
    """Exactly N numbers; 3.14 and 100,000 are one each."""
    return len(_DIGITS.findall(without_punctuation(text))) == N


def pronouns(text: str, N: int) -> bool:
    """At least N pronouns; ``she/her`` has two."""
    known = words_of("pronouns")
    return sum(token in known for token in tokens(text.lower().replace("/", " "))) >= N


def punctuation(text: str) -> bool:
    """Every standard punctuation mark, and an interrobang besides."""
    if "!?" not in text and "?!" not in text and "‽" not in text:
        return False
    rest = text.replace("?!", "", 1)
    if rest == text:
        rest = text.replace("!?", "", 1)
    return set(".,!?;:") <= set(rest)


def words_japanese(text: str, N: int) -> bool:
    """Every Nth word has a Japanese character, or is a number."""
    every = [bare(word) for word in text.split()[N - 1 :: N]]
    return all(not word or word.isdigit() or bool(_JAPANESE.search(word)) for word in every)


def keywords_multiple(
    text: str, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str
) -> bool:
    """Five words, exactly once, twice, three, five and seven times."""
    keywords = (keyword1, keyword2, keyword3, keyword4, keyword5)
    return all(
        len(re.findall(rf"\b{re.escape(word.strip())}\b", text, re.IGNORECASE)) == times
        for word, times in zip(keywords, _TIMES, strict=True)
    )


def stop_words(text: str, percentage: float) -> bool:
    """At most this percentage of the words are stop words."""
    found, known = words(text), words_of("stop_words")
    share = sum(word.lower() in known for word in found) / max(1, len(found))
    return bool(found) and share * 100 <= percentage


def overlap(text: str, reference_text: str, percentage: float) -> bool:
    """This percentage of the answer's trigrams, plus or minus 2, occur in the reference."""
    own, reference = _trigrams(tokens(text)), _trigrams(tokens(reference_text))
    share = len(own & reference) / max(1, len(own)) * 100
    return bool(own) and abs(share - percentage) <= _OVERLAP_TOLERANCE


def sentence_type(text: str) -> bool:
    """Twice as many sentences end with a full stop as with a question mark."""
    found = sentences(text)
    return _ending(found, ".") == 2 * _ending(found, "?")


def sentence_balance(text: str) -> bool:
    """As many sentences end with a full stop as with each of the other marks."""
    found = sentences(text)
    return _ending(found, ".") == _ending(found, "?") == _ending(found, "!")


def _ending(found: Sequence[str], mark: str) -> int:
    return sum(sentence.endswith(mark) for sentence in found)


def _trigrams(found: list[str]) -> set[tuple[str, ...]]:
    return set(zip(found, found[1:], found[2:], strict=False))
