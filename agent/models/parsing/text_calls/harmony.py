"""Messages in the format of gpt-oss (harmony), from servers that pass it on as it is.

A message has a header, which names its channel and the called function, and a body:

    <|channel|>analysis<|message|>reasoning<|end|>
    <|start|>assistant<|channel|>commentary to=functions.NAME json<|message|>{…}<|call|>
    <|start|>assistant<|channel|>final<|message|>the answer<|return|>
"""

import re

from agent.models.base import ReasoningPiece, TextPiece
from agent.models.parsing.fragments import partial_length
from agent.models.parsing.text_calls.blocks import SplitPiece, found
from agent.models.parsing.text_calls.forms import CallReader

OPENINGS = ("<|channel|>", "<|start|>assistant")

_BODY = "<|message|>"
_BEGINNINGS = ("<|start|>", "<|channel|>")
_CLOSINGS = ("<|end|>", "<|call|>", "<|return|>", *_BEGINNINGS)
_CLOSING = re.compile("|".join(map(re.escape, _CLOSINGS)))
_RECIPIENT = re.compile(r"\bto=([^\s<]{1,200})")
_MAX_HEADER_LENGTH = 400


class HarmonyMessage:
    """One message being received: reasoning, text, or a call."""

    def __init__(self, opening: str, reader: CallReader) -> None:
        self._header = opening
        self._reader = reader
        self._in_body = False
        self._body: list[str] = []
        self._recipient = ""

    @property
    def raw(self) -> str:
        """What was read of a call, or of a header."""
        if self._in_body and not self._recipient:
            return ""
        return self._header + _BODY * self._in_body + "".join(self._body)

    def feed(self, data: str, at: int) -> tuple[list[SplitPiece], int, bool]:
        """See ``Block.feed``."""
        if not self._in_body:
            at = self._read_header(data, at)
            if not self._in_body:
                too_long = len(self._header) > _MAX_HEADER_LENGTH
                return [TextPiece(self._header)] if too_long else [], at, too_long
        closing = _CLOSING.search(data, at)
        end = closing.start() if closing else max(at, len(data) - partial_length(data, _CLOSINGS))
        text, after = data[at:end], end
        if closing and closing.group() not in _BEGINNINGS:
            after = closing.end()
        if self._recipient:
            self._body.append(text)
            return self._call(data[end:after]) if closing else [], after, closing is not None
        kind = ReasoningPiece if "analysis" in self._header else TextPiece
        return [kind(text)] if text else [], after, closing is not None

    def finish(self) -> list[SplitPiece]:
        """See ``Block.finish``."""
        if self._recipient:
            return self._call("")
        return [] if self._in_body else [TextPiece(self._header)]

    def _call(self, closing: str) -> list[SplitPiece]:
        call = self._reader.named(self._recipient, "".join(self._body).strip() or "{}")
        return found(self.raw + closing, call)

    def _read_header(self, data: str, at: int) -> int:
        end = data.find(_BODY, at)
        if end < 0:
            end = max(at, len(data) - partial_length(data, (_BODY,)))
            self._header += data[at:end]
            return end
        self._header += data[at:end]
        self._in_body = True
        recipient = _RECIPIENT.search(self._header)
        self._recipient = recipient.group(1) if recipient else ""
        return end + len(_BODY)
