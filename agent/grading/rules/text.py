"""Words and sentences of an answer, as the rules count them; without NLTK's trained models.

A sentence ends with ``.``, ``!`` or ``?`` before white space or punctuation, but not after usual
abbreviations and initials, which are a list. Tokens follow the Penn Treebank.
"""

import re
import string
from functools import cache
from pathlib import Path

import yaml

PUNCTUATION = string.punctuation

_WORD = re.compile(r"\w+")
_END = re.compile(r"""(?<![.!?])[.!?]++(?=[\s"'”’)\]}(\[{;:*@])""")
_CLOSING = re.compile(r"""["'”’)\]}]++(?=\s|$|--)""")
_LONGEST_ABBREVIATION = 12
_TOKEN = re.compile(r"\w+(?:[-./'’]\w+|,\d\w*)*|[^\w\s]")
_CONTRACTION = re.compile(r"(.+)('(?:s|re|ve|ll|d|m))", re.IGNORECASE)
_WITHOUT_PUNCTUATION = str.maketrans("", "", PUNCTUATION)


def sentences(text: str) -> list[str]:
    """Split a text into sentences, without the white space around them."""
    found, start = [], 0
    for end in _END.finditer(text):
        if not _goes_on(text, end):
            closing = _CLOSING.match(text, end.end())
            stop = closing.end() if closing else end.end()
            found.append(text[start:stop].strip())
            start = stop
    return [each for each in (*found, text[start:].strip()) if each]


def words(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores."""
    return _WORD.findall(text)


def plain_words(text: str) -> list[str]:
    """Return the words between white space, without ASCII punctuation anywhere in them."""
    return without_punctuation(text).split()


def without_punctuation(text: str) -> str:
    """Return a text without ASCII punctuation."""
    return text.translate(_WITHOUT_PUNCTUATION)


def bare(word: str) -> str:
    """Return a word without ASCII punctuation and spaces at its ends."""
    return word.strip(PUNCTUATION + " ")


def tokens(text: str) -> list[str]:
    """Return words, parts of contractions and punctuation marks."""
    return [part for token in _TOKEN.findall(text) for part in _parts(token)]


def _parts(token: str) -> tuple[str, ...]:
    lower = token.lower()
    if lower == "cannot":
        return token[:3], token[3:]
    if lower.endswith("n't") and len(token) > 3:
        return token[:-3], token[-3:]
    match = _CONTRACTION.fullmatch(token)
    return (match[1], match[2]) if match else (token,)


def _goes_on(text: str, end: "re.Match[str]") -> bool:
    """Return whether a full stop does not end a sentence."""
    if not end[0].startswith("."):
        return False
    if end[0].startswith(".."):
        following = text[end.end() :].lstrip()[:1] if end.end() < len(text) else ""
        return following.islower()
    before = text[max(0, end.start() - _LONGEST_ABBREVIATION) : end.start()].split()
    last = before[-1].lstrip("(\"'[“‘") if before and not text[end.start() - 1].isspace() else ""
    return last.lower() in words_of("abbreviations") or (
        len(last) == 1 and last.isupper() and last != "I"
    )


@cache
def words_of(name: str) -> tuple[str, ...]:
    """Return a list of words by its name."""
    return _lists()[name]


@cache
def _lists() -> dict[str, tuple[str, ...]]:
    text = Path(__file__).with_name("words.yaml").read_text(encoding="utf-8")
    return {name: tuple(words.split()) for name, words in yaml.safe_load(text).items()}
