"""Reasoning in a model's text, between ``<think>`` and ``</think>``.

A block counts only at the start of the answer or directly after another block; a ``<think>``
in the middle of an answer is text, since the model may be writing about the tag. Whitespace
around blocks is dropped.
"""

from enum import Enum, auto

from agent.models.base import ReasoningPiece, TextPiece

_OPEN, _CLOSE = "<think>", "</think>"


class _State(Enum):
    START = auto()
    THINK = auto()
    BETWEEN = auto()
    TEXT = auto()


class ThinkSplitter:
    """Incremental splitter of a text stream into reasoning and text.

    It works for any fragment boundaries.

    Attributes:
        before_text: The blocks of reasoning before the text, as they came.
    """

    def __init__(self) -> None:
        self._state = _State.START
        self._buffer = ""
        self._at_block_start = False
        self._raw: list[str] = []  # until the text begins
        self.before_text = ""

    def feed(self, text: str) -> list[TextPiece | ReasoningPiece]:
        """Process a fragment; return the new pieces that are certain so far."""
        self._buffer += text
        if self._state is not _State.TEXT:
            self._raw.append(text)
        pieces: list[TextPiece | ReasoningPiece] = []
        while self._buffer and (piece := self._step()) is not None:
            if piece.text:
                pieces.append(piece)
        return pieces

    def flush(self) -> list[TextPiece | ReasoningPiece]:
        """Return the remaining pieces at the end of the text."""
        rest, self._buffer = self._buffer, ""
        if self._state in (_State.THINK, _State.BETWEEN):
            self.before_text = "".join(self._raw)
        if self._state is _State.THINK:
            rest = rest.lstrip() if self._at_block_start else rest
            return [ReasoningPiece(rest)] if rest else []
        if self._state is _State.BETWEEN:
            rest = rest.lstrip()
        return [TextPiece(rest)] if rest else []

    def _step(self) -> TextPiece | ReasoningPiece | None:
        """Take one parsing step; return None if more text is needed."""
        if self._state is _State.TEXT:
            text, self._buffer = self._buffer, ""
            return TextPiece(text)
        return self._parse_reasoning() if self._state is _State.THINK else self._parse_outside()

    def _parse_outside(self) -> TextPiece | None:
        start = self._buffer.lstrip()
        if start.startswith(_OPEN):
            self._state, self._buffer, self._at_block_start = (
                _State.THINK,
                start[len(_OPEN) :],
                True,
            )
            return TextPiece("")
        if _OPEN.startswith(start):
            return None
        if self._state is _State.BETWEEN:
            self._buffer = start
            raw = "".join(self._raw)
            self.before_text = raw[: len(raw) - len(start)]
        self._raw.clear()
        self._state = _State.TEXT
        return TextPiece("")

    def _parse_reasoning(self) -> ReasoningPiece | None:
        if self._at_block_start:
            self._buffer = self._buffer.lstrip()
        end = self._buffer.find(_CLOSE)
        if end >= 0:
            text, self._buffer = self._buffer[:end], self._buffer[end + len(_CLOSE) :]
            self._state = _State.BETWEEN
            return ReasoningPiece(text)
        safe = len(self._buffer) - partial_marker_length(self._buffer, _CLOSE)
        text, self._buffer = self._buffer[:safe], self._buffer[safe:]
        self._at_block_start = self._at_block_start and not text
        return ReasoningPiece(text) if text else None


def partial_marker_length(text: str, marker: str) -> int:
    """Return how many characters at the end of ``text`` may begin ``marker``."""
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if marker.startswith(text[-length:]):
            return length
    return 0
