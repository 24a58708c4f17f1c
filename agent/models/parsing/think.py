"""Reasoning in a model's text, between ``<think>`` and ``</think>``.

A block counts only at the start of the answer or directly after another block; a ``<think>``
in the middle of an answer is text, since the model may be writing about the tag. Whitespace
around blocks is dropped.
"""

from enum import Enum, auto

from agent.models.base import ReasoningPiece, TextPiece

_OPEN, _CLOSE = "<think>", "</think>"


class _At(Enum):
    START = auto()
    THINK = auto()
    BETWEEN = auto()
    TEXT = auto()


class ThinkSplitter:
    """Incremental splitter of a text stream into reasoning and text.

    It works for any fragment boundaries.
    """

    def __init__(self) -> None:
        self._at = _At.START
        self._held = ""
        self._fresh = False

    def feed(self, text: str) -> list[TextPiece | ReasoningPiece]:
        """Process a fragment; return the new pieces that are certain so far."""
        self._held += text
        pieces: list[TextPiece | ReasoningPiece] = []
        while self._held and (piece := self._step()) is not None:
            if piece.text:
                pieces.append(piece)
        return pieces

    def flush(self) -> list[TextPiece | ReasoningPiece]:
        """Return the remaining pieces at the end of the text."""
        held, self._held = self._held, ""
        if self._at is _At.THINK:
            held = held.lstrip() if self._fresh else held
            return [ReasoningPiece(held)] if held else []
        if self._at is _At.BETWEEN:
            held = held.lstrip()
        return [TextPiece(held)] if held else []

    def _step(self) -> TextPiece | ReasoningPiece | None:
        """Take one parsing step; return None if more text is needed."""
        if self._at is _At.TEXT:
            text, self._held = self._held, ""
            return TextPiece(text)
        return self._inside() if self._at is _At.THINK else self._outside()

    def _outside(self) -> TextPiece | None:
        start = self._held.lstrip()
        if start.startswith(_OPEN):
            self._at, self._held, self._fresh = _At.THINK, start[len(_OPEN) :], True
            return TextPiece("")
        if _OPEN.startswith(start):
            return None
        if self._at is _At.BETWEEN:
            self._held = start
        self._at = _At.TEXT
        return TextPiece("")

    def _inside(self) -> ReasoningPiece | None:
        if self._fresh:
            self._held = self._held.lstrip()
        end = self._held.find(_CLOSE)
        if end >= 0:
            text, self._held = self._held[:end], self._held[end + len(_CLOSE) :]
            self._at = _At.BETWEEN
            return ReasoningPiece(text)
        safe = len(self._held) - held_back(self._held, _CLOSE)
        text, self._held = self._held[:safe], self._held[safe:]
        self._fresh = self._fresh and not text
        return ReasoningPiece(text) if text else None


def held_back(text: str, marker: str) -> int:
    """Return how many characters at the end of ``text`` may begin ``marker``."""
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if marker.startswith(text[-length:]):
            return length
    return 0
