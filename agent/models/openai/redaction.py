"""Redaction of the API key in streamed output, also across fragment boundaries."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from agent.models.base import CallPiece, Piece, ReasoningPiece, TextPiece
from agent.models.parsing.coalesce import can_merge

_TextualPiece = TextPiece | ReasoningPiece | CallPiece


class KeyRedactor:
    """Stream filter that replaces the key in pieces.

    The end of a piece that may begin the key is buffered until the next piece.

    Args:
        key: The key sent to the endpoint; empty for none. A key shorter than ``MIN_KEY_LENGTH`` is
            a placeholder and is not redacted.
    """

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= MIN_KEY_LENGTH else ""
        self._buffered_piece: _TextualPiece | None = None

    def redact_stream(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces redacted; hold back an end that may begin the key."""
        for piece in pieces:
            yield from self._redact_piece(piece)

    def _redact_piece(self, piece: Piece) -> Iterator[Piece]:
        if not self._key:
            yield piece
            return
        before = ""
        if self._buffered_piece is not None and can_merge(self._buffered_piece, piece):
            before, self._buffered_piece = _text(self._buffered_piece), None
        yield from self._release_buffered_piece()
        if not isinstance(piece, _TextualPiece):
            yield piece
            return
        piece = self._redact_name_and_id(piece)
        text = (before + _text(piece)).replace(self._key, REPLACEMENT)
        partial_length = self._partial_key_length(text)
        redacted, tail = text[: len(text) - partial_length], text[len(text) - partial_length :]
        if tail:
            rest = CallPiece(piece.index) if isinstance(piece, CallPiece) else piece
            self._buffered_piece = _with_text(rest, tail)
        if redacted or (isinstance(piece, CallPiece) and (piece.id or piece.name)):
            yield _with_text(piece, redacted)

    def _redact_name_and_id(self, piece: _TextualPiece) -> _TextualPiece:
        """Redact the key in a call's name and id, which are never split."""
        if not isinstance(piece, CallPiece):
            return piece
        name, call_id = (
            piece.name.replace(self._key, REPLACEMENT),
            piece.id.replace(self._key, REPLACEMENT),
        )
        return replace(piece, id=call_id, name=name)

    def _release_buffered_piece(self) -> Iterator[Piece]:
        """Yield the buffered piece, since the next piece cannot complete the key."""
        if self._buffered_piece is not None:
            piece, self._buffered_piece = self._buffered_piece, None
            yield piece

    def _partial_key_length(self, text: str) -> int:
        """Return how many characters at the end of the text may begin the key."""
        limit = min(len(text), len(self._key) - 1)
        sizes = range(limit, 0, -1)
        return next((size for size in sizes if self._key.startswith(text[-size:])), 0)


def _text(piece: _TextualPiece) -> str:
    return piece.arguments if isinstance(piece, CallPiece) else piece.text


def _with_text(piece: _TextualPiece, text: str) -> _TextualPiece:
    if isinstance(piece, CallPiece):
        return replace(piece, arguments=text)
    return replace(piece, text=text)


REPLACEMENT = "[key]"


MIN_KEY_LENGTH = 8


_MIN_WORD_KEY_LENGTH = 4


def redact(text: str, key: str) -> str:
    """Return ``text`` with every occurrence of ``key`` replaced."""
    if len(key) >= MIN_KEY_LENGTH:
        return text.replace(key, REPLACEMENT)
    if len(key) >= _MIN_WORD_KEY_LENGTH:
        return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", REPLACEMENT, text)
    return text
