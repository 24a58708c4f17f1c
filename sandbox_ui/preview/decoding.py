"""What the bytes of a text mean: its encoding, and how its lines end."""

import codecs
import os
from dataclasses import dataclass
from typing import BinaryIO

from charset_normalizer import from_bytes

SAMPLE = 64 * 1024
"""Bytes of a text's beginning, and of its end, that its encoding is found by."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNITS = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
_GUESSED_FROM = 8 * 1024
_LIKELY = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r",
    "gb18030", "big5", "cp932", "euc_jp", "cp949", "cp874", "mac_roman", "cp437", "cp850",
]  # fmt: skip
_ENDS = frozenset(("lf", "crlf", "cr", "mixed"))
_SURROGATES = range(0xDC00, 0xE000)
_LONGEST_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class Script:
    """How the bytes of a text are read.

    Attributes:
        encoding: Python's name of the encoding.
        ends: How its lines end: ``lf``, ``crlf``, ``cr`` or ``mixed`` (of the first two).
        mark: Bytes of the byte order mark before the text.
    """

    encoding: str
    ends: str = "lf"
    mark: int = 0

    @property
    def unit(self) -> int:
        """Bytes that a character begins at a multiple of."""
        return _UNITS.get(self.encoding, 1)

    @property
    def newline(self) -> bytes:
        """What ends a line."""
        return ("\r" if self.ends == "cr" else "\n").encode(self.encoding)

    def text(self, content: bytes) -> str:
        """Bytes as text; what is none becomes U+FFFD."""
        return content.decode(self.encoding, "replace")


def detect(file: BinaryIO, *, encoding: str = "", ends: str = "") -> Script:
    """How a text is to be read.

    Args:
        file: The text.
        encoding: To be taken as this, where it names an encoding of text.
        ends: Its lines end like this, if that is known already.
    """
    head, tail = _samples(file)
    marked, mark = _marked(head)
    named = known(encoding) or marked or _guessed(head, tail)
    mark = mark if named == marked else 0
    found = ends if ends in _ENDS else _ends(head[mark:].decode(named, "ignore"))
    return Script(named, found, mark)


def known(encoding: str) -> str:
    """The usual name of an encoding that text can have; empty where there is none such."""
    try:
        if "\n".encode(encoding).strip(b"\0") != b"\n":
            return ""
        name = codecs.lookup(encoding).name
        return "utf-8" if name == "utf-8-sig" else name
    except (LookupError, UnicodeError, TypeError, ValueError):
        return ""


def boundary(content: bytes, script: Script) -> int:
    """How many bytes at the beginning belong to a character that begins before them."""
    if script.unit == 2 and len(content) > 1:
        order = "little" if script.encoding.endswith("le") else "big"
        return 2 if int.from_bytes(content[:2], order) in _SURROGATES else 0  # type: ignore[arg-type]
    if script.encoding != "utf-8":
        return 0
    head = content[: _LONGEST_CHARACTER - 1]
    return next((at for at, byte in enumerate(head) if byte & 0xC0 != 0x80), len(head))


def complete(content: bytes, script: Script) -> int:
    """How many bytes make whole characters; those at the end may be cut."""
    decoder = codecs.getincrementaldecoder(script.encoding)("replace")
    decoder.decode(content)
    return len(content) - len(decoder.getstate()[0])


def _samples(file: BinaryIO) -> tuple[bytes, bytes]:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(SAMPLE)
    if size <= 2 * SAMPLE:
        return head + file.read(), b""
    file.seek(size - SAMPLE)
    return head, file.read(SAMPLE)


def _marked(head: bytes) -> tuple[str, int]:
    return next(((name, len(mark)) for mark, name in _MARKS if head.startswith(mark)), ("", 0))


def _guessed(head: bytes, tail: bytes) -> str:
    if _is_utf8(head) and _is_utf8(tail[boundary(tail, Script("utf-8")) :]):
        return "utf-8"
    sample = tail if _is_utf8(head) else head
    plain = sample.decode("utf-8", "replace")
    wrong = plain.count("�")
    if sum(char > "\x7f" for char in plain) > 2 * wrong:  # UTF-8 with a few broken bytes
        return "utf-8"
    odd = next((at for at, byte in enumerate(sample) if byte > 0x7F), 0)
    begin = max(0, odd - _GUESSED_FROM // 4)
    return _likeliest(sample[begin : begin + _GUESSED_FROM])


def _likeliest(sample: bytes) -> str:
    """The encoding that reads best; the western one where no other reads better."""
    found = from_bytes(sample, cp_isolation=_LIKELY)
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
    return known(best.encoding) or "cp1252"


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _ends(sample: str) -> str:
    both = sample.count("\r\n")
    alone = sample.count("\n") - both
    if both:
        return "mixed" if alone else "crlf"
    return "cr" if "\r" in sample and not alone else "lf"
