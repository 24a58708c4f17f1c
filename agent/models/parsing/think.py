"""Reasoning in a model's text, between ``<think>`` and ``</think>``.

A block counts only at the start of the answer or directly after another block; elsewhere, or
within a sentence or quotes, the tag is text. Only ``</think>`` comes where the chat template
begins the answer with ``<think>``: the text before it is reasoning.
"""

import re
from enum import Enum, auto

from agent.models.base import ReasoningPiece, TextPiece, TextWasReasoning
from agent.models.parsing.fragments import partial_length

_OPEN, _CLOSE = "<think>", "</think>"
_TAG = re.compile("</?think>")
_QUOTES = "`'\"“‘«"
# Characters that are read at once: each block copies what follows it in its slice
_SLICE_LENGTH = 256
ThinkPiece = TextPiece | ReasoningPiece | TextWasReasoning


class _State(Enum):
    START = auto()
    THINK = auto()
    BETWEEN = auto()
    TEXT = auto()


class ThinkSplitter:
    """Incremental splitter of a text stream into reasoning and text, however fragmented."""

    def __init__(self) -> None:
        self._state = _State.START
        self._buffer = ""
        self._spaces: list[str] = []
        self._at_block_start = False
        self._may_end_reasoning = True
        self._before = "\n"
        self._raw: list[str] | None = []  # until the text begins
        self.before_text = ""

    def feed(self, text: str) -> list[ThinkPiece]:
        """Process a fragment; return the new pieces that are certain so far."""
        slices = (text[at : at + _SLICE_LENGTH] for at in range(0, len(text), _SLICE_LENGTH))
        return [piece for each in slices for piece in self._feed_slice(each)]

    def _feed_slice(self, text: str) -> list[ThinkPiece]:
        self._buffer += text
        if self._raw is not None and self._state is not _State.TEXT:
            self._raw.append(text)
        pieces: list[ThinkPiece] = []
        while self._buffer and (step := self._step()) is not None:
            pieces += [piece for piece in step if isinstance(piece, TextWasReasoning) or piece.text]
        return pieces

    def flush(self) -> list[ThinkPiece]:
        """Return the remaining pieces at the end of the text."""
        rest, self._buffer = self._buffer, ""
        if self._state in (_State.THINK, _State.BETWEEN):
            self.before_text = "".join(self._raw or [])
        if self._state is _State.THINK:
            rest = rest.lstrip() if self._at_block_start else rest
            return [ReasoningPiece(rest)] if rest else []
        if self._state is _State.TEXT and rest == _CLOSE and self._ends_reasoning(rest, 0, ""):
            return [TextWasReasoning()]
        if self._state is not _State.BETWEEN:
            rest = "".join(self._spaces) + rest
        return [TextPiece(rest)] if rest else []

    def _step(self) -> list[ThinkPiece] | None:
        """Take one parsing step; return None if more text is needed."""
        if self._state is _State.TEXT:
            return self._parse_text()
        if self._state is _State.THINK:
            piece = self._parse_reasoning()
            return None if piece is None else [piece]
        return self._parse_outside()

    def _parse_outside(self) -> list[ThinkPiece] | None:
        start = self._buffer.lstrip()
        self._spaces.append(self._buffer[: len(self._buffer) - len(start)])
        self._buffer = start
        if start.startswith(_OPEN):
            self._state, self._at_block_start = _State.THINK, True
            self._buffer, self._may_end_reasoning = start[len(_OPEN) :], False
            self._spaces = []
            return []
        if _OPEN.startswith(start):
            return None
        spaces, self._spaces = "".join(self._spaces), []
        if self._state is _State.START:
            self._buffer = spaces + start
        elif self._raw is not None:
            raw = "".join(self._raw)
            self.before_text = raw[: len(raw) - len(start)]
        self._raw = None
        self._state = _State.TEXT
        return []

    def _parse_text(self) -> list[ThinkPiece] | None:
        """Take text; if only the closing tag comes, the text before it was reasoning."""
        buffer = self._buffer
        tag = _TAG.search(buffer) if self._may_end_reasoning else None
        if tag is None:
            keep = partial_length(buffer, (_OPEN, _CLOSE)) if self._may_end_reasoning else 0
            return self._take(len(buffer) - keep) if keep < len(buffer) else None
        if tag.group() == _OPEN:
            self._may_end_reasoning = False
            return self._take(len(buffer))
        if tag.end() == len(buffer):  # what follows decides
            return self._take(tag.start()) if tag.start() else None
        self._may_end_reasoning = False
        if not self._ends_reasoning(buffer, tag.start(), buffer[tag.end()]):
            return self._take(len(buffer))
        text, self._buffer = buffer[: tag.start()], buffer[tag.end() :]
        self._state = _State.BETWEEN
        return [TextPiece(text), TextWasReasoning()]

    def _take(self, length: int) -> list[ThinkPiece]:
        text, self._buffer = self._buffer[:length], self._buffer[length:]
        self._before = text[-1:] or self._before
        return [TextPiece(text)]

    def _ends_reasoning(self, buffer: str, at: int, after: str) -> bool:
        """Return whether a closing tag ends reasoning, rather than being mentioned in a text."""
        before = buffer[at - 1] if at else self._before
        if before in _QUOTES or (after and after in _QUOTES and before in _QUOTES):
            return False
        return before == "\n" or after in ("", "\n", "\r") or not (before + after).count(" ")

    def _parse_reasoning(self) -> ReasoningPiece | None:
        if self._at_block_start:
            self._buffer = self._buffer.lstrip()
        end = self._buffer.find(_CLOSE)
        if end >= 0:
            text, self._buffer = self._buffer[:end], self._buffer[end + len(_CLOSE) :]
            self._state = _State.BETWEEN
            return ReasoningPiece(text)
        safe = len(self._buffer) - partial_length(self._buffer, (_CLOSE,))
        text, self._buffer = self._buffer[:safe], self._buffer[safe:]
        self._at_block_start = self._at_block_start and not text
        return ReasoningPiece(text) if text else None
