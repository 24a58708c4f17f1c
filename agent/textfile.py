r"""A file's bytes as text and back without losing one, and its numbered lines.

Lines end at ``\n``; a ``\r`` just before it belongs to the line end.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent.legible import legible

Codec = Literal["utf-8", "utf-16-le", "utf-16-be"]

_BLOCK = 1 << 16
_UTF16: tuple[tuple[bytes, Codec], ...] = (
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as text.

    Attributes:
        content: The text; bytes that are not UTF-8 are lone surrogates in it.
        codec: UTF-16 where a byte order mark says so, else UTF-8.
        bom: The byte order mark, which is no part of ``content``.
    """

    content: str
    codec: Codec = "utf-8"
    bom: bytes = b""

    @classmethod
    def decode(cls, data: bytes) -> "TextFile":
        """Any bytes; ``encode`` gives the same bytes back."""
        for bom, codec in _UTF16:
            if data.startswith(bom) and not data.startswith(codecs.BOM_UTF32_LE):
                try:
                    return cls(data[2:].decode(codec), codec, bom)
                except UnicodeDecodeError:
                    break
        bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        return cls(data[len(bom) :].decode("utf-8", "surrogateescape"), "utf-8", bom)

    def encode(self) -> bytes:
        """The file's bytes."""
        errors = "surrogateescape" if self.codec == "utf-8" else "strict"
        return self.bom + self.content.encode(self.codec, errors)

    def splice(self, start: int, end: int, added: str) -> "TextFile":
        """The file with ``content[start:end]`` replaced."""
        return replace(self, content=self.content[:start] + added + self.content[end:])

    @property
    def lines(self) -> int:
        """How many lines; text after the last line end is one too."""
        return self.content.count("\n") + (not self.ended)

    @property
    def ended(self) -> bool:
        """Whether the last line has its line end (or there is none)."""
        return not self.content or self.content.endswith("\n")

    @property
    def is_text(self) -> bool:
        """Whether every byte was text."""
        try:
            self.content.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return True

    def line_start(self, line: int) -> int:
        """Where ``line`` (from 1) begins; the content's end for any line after the last."""
        content, missing, position = self.content, line - 1, 0
        while missing and position < len(content):
            ends = content.count("\n", position, position + _BLOCK)
            if ends >= missing:
                break
            missing -= ends
            position += _BLOCK
        for _ in range(missing):
            position = content.find("\n", position) + 1
            if position == 0:
                return len(content)
        return min(position, len(content))

    def line_end_near(self, position: int) -> str:
        r"""The line end, ``\n`` or ``\r\n``, of the line at ``position`` or else before it."""
        end = self.content.find("\n", position)
        if end < 0:
            end = self.content.rfind("\n")
        return "\r\n" if end > 0 and self.content[end - 1] == "\r" else "\n"

    def page(self, first: int, last: int, *, limit: int, width: int) -> "Page":
        """Lines as ``cat -n`` numbers them, within ``limit`` characters, at least one.

        Args:
            first: The first line, from 1.
            last: The last line wanted.
            limit: Characters after which no further line is begun.
            width: Characters of one line; what is cut off is counted at its end.
        """
        rows: list[str] = []
        position, room, cut = self.line_start(first), limit, False
        for number in range(first, last + 1):
            end = self.content.find("\n", position)
            after = len(self.content) if end < 0 else end
            stop = end - 1 if end > position and self.content[end - 1] == "\r" else after
            row = f"{number:6}\t{legible(self.content[position : min(stop, position + width)])}"
            if stop - position > width:
                row += f"[… {stop - position - width} more characters in this line]"
            room -= len(row) + 1
            if rows and room < 0:
                return Page("\n".join(rows), number - 1, cut)
            rows.append(row)
            cut = cut or stop - position > width
            position = after + 1
        return Page("\n".join(rows), last, cut)


@dataclass(frozen=True, slots=True)
class Page:
    """Numbered lines: their text, the last line in it, and whether a line was cut."""

    text: str
    last: int
    cut: bool


def with_line_ends(text: str, line_end: str) -> str:
    r"""``text`` with ``line_end`` for each ``\n``, or as it is where it has a ``\r`` of its own."""
    return text if "\r" in text else text.replace("\n", line_end)


def occurrences(content: str, wanted: str, most: int) -> list[int]:
    """Where ``wanted`` begins in ``content``, overlaps too; the first ``most`` of them."""
    found: list[int] = []
    position = content.find(wanted)
    while position >= 0 and len(found) < most:
        found.append(position)
        position = content.find(wanted, position + 1)
    return found


def alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many characters, or lines, both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def crlf_position(content: str, position: int) -> int:
    r"""The place in ``content`` of a place in it with every ``\r\n`` made ``\n``."""
    before, at = 0, content.find("\r\n")
    while at >= 0 and at - before < position:
        before += 1
        at = content.find("\r\n", at + 2)
    return position + before
