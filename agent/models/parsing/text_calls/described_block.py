"""A call in the form that the system prompt describes, streamed as the model writes it."""

import json
import re

from agent.models.base import CallPiece
from agent.models.parsing.fragments import partial_length
from agent.models.parsing.repair import new_call_id
from agent.models.parsing.text_calls.blocks import SplitPiece
from agent.models.parsing.text_calls.forms import (
    TAG_CLOSING,
    TAG_OPENING,
    Call,
    CallReader,
    read_call,
)

FENCE, FENCE_END = "```tool_call", "```"

_CALL_START = re.compile(
    r'\s*\{\s*"name"\s*:\s*"([^"\\]{1,200})"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)'
)
_NAME = re.compile(r'"name"\s{0,8}:\s{0,8}"([^"\\]+)"')
_MAX_START_LENGTH = 400
# Characters that may belong to the end of a block: its last brace closes the block itself.
_BLOCK_END_CHARACTERS = " \t\r\n}`"


class DescribedBlock:
    """A block between ``tool_call`` fences or tags, always counted as a call."""

    def __init__(self, opening: str, index: int, reader: CallReader) -> None:
        self._closing = TAG_CLOSING if opening == TAG_OPENING else "\n" + FENCE_END
        self._index = index
        self._reader = reader
        self._held: list[str] = []
        self._held_length = 0
        self._is_streaming = False
        self.calls = 1

    @property
    def raw(self) -> str:
        """Nothing: it is a call in any case."""
        return ""

    def feed(self, data: str, at: int) -> tuple[list[SplitPiece], int, bool]:
        """See ``Block.feed``."""
        end = data.find(self._closing, at)
        if end >= 0:
            return [*self._add(data[at:end]), *self.finish()], end + len(self._closing), True
        end = max(at, len(data) - partial_length(data, (self._closing,)))
        return [*self._add(data[at:end])], end, False

    def finish(self) -> list[SplitPiece]:
        """See ``Block.finish``."""
        body = "".join(self._held).rstrip().removesuffix(FENCE_END).rstrip()
        if self._is_streaming:
            rest = body.removesuffix("}").rstrip()
            return [CallPiece(self._index, arguments=rest)] if rest else []
        calls = self._reader.read(TAG_OPENING, body) or [_read_unknown_call(body)]
        self.calls = len(calls)
        return [
            CallPiece(self._index + position, new_call_id(), name, arguments)
            for position, (name, arguments) in enumerate(calls)
        ]

    def _add(self, text: str) -> list[SplitPiece]:
        if self._is_streaming:
            return self._take_arguments(text)
        may_begin = self._held_length < _MAX_START_LENGTH
        self._held.append(text)
        self._held_length += len(text)
        start = _CALL_START.match("".join(self._held)) if may_begin else None
        if start is None or self._reader.names_command(start.group(1)):
            return []
        rest = start.string[start.end() :]
        self._is_streaming, self._held = True, []
        first = CallPiece(self._index, new_call_id(), self._reader.resolve(start.group(1)))
        return [first, *self._take_arguments(rest)]

    def _take_arguments(self, text: str) -> list[SplitPiece]:
        """Return the new arguments, without characters that may be the block's end."""
        safe = len(text.rstrip(_BLOCK_END_CHARACTERS))
        if not safe:
            self._held.append(text)
            return []
        arguments = "".join(self._held) + text[:safe]
        self._held = [text[safe:]]
        return [CallPiece(self._index, arguments=arguments)]


def _read_unknown_call(body: str) -> Call:
    """Return the call of a body that is broken or names no tool; its error says so."""
    try:
        call = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        call = None
    if isinstance(call, dict):
        return read_call(call)
    name = _NAME.search(body)
    return name.group(1) if name else "", body.strip()
