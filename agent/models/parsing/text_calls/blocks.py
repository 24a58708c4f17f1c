"""Blocks of a text stream that may be tool calls, read in fragments and in linear time."""

import re
from dataclasses import dataclass
from typing import Protocol

from agent.models.base import CallPiece, ReasoningPiece, TextPiece
from agent.models.parsing.fragments import partial_length
from agent.models.parsing.text_calls.forms import CLOSINGS, Call, CallReader
from agent.models.parsing.text_calls.json_scanner import JsonScanner

_MAX_HEAD_LENGTH = 400
_FIRST_KEY = re.compile(r'\[?\s*\{{1,2}\s*"name"')
_FIRST_NAME = re.compile(r'\[?\s*\{{1,2}\s*"name"\s{0,8}:\s{0,8}"([^"\\]{1,200})"')
_BETWEEN_FENCED = re.compile(r"[\s,}\]]*")
_AFTER_OBJECT = re.compile(r"[}\]]*")


@dataclass(frozen=True, slots=True)
class FoundCalls:
    """Calls in a text, and the text itself for the case that they do not count."""

    raw: str
    calls: tuple[Call, ...]


SplitPiece = TextPiece | ReasoningPiece | CallPiece | FoundCalls


class Block(Protocol):
    """A block being received."""

    def feed(self, data: str, at: int) -> tuple[list[SplitPiece], int, bool]:
        """Read from ``at``; return certain pieces, the rest's position, whether the block ended."""

    def finish(self) -> list[SplitPiece]:
        """Return the pieces of a block that ends with the text."""

    @property
    def raw(self) -> str:
        """What was read and not returned."""


class _TextBlock:
    """A block whose text is kept until it has ended; ``form`` is one of ``CLOSINGS``, or JSON."""

    def __init__(self, opening: str, form: str, reader: CallReader) -> None:
        self._opening = opening
        self._form = form
        self._reader = reader
        self._body: list[str] = []

    @property
    def raw(self) -> str:
        """What was read."""
        return self._opening + "".join(self._body)

    def finish(self) -> list[SplitPiece]:
        """See ``Block.finish``."""
        return self._pieces("")

    def _pieces(self, closing: str) -> list[SplitPiece]:
        return found(self.raw + closing, self._reader.read(self._form, "".join(self._body)))


class TagBlock(_TextBlock):
    """A block between an opening and a closing of ``CLOSINGS``."""

    def __init__(self, opening: str, reader: CallReader) -> None:
        super().__init__(opening, opening, reader)
        self._closings = CLOSINGS[opening]
        self._closing = re.compile("|".join(map(re.escape, self._closings)))

    def feed(self, data: str, at: int) -> tuple[list[SplitPiece], int, bool]:
        """See ``Block.feed``."""
        closing = self._closing.search(data, at)
        if closing is None:
            end = max(at, len(data) - partial_length(data, self._closings))
            self._body.append(data[at:end])
            return [], end, False
        self._body.append(data[at : closing.start()])
        return self._pieces(closing.group()), closing.end(), True


class JsonBlock(_TextBlock):
    """A call's object, alone or in a fence (``opening``), which may hold several."""

    def __init__(self, opening: str, reader: CallReader) -> None:
        super().__init__(opening, "", reader)
        self._is_fenced = "`" in opening
        self._scanner: JsonScanner | None = JsonScanner()
        self._head: str | None = ""

    def feed(self, data: str, at: int) -> tuple[list[SplitPiece], int, bool]:
        """See ``Block.feed``."""
        while at < len(data):
            if self._scanner is not None:
                end = self._scanner.feed(data, at)
                read = data[at:] if end < 0 else data[at:end]
                self._body.append(read)
                at += len(read)
                if self._is_other(read):
                    return [TextPiece(self.raw)], at, True
                if end >= 0:
                    self._scanner = None
                continue
            between = _BETWEEN_FENCED if self._is_fenced else _AFTER_OBJECT
            skipped = between.match(data, at)
            assert skipped is not None
            self._body.append(skipped.group())
            at = skipped.end()
            if not self._is_fenced and at < len(data):
                return self.finish(), at, True
            if data.startswith(("{", "["), at):
                self._scanner = JsonScanner()
            elif "```".startswith(data[at : at + 3]):
                if len(data) - at < 3:
                    return [], at, False
                return self._pieces("```"), at + 3, True
            else:
                return self.finish(), at, True
        return [], at, False

    def _is_other(self, text: str) -> bool:
        """Return whether the first name in the block is certainly not one of a tool."""
        if self._head is None:
            return False
        self._head += text[:_MAX_HEAD_LENGTH]
        name = _FIRST_NAME.match(self._head)
        if name is None and _FIRST_KEY.match(self._head) and len(self._head) < _MAX_HEAD_LENGTH:
            return False
        if name is None and len(self._head) < _MAX_HEAD_LENGTH and self._scanner is not None:
            return False
        is_other = _FIRST_KEY.match(self._head) is not None and not (
            name and self._reader.knows(name.group(1))
        )
        self._head = None
        return is_other


def found(raw: str, calls: list[Call]) -> list[SplitPiece]:
    """Return calls with their text; only the text if there are none."""
    if calls:
        return [FoundCalls(raw, tuple(calls))]
    return [TextPiece(raw)] if raw else []
