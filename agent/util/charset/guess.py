"""The character encoding of text that carries no byte order mark."""

import codecs
import locale
from collections.abc import Sequence
from dataclasses import dataclass

_CONTEXT_BYTES = 128 * 1024
_SAMPLE_BYTES = 8 * 1024
_CANDIDATES = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r",
    "gb18030", "big5", "cp932", "euc_jp", "cp949", "cp874", "mac_roman", "cp437", "cp850",
]  # fmt: skip
_CLEARLY = 2.5  # difference of scores
_MIN_STATISTICS_BYTES = 400
"""Number of non-ASCII bytes below which ``charset_normalizer``'s statistics are unreliable."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A guessed encoding, Python's name of it; ``assumed`` if the text is too short to tell."""

    encoding: str
    assumed: bool = False


def guess_encoding(content: bytes, near: int = 0, languages: Sequence[str] = ()) -> Guess:
    """Guess the encoding of text that is not valid UTF-8, near an invalid byte.

    ``languages``, tags such as ``zh-TW``, best first, decide for short texts. Returns ``utf-8`` if
    only a few bytes are invalid, and ``cp1252`` if nothing fits better.
    """
    from agent.util.charset.short_text import plausible_readings  # few files need it

    sample = content[max(0, near - _CONTEXT_BYTES) : near + _CONTEXT_BYTES]
    plain = sample.decode("utf-8", "replace")
    if sum(char > "\x7f" for char in plain) > 2 * plain.count("�"):
        return Guess("utf-8")
    odd = next((at for at, byte in enumerate(sample) if byte > 0x7F), 0)
    begin = max(0, odd - _SAMPLE_BYTES // 4)
    sample = sample[begin : begin + _SAMPLE_BYTES]
    if sum(byte > 0x7F for byte in sample) > _MIN_STATISTICS_BYTES:
        return Guess(_detect(sample))
    readings = plausible_readings(sample, languages)
    if not readings:
        return Guess(_detect(sample), assumed=True)
    best, *others = readings
    near_ones = [each for each in others if each.score > best.score - _CLEARLY]
    return Guess(
        normalize_encoding(best.encoding), assumed=any(each.text != best.text for each in near_ones)
    )


def system_languages() -> list[str]:
    """Return the language of this process's locale as a tag, if it has one."""
    name = locale.getlocale(locale.LC_CTYPE)[0]
    return [] if name in (None, "C", "POSIX") else [str(name).replace("_", "-")]


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


def _detect(sample: bytes) -> str:
    from charset_normalizer import from_bytes  # few files need it

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
