"""A key kept out of what a model streams, wherever the fragments cut it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from agent.models.base import CallPiece, Piece, ReasoningPiece, TextPiece
from agent.models.merging import same_kind
from agent.models.redact import SHOWN

_Said = TextPiece | ReasoningPiece | CallPiece

_SHORTEST = 8
"""Shorter keys are words that stand for no key, and may be said."""


class Withholder:
    """Hands pieces on without the key; an end that may be its beginning waits for what follows.

    Args:
        key: The key that the endpoint was sent; empty for none.
    """

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= _SHORTEST else ""
        self._held: _Said | None = None

    def through(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """What may be handed on of these pieces, in order, and of what was held before them."""
        for piece in pieces:
            yield from self._fed(piece)

    def _fed(self, piece: Piece) -> Iterator[Piece]:
        if not self._key:
            yield piece
            return
        before = ""
        if self._held is not None and same_kind(self._held, piece):
            before, self._held = _text(self._held), None
        yield from self._let_go()
        if not isinstance(piece, _Said):
            yield piece
            return
        piece = self._named(piece)
        text = (before + _text(piece)).replace(self._key, SHOWN)
        held = self._beginning(text)
        shown, tail = text[: len(text) - held], text[len(text) - held :]
        if tail:
            rest = CallPiece(piece.index) if isinstance(piece, CallPiece) else piece
            self._held = _with(rest, tail)
        if shown or (isinstance(piece, CallPiece) and (piece.id or piece.name)):
            yield _with(piece, shown)

    def _named(self, piece: _Said) -> _Said:
        """The piece without the key in what a call is called; that comes whole."""
        if not isinstance(piece, CallPiece):
            return piece
        name, said = piece.name.replace(self._key, SHOWN), piece.id.replace(self._key, SHOWN)
        return replace(piece, id=said, name=name)

    def _let_go(self) -> Iterator[Piece]:
        """What is held, where nothing follows that would make it the key."""
        if self._held is not None:
            held, self._held = self._held, None
            yield held

    def _beginning(self, text: str) -> int:
        """How many characters at the end of the text begin the key."""
        longest = min(len(text), len(self._key) - 1)
        sizes = range(longest, 0, -1)
        return next((size for size in sizes if self._key.startswith(text[-size:])), 0)


def _text(piece: _Said) -> str:
    return piece.arguments if isinstance(piece, CallPiece) else piece.text


def _with(piece: _Said, text: str) -> _Said:
    if isinstance(piece, CallPiece):
        return replace(piece, arguments=text)
    return replace(piece, text=text)
