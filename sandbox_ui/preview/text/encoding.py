"""Detection of a text's encoding and line endings."""

import codecs
import os
from dataclasses import dataclass
from typing import BinaryIO

from agent.util.charset import guess, known

SAMPLE = 64 * 1024
"""Bytes sampled at the start and at the end to detect the encoding."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNITS = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
_ENDS = frozenset(("lf", "crlf", "cr", "mixed"))
_SURROGATES = range(0xDC00, 0xE000)
_LONGEST_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class Script:
    """Encoding and line endings of a text.

    Attributes:
        encoding: Python codec name.
        ends: Line endings: ``lf``, ``crlf``, ``cr`` or ``mixed`` (``lf`` and ``crlf``).
        mark: Length of the byte order mark in bytes.
    """

    encoding: str
    ends: str = "lf"
    mark: int = 0

    @property
    def unit(self) -> int:
        """Code unit size in bytes; characters start at multiples of it."""
        return _UNITS.get(self.encoding, 1)

    @property
    def newline(self) -> bytes:
        """Encoded line terminator."""
        return ("\r" if self.ends == "cr" else "\n").encode(self.encoding)

    def text(self, content: bytes) -> str:
        """Decode bytes; invalid ones become U+FFFD."""
        return content.decode(self.encoding, "replace")


def detect(file: BinaryIO, *, encoding: str = "", ends: str = "") -> Script:
    """Detect the encoding and line endings of a text.

    Args:
        file: The text.
        encoding: Encoding to use instead of detection, if it names a text encoding.
        ends: Line endings, if already known.
    """
    head, tail = _samples(file)
    marked, mark = _marked(head)
    named = known(encoding) or marked or _guessed(head, tail)
    mark = mark if named == marked else 0
    found = ends if ends in _ENDS else _ends(head[mark:].decode(named, "ignore"))
    return Script(named, found, mark)


def boundary(content: bytes, script: Script) -> int:
    """Return how many leading bytes continue a preceding character."""
    if script.unit == 2 and len(content) > 1:
        order = "little" if script.encoding.endswith("le") else "big"
        return 2 if int.from_bytes(content[:2], order) in _SURROGATES else 0  # type: ignore[arg-type]
    if script.encoding != "utf-8":
        return 0
    head = content[: _LONGEST_CHARACTER - 1]
    return next((at for at, byte in enumerate(head) if byte & 0xC0 != 0x80), len(head))


def complete(content: bytes, script: Script) -> int:
    """Return the length of ``content`` without an incomplete character at its end."""
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
    return guess(sample)


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
