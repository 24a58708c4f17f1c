r"""Lossless decoding and encoding of text files, whose lines end at ``\n`` or ``\r\n``."""

import codecs
from dataclasses import dataclass, replace
from typing import Self

from agent.util.charset.guess import guess_encoding
from agent.util.text import sanitize

_SCAN_CHARACTERS = 1 << 16
_UTF16 = (
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as text; bytes that are not text are lone surrogates in it."""

    content: str
    codec: str = "utf-8"
    bom: bytes = b""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode any bytes; ``encode`` returns the same bytes."""
        for bom, codec in _UTF16:
            if data.startswith(bom) and not data.startswith(codecs.BOM_UTF32_LE):
                try:
                    return cls(data[2:].decode(codec), codec, bom)
                except UnicodeDecodeError:
                    break
        bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        try:
            return cls(data[len(bom) :].decode(), "utf-8", bom)
        except UnicodeDecodeError as error:
            legacy = None if bom else cls._decode_legacy(data, error.start)
            return legacy or cls(data[len(bom) :].decode("utf-8", "surrogateescape"), "utf-8", bom)

    @classmethod
    def _decode_legacy(cls, data: bytes, invalid_at: int) -> Self | None:
        """Decode with a guessed encoding, or return None if any byte is not text in it."""
        codec = guess_encoding(data, invalid_at).encoding
        if codec == "utf-8" or b"\0" in data:
            return None
        try:
            text = cls(data.decode(codec), codec)
            return text if text.encode() == data else None
        except UnicodeError:
            return None

    def encode(self) -> bytes:
        """Return the file's bytes."""
        errors = "surrogateescape" if self.codec == "utf-8" else "strict"
        return self.bom + self.content.encode(self.codec, errors)

    def splice(self, start: int, end: int, added: str) -> "TextFile":
        """Return the file with ``content[start:end]`` replaced."""
        return replace(self, content=self.content[:start] + added + self.content[end:])

    @property
    def line_count(self) -> int:
        """The number of lines, including text after the last line end."""
        return self.content.count("\n") + (not self.ends_with_newline)

    @property
    def ends_with_newline(self) -> bool:
        """Whether the last line has a line end, or the file is empty."""
        return not self.content or self.content.endswith("\n")

    @property
    def is_text(self) -> bool:
        """Whether the file has no bytes that are not text."""
        try:
            self.content.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return True

    def line_start(self, line: int) -> int:
        """Return the offset of ``line`` (from 1); the end for a line after the last."""
        content, missing, position = self.content, line - 1, 0
        while missing and position < len(content):
            ends = content.count("\n", position, position + _SCAN_CHARACTERS)
            if ends >= missing:
                break
            missing -= ends
            position += _SCAN_CHARACTERS
        for _ in range(missing):
            position = content.find("\n", position) + 1
            if position == 0:
                return len(content)
        return min(position, len(content))

    def line_end_near(self, position: int) -> str:
        r"""Return the line end, ``\n`` or ``\r\n``, nearest after ``position``, or before."""
        end = self.content.find("\n", position)
        if end < 0:
            end = self.content.rfind("\n")
        return "\r\n" if end > 0 and self.content[end - 1] == "\r" else "\n"

    def page(self, first: int, last: int, *, limit: int, max_line_length: int) -> "FilePage":
        """Return lines numbered like ``cat -n``, within ``limit`` characters; at least one."""
        rows: list[str] = []
        position, room, truncated = self.line_start(first), limit, False
        for number in range(first, last + 1):
            end = self.content.find("\n", position)
            after = len(self.content) if end < 0 else end
            stop = end - 1 if end > position and self.content[end - 1] == "\r" else after
            line = self.content[position : min(stop, position + max_line_length)]
            row = f"{number:6}\t{sanitize(line)}"
            if stop - position > max_line_length:
                row += f"[… {stop - position - max_line_length} more characters in this line]"
            room -= len(row) + 1
            if rows and room < 0:
                return FilePage("\n".join(rows), number - 1, truncated)
            rows.append(row)
            truncated = truncated or stop - position > max_line_length
            position = after + 1
        return FilePage("\n".join(rows), last, truncated)


@dataclass(frozen=True, slots=True)
class FilePage:
    """Numbered lines: their text, the last line in it, and whether a line was cut."""

    text: str
    last_line: int
    truncated: bool


def with_line_ends(text: str, line_end: str) -> str:
    r"""Replace each ``\n`` by ``line_end``, unless the text contains ``\r``."""
    return text if "\r" in text else text.replace("\n", line_end)


def find_occurrences(content: str, substring: str, limit: int) -> list[int]:
    """Return the first ``limit`` positions of ``substring``, including overlaps."""
    positions: list[int] = []
    position = content.find(substring)
    while position >= 0 and len(positions) < limit:
        positions.append(position)
        position = content.find(substring, position + 1)
    return positions


def crlf_position(content: str, position: int) -> int:
    r"""Map a position in ``content`` with LF line ends to one in ``content``."""
    before, at = 0, content.find("\r\n")
    while at >= 0 and at - before < position:
        before += 1
        at = content.find("\r\n", at + 2)
    return position + before
