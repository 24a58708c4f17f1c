"""Detection of a text's encoding and line endings."""

import codecs
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

# The worker cannot read modules any more when ``guess_encoding`` imports these.
import charset_normalizer  # noqa: F401

import agent.util.charset.short_text  # noqa: F401
from agent.util.charset.guess import Guess, guess_encoding, normalize_encoding

SAMPLE_BYTES = 64 * 1024  # at the start and at the end
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNIT_SIZES = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
_LINE_ENDINGS = frozenset(("lf", "crlf", "cr", "mixed"))
_SURROGATES = range(0xDC00, 0xE000)
_MAX_CHARACTER_BYTES = 4


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Encoding and line endings of a text."""

    encoding: str
    line_ending: str = "lf"  # or ``crlf``, ``cr`` or ``mixed`` (``lf`` and ``crlf``)
    bom_length: int = 0
    assumed: bool = False  # the text is too short to tell the encoding

    @property
    def unit_size(self) -> int:
        """Code unit size in bytes; characters start at multiples of it."""
        return _UNIT_SIZES.get(self.encoding, 1)

    @property
    def newline(self) -> bytes:
        """Encoded line terminator."""
        return ("\r" if self.line_ending == "cr" else "\n").encode(self.encoding)

    def decode(self, content: bytes) -> str:
        """Decode bytes; invalid ones become U+FFFD."""
        return content.decode(self.encoding, "replace")


def detect_format(
    file: BinaryIO, *, encoding: str = "", line_ending: str = "", languages: Sequence[str] = ()
) -> TextFormat:
    """Detect what is not given; the reader's languages decide if the text is too short to."""
    head, tail = _samples(file)
    bom_encoding, bom_length = detect_bom(head)
    chosen = normalize_encoding(encoding) or bom_encoding
    guess = Guess(chosen) if chosen else _guess_encoding(head, tail, languages)
    name = guess.encoding
    bom_length = bom_length if name == bom_encoding else 0
    if line_ending not in _LINE_ENDINGS:
        line_ending = _detect_line_ending(head[bom_length:].decode(name, "ignore"))
    return TextFormat(name, line_ending, bom_length, guess.assumed)


def continuation_length(content: bytes, text_format: TextFormat) -> int:
    """Return how many leading bytes continue a preceding character."""
    if text_format.unit_size == 2 and len(content) > 1:
        order = "little" if text_format.encoding.endswith("le") else "big"
        return 2 if int.from_bytes(content[:2], order) in _SURROGATES else 0  # type: ignore[arg-type]
    if text_format.encoding != "utf-8":
        return 0
    head = content[: _MAX_CHARACTER_BYTES - 1]
    return next((at for at, byte in enumerate(head) if byte & 0xC0 != 0x80), len(head))


def complete_length(content: bytes, text_format: TextFormat) -> int:
    """Return the length of ``content`` without an incomplete character at its end."""
    decoder = codecs.getincrementaldecoder(text_format.encoding)("replace")
    decoder.decode(content)
    return len(content) - len(decoder.getstate()[0])


def _samples(file: BinaryIO) -> tuple[bytes, bytes]:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(SAMPLE_BYTES)
    if size <= 2 * SAMPLE_BYTES:
        return head + file.read(), b""
    file.seek(size - SAMPLE_BYTES)
    return head, file.read(SAMPLE_BYTES)


def detect_bom(head: bytes) -> tuple[str, int]:
    """Return the encoding that a byte order mark names, and its length; empty and 0 if none."""
    return next(((name, len(mark)) for mark, name in _BOMS if head.startswith(mark)), ("", 0))


def _guess_encoding(head: bytes, tail: bytes, languages: Sequence[str]) -> Guess:
    if _is_utf8(head) and _is_utf8(tail[continuation_length(tail, TextFormat("utf-8")) :]):
        return Guess("utf-8")
    sample = tail if _is_utf8(head) else head
    return guess_encoding(sample, languages=languages)


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _detect_line_ending(sample: str) -> str:
    crlf = sample.count("\r\n")
    lf = sample.count("\n") - crlf
    if crlf:
        return "mixed" if lf else "crlf"
    return "cr" if "\r" in sample and not lf else "lf"
