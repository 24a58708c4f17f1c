"""The character encoding of text that carries no byte order mark."""

import codecs
import re

from charset_normalizer import from_bytes

_CONTEXT_BYTES = 128 * 1024
_SAMPLE_BYTES = 8 * 1024
_CANDIDATES = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r",
    "gb18030", "big5", "cp932", "euc_jp", "cp949", "cp874", "mac_roman", "cp437", "cp850",
]  # fmt: skip
_CYRILLIC = ("cp1251", "koi8_r", "cp866")
_WORD = re.compile(r"[^\W\d_]+")
_CYRILLIC_WORD = re.compile("[А-ЯЁ]?[а-яё]+|[А-ЯЁ]+")
_CYRILLIC_VOWEL = re.compile("[аеёиоуыэюя]", re.IGNORECASE)
_VOWEL_RATIO = (0.25, 0.6)
_MIN_STATISTICS_BYTES = 400
"""Number of non-ASCII bytes below which ``charset_normalizer``'s statistics are unreliable."""


def guess_encoding(content: bytes, near: int = 0) -> str:
    """Guess the encoding of text that is not valid UTF-8.

    Args:
        content: The text.
        near: Position of an invalid byte; the bytes around it are examined.

    Returns:
        Python's name of the encoding: ``utf-8`` if only a few bytes are invalid, and
        ``cp1252`` if no other encoding fits better.
    """
    sample = content[max(0, near - _CONTEXT_BYTES) : near + _CONTEXT_BYTES]
    plain = sample.decode("utf-8", "replace")
    if sum(char > "\x7f" for char in plain) > 2 * plain.count("�"):
        return "utf-8"
    odd = next((at for at, byte in enumerate(sample) if byte > 0x7F), 0)
    begin = max(0, odd - _SAMPLE_BYTES // 4)
    sample = sample[begin : begin + _SAMPLE_BYTES]
    return _short_cyrillic(sample) or _detect(sample)


def normalize_encoding(encoding: str) -> str:
    """Return Python's name of a text encoding; empty if there is none."""
    try:
        if "\n".encode(encoding).strip(b"\0") != b"\n":
            return ""
        name = codecs.lookup(encoding).name
        return "utf-8" if name == "utf-8-sig" else name
    except (LookupError, UnicodeError, TypeError, ValueError):
        return ""


def encoding_label(encoding: str) -> str:
    """Return the name that most programs use for an encoding."""
    return encoding.replace("_", "-").replace("cp125", "windows-125")


def _short_cyrillic(sample: bytes) -> str:
    """Return the encoding that makes a short sample Cyrillic words; empty if none.

    Western text mixes non-ASCII with ASCII letters in one word; other alphabets violate the
    rules of upper case or have too few vowels.
    """
    if sum(byte > 0x7F for byte in sample) > _MIN_STATISTICS_BYTES:
        return ""
    readings = ((_cyrillic_score(sample, encoding), encoding) for encoding in _CYRILLIC)
    most, encoding = max(readings, key=lambda reading: reading[0])
    return encoding if most else ""


def _cyrillic_score(sample: bytes, encoding: str) -> int:
    """Return 1 plus the number of lower-case letters of Cyrillic words, else 0."""
    try:
        words = [word for word in _WORD.findall(sample.decode(encoding)) if not word.isascii()]
    except UnicodeDecodeError:
        return 0
    letters = "".join(words)
    if not all(map(_CYRILLIC_WORD.fullmatch, words)) or max(map(len, words), default=0) < 3:
        return 0
    few, many = _VOWEL_RATIO
    if not few <= len(_CYRILLIC_VOWEL.findall(letters)) / len(letters) <= many:
        return 0
    return 1 + sum(map(str.islower, letters))


def _detect(sample: bytes) -> str:
    found = from_bytes(sample, cp_isolation=_CANDIDATES)
    best = found.best()
    if best is None:
        return "cp1252"
    western = [
        each
        for each in found
        if {"cp1252", "latin_1"} & {each.encoding, *each.could_be_from_charset}
    ]
    if any(each.chaos <= best.chaos for each in western):
        return "cp1252"
    return normalize_encoding(best.encoding) or "cp1252"
