"""Splits a text stream into text, reasoning and tool calls written as text, in linear time."""

import re
from collections.abc import Sequence

from agent.models.base import CallPiece, TextPiece, ToolSchema
from agent.models.parsing.fragments import partial_length
from agent.models.parsing.repair import new_call_id
from agent.models.parsing.text_calls import harmony
from agent.models.parsing.text_calls.blocks import (
    Block,
    FoundCalls,
    JsonBlock,
    SplitPiece,
    TagBlock,
)
from agent.models.parsing.text_calls.described_block import DescribedBlock
from agent.models.parsing.text_calls.forms import CLOSINGS, TAG_CLOSING, TAG_OPENING, CallReader

_DESCRIBED = r"^[ \t]{0,40}(?P<described>```tool_call)(?=\s)"
_JSON = (
    r"^(?P<json>[ \t]{0,40}(?:```(?:json|tool_call)?[ \t]{0,8}\r?\n\s{0,8})?)"
    r'(?=\[?\s{0,8}\{{1,2}\s{0,8}"(?:name|arguments|parameters|function|type)"\s{0,4}:)'
)
# The ends of a text that may begin one of the two.
_BEGUN = re.compile(
    r"^[ \t]{0,40}(?:`{1,2}|```[a-z_]{0,9}[ \t]{0,8}\r?|"
    r"(?:```(?:json|tool_call)?[ \t]{0,8}\r?\n\s{0,8})?\[?\s{0,8}"
    r'(?:\{{1,2}\s{0,8}(?:"[a-z]{0,10}(?:"\s{0,4})?)?)?)\Z',
    re.MULTILINE,
)
_NEVER = re.compile(r"(?!)")
_LINE_BREAKS = re.compile(r"\n+")
_MAX_BEGUN_LENGTH = 128


class CallSplitter:
    """Incremental splitter of a text stream; works for any fragment boundaries.

    With ``described`` tools (``agent.models.parsing.text_tool_calls``), calls are ``CallPiece`` and
    line breaks after them are dropped; otherwise they are ``FoundCalls``.
    """

    def __init__(self, tools: Sequence[ToolSchema] = (), *, described: bool = False) -> None:
        self._reader = CallReader(tools)
        self._described = described
        tags = list(CLOSINGS) if tools else [TAG_OPENING] if described else []
        tags += [TAG_CLOSING] if tools and described else []
        self._markers = (*harmony.OPENINGS, *tags)
        patterns = [f"(?P<marker>{'|'.join(map(re.escape, self._markers))})"]
        patterns += [_DESCRIBED] if described else []
        patterns += [_JSON] if tools else []
        self._openings = re.compile("|".join(patterns), re.MULTILINE)
        self._needs_lines = len(patterns) > 1
        self._tail = ""
        self._before = "\n"
        self._block: Block | None = None
        self._is_after_block = self._has_ended_block = False
        self._count = 0

    def feed(self, text: str) -> list[SplitPiece]:
        """Process a fragment; return the new pieces that are certain so far."""
        data, at = self._tail + text, 0
        pieces: list[SplitPiece] = []
        while at < len(data):
            block, start = self._block, at
            if block is None:
                at = self._read_text(data, at, pieces)
            else:
                found, at, ended = block.feed(data, at)
                pieces += self._with_calls(found)
                if ended:
                    self._end_block(block)
            if (at, self._block) == (start, block):
                break
        self._before = data[at - 1 : at] or self._before
        self._tail = data[at:]
        return pieces

    def flush(self) -> list[SplitPiece]:
        """Return the remaining pieces at the end of the text; an open block ends."""
        rest, self._tail = self._tail, ""
        block, self._block = self._block, None
        if block is None:
            return _text(rest)
        pieces, at, _ = block.feed(rest, 0)
        return self._with_calls([*pieces, *block.finish(), *_text(rest[at:])])

    def restart(self) -> list[SplitPiece]:
        """Return what is held back, as text."""
        block, self._block = self._block, None
        rest, self._tail = (block.raw if block else "") + self._tail, ""
        return _text(rest)

    def release(self) -> list[SplitPiece]:
        """Return what is held back, as text, and find no more calls."""
        self._openings, self._markers, self._needs_lines = _NEVER, (), False
        return self.restart()

    def _read_text(self, data: str, at: int, pieces: list[SplitPiece]) -> int:
        """Take the text before the next block, which begins, or before what may begin one."""
        if self._is_after_block:
            at = _end_of_line_breaks(data, at)
            self._is_after_block = at == len(data)
        opening = self._openings.search(data, at)
        if opening and not opening["marker"] and opening.start() == 0 and self._before != "\n":
            opening = self._openings.search(data, max(at, 1))  # not the start of a line
        end = opening.start() if opening else len(data) - self._begun_length(data, at)
        pieces += _text(data[at:end])
        if opening is None:
            return end
        if opening["marker"] == TAG_CLOSING:  # left over where the opening is omitted
            pieces += [] if self._has_ended_block else _text(TAG_CLOSING)
            self._is_after_block = self._has_ended_block
            return opening.end()
        self._begin_block(opening)
        return opening.end()

    def _begun_length(self, data: str, at: int) -> int:
        """Return how many characters at the end may begin a block."""
        begin = max(at, len(data) - _MAX_BEGUN_LENGTH)
        before = data[begin - 1] if begin else self._before
        tail = data[begin:]
        length = partial_length(tail, self._markers)
        line = _BEGUN.search(tail, before != "\n") if self._needs_lines else None
        return max(length, len(tail) - line.start()) if line else length

    def _begin_block(self, opening: re.Match[str]) -> None:
        groups = opening.groupdict()
        marker = groups["marker"]
        if groups.get("described") or (marker == TAG_OPENING and self._described):
            self._block = DescribedBlock(opening.group().strip(), self._count, self._reader)
        elif marker in harmony.OPENINGS:
            self._block = harmony.HarmonyMessage(marker, self._reader)
        elif marker:
            self._block = TagBlock(marker, self._reader)
        else:
            self._block = JsonBlock(groups["json"], self._reader)

    def _end_block(self, block: Block) -> None:
        self._block, self._is_after_block = None, self._described
        self._has_ended_block = True
        if isinstance(block, DescribedBlock):
            self._count += block.calls

    def _with_calls(self, pieces: list[SplitPiece]) -> list[SplitPiece]:
        """Return the pieces, with found calls as ``CallPiece`` if the tools are described."""
        result: list[SplitPiece] = []
        for piece in pieces:
            if not isinstance(piece, FoundCalls) or not self._described:
                result.append(piece)
                continue
            for name, arguments in piece.calls:
                result.append(CallPiece(self._count, new_call_id(), name, arguments))
                self._count += 1
        return result


def _end_of_line_breaks(data: str, at: int) -> int:
    match = _LINE_BREAKS.match(data, at)
    return match.end() if match else at


def _text(text: str) -> list[SplitPiece]:
    return [TextPiece(text)] if text else []
