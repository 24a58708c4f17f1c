"""Rules about single words and the words of sentences."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from string import ascii_lowercase

from agent.grading.rules.text import (
    PUNCTUATION,
    bare,
    plain_words,
    sentences,
    tokens,
    words_of,
)

_CLUSTER = re.compile(r"[bcdfghjklmnpqrstvwxyz]{2}")
_PRIMES = frozenset(each for each in range(2, 100) if all(each % by for by in range(2, each)))
_MIN_PALINDROMES, _MIN_PALINDROME_LENGTH = 10, 5
_MAX_VOWELS = 3
_ENDINGS = {"s": ("",), "es": ("",), "ies": ("y",), "ed": ("", "e"), "ied": ("y",),
            "ing": ("", "e")}  # fmt: skip


def alphabet(text: str) -> bool:
    """Each word begins with the letter after that of the word before; A follows Z."""
    found = plain_words(text.lower())
    if not found or found[0][0] not in ascii_lowercase:
        return False
    first = ascii_lowercase.index(found[0][0])
    return all(word[0] == ascii_lowercase[(first + place) % 26] for place, word in enumerate(found))


def vowel(text: str) -> bool:
    """One paragraph with at most three of the five vowels."""
    return "\n" not in text.strip() and len(set("aeiou") & set(text.lower())) <= _MAX_VOWELS


def consonants(text: str) -> bool:
    """Each word has two consonants in a row."""
    return all(_CLUSTER.search(word) for word in text.lower().split())


def palindrome(text: str) -> bool:
    """At least ten words of five letters or more are palindromes."""
    found = [word for word in plain_words(text.lower()) if len(word) >= _MIN_PALINDROME_LENGTH]
    return sum(word == word[::-1] for word in found) >= _MIN_PALINDROMES


def prime_lengths(text: str) -> bool:
    """The length of each word is a prime number."""
    return all(len(word) in _PRIMES for word in plain_words(text))


def repeats(text: str, small_n: int) -> bool:
    """No word occurs more often than this."""
    return max(Counter(plain_words(text.lower())).values(), default=0) <= small_n


def no_consecutive(text: str) -> bool:
    """No two words in a row begin with the same letter."""
    found = plain_words(text.lower())
    return all(one[0] != other[0] for one, other in itertools.pairwise(found))


def last_first(text: str) -> bool:
    """Each sentence begins with the last word of the one before."""
    found = sentences(text)
    for one, other in itertools.pairwise(found):
        last = one.rstrip(PUNCTUATION + " ").lower().split()
        first = other.lstrip(PUNCTUATION + " ").lower().split()
        if not last or not first or last[-1] != first[0]:
            return False
    return True


def paragraph_last_first(text: str) -> bool:
    """Each paragraph ends with the word with which it begins."""
    found = [bare(line.strip().lower()).split() for line in text.split("\n")]
    return all(not line or line[0] == line[-1] for line in found)


def keywords_specific_position(text: str, keyword: str, n: int, m: int) -> bool:
    """The mth word of the nth sentence is this one."""
    found = sentences(text)
    inside = _words(found[n - 1]) if len(found) >= n else []
    return len(inside) >= m and inside[m - 1].lower() == keyword.strip().lower()


def words_position(text: str, keyword: str) -> bool:
    """The second word and the last but one are this one."""
    found = _words(text)
    return len(found) > 1 and {found[1].lower(), found[-2].lower()} == {keyword.strip().lower()}


def sentence_keyword(text: str, word: str, N: int) -> bool:
    """The Nth sentence contains this word."""
    found = sentences(text)
    pattern = rf"\b{re.escape(word)}\b"
    return len(found) >= N and bool(re.search(pattern, found[N - 1], re.IGNORECASE))


def sentence_increment(text: str, small_n: int) -> bool:
    """Each sentence has exactly so many more words than the one before."""
    lengths = [len(plain_words(sentence)) for sentence in sentences(text)]
    return all(other == one + small_n for one, other in itertools.pairwise(lengths))


def alliteration_increment(text: str) -> bool:
    """Each sentence has more alliterating words in a row than the one before."""
    lengths = [_alliterating(sentence) for sentence in sentences(text)]
    return all(one < other for one, other in itertools.pairwise(lengths))


def sentence_words(text: str) -> bool:
    """Three sentences of the same length in characters, without a word twice."""
    found = sentences(text)
    counts = Counter(plain_words(" ".join(found).lower()))
    same = len({len(sentence) for sentence in found}) == 1
    return len(found) == 3 and same and max(counts.values(), default=0) <= 1


def sentence_alphabet(text: str) -> bool:
    """26 sentences, which begin with the letters from A to Z."""
    firsts = [sentence.lstrip(PUNCTUATION + " \n\t")[:1].lower() for sentence in sentences(text)]
    return firsts == list(ascii_lowercase)


def title_case(text: str) -> bool:
    """Words begin with a capital; a word in mixed case counts as a name."""
    return not any(
        word[0].isalpha()
        and word[0].islower()
        and (not (end := word[1:]) or end.islower() or end.isupper())
        for word in tokens(text)
    )


def _words(text: str) -> list[str]:
    return [token for token in tokens(text) if any(sign.isalnum() for sign in token)]


def _alliterating(sentence: str) -> int:
    """Return the number of words that begin as a neighbour does."""
    found = [word.lstrip(PUNCTUATION + " ") for word in sentence.lower().split()]
    firsts = [word[0] for word in found if word]
    same = [one == other for one, other in itertools.pairwise(firsts)]
    return sum(same) + sum(
        now and not before for now, before in zip(same, [False, *same], strict=False)
    )


def odd_even_syllables(text: str) -> bool:
    """Words with odd and even numbers of syllables alternate."""
    odd = [_count(word) % 2 for word in plain_words(text.lower())]
    return all(one != other for one, other in itertools.pairwise(odd))


def _count(word: str) -> int:
    import syllapy  # reads its dictionary

    count: int = syllapy.count(word)
    return count


def start_verb(text: str) -> bool:
    """The first word is a form of a listed verb, and the next word does not make it a noun."""
    found = [token for token in tokens(text.lower()) if any(map(str.isalnum, token))]
    if not found or not _is_verb(found[0]):
        return False
    follows_noun = len(found) > 1 and found[1] in words_of("after_nouns")
    return found[0] not in words_of("verbs") or not follows_noun


def _is_verb(word: str) -> bool:
    if word in words_of("verb_forms"):
        return True
    return any(stem in words_of("verbs") for stem in _stems(word))


def _stems(word: str) -> Iterator[str]:
    """Yield what a word may be a regular form of, and the word itself."""
    yield word
    for ending, replacements in _ENDINGS.items():
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stem = word.removesuffix(ending)
            yield from (stem + each for each in replacements)
            if ending in ("ing", "ed") and stem[-1] == stem[-2:-1]:
                yield stem[:-1]
