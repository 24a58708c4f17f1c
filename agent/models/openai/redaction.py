"""Redaction of the API key in streamed output, also across fragment boundaries."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from agent.models.base import CallPiece, Piece, ReasoningPiece, TextPiece
from agent.models.parsing.coalesce import same_kind

_Said = TextPiece | ReasoningPiece | CallPiece


class Withholder:
    """Stream filter that replaces the key in pieces.

    The end of a piece that may begin the key is held until the next piece.

    Args:
        key: The key sent to the endpoint; empty for none. A key shorter than ``SHORTEST`` is a
            placeholder and is not redacted.
    """

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= SHORTEST else ""
        self._held: _Said | None = None

    def through(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces redacted; hold back an end that may begin the key."""
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
        """Redact the key in a call's name and id, which are never split."""
        if not isinstance(piece, CallPiece):
            return piece
        name, said = piece.name.replace(self._key, SHOWN), piece.id.replace(self._key, SHOWN)
        return replace(piece, id=said, name=name)

    def _let_go(self) -> Iterator[Piece]:
        """Yield the held piece, since the next piece cannot complete the key."""
        if self._held is not None:
            held, self._held = self._held, None
            yield held

    def _beginning(self, text: str) -> int:
        """Return how many characters at the end of the text may begin the key."""
        longest = min(len(text), len(self._key) - 1)
        sizes = range(longest, 0, -1)
        return next((size for size in sizes if self._key.startswith(text[-size:])), 0)


def _text(piece: _Said) -> str:
    return piece.arguments if isinstance(piece, CallPiece) else piece.text


def _with(piece: _Said, text: str) -> _Said:
    if isinstance(piece, CallPiece):
        return replace(piece, arguments=text)
    return replace(piece, text=text)


SHOWN = "[key]"


SHORTEST = 8


_SHORTEST_WORD = 4


def redact(text: str, key: str) -> str:
    """Return ``text`` with every occurrence of ``key`` replaced."""
    if len(key) >= SHORTEST:
        return text.replace(key, SHOWN)
    if len(key) >= _SHORTEST_WORD:
        return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", SHOWN, text)
    return text
