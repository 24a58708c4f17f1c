"""Texts that arrive in fragments: markers and characters in two of them, and merged pieces."""

from collections.abc import Iterable

from agent.models.base import CallPiece, Piece, ReasoningPiece, TextPiece
from agent.util.text import replace_surrogates


def partial_length(text: str, markers: Iterable[str]) -> int:
    """Return how many characters at the end of ``text`` may begin one of the markers."""
    return max((_partial_length(text, marker) for marker in markers), default=0)


def _partial_length(text: str, marker: str) -> int:
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if marker.startswith(text[-length:]):
            return length
    return 0


class SurrogateJoiner:
    """Joins the halves of split characters in one text; a lone half becomes ``U+FFFD``."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Return the next characters, without a first half at the end."""
        if self._half and "\udc00" <= text[:1] <= "\udfff":
            pair = (self._half + text[0]).encode("utf-16-le", "surrogatepass")
            text = pair.decode("utf-16-le") + text[1:]
        else:
            text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return replace_surrogates(text[: len(text) - len(self._half)])

    def flush(self) -> str:
        """Return what was held back."""
        half, self._half = self._half, ""
        return replace_surrogates(half)


def can_merge(one: Piece, other: Piece) -> bool:
    """Return whether ``other`` continues ``one`` and may be merged with it."""
    if isinstance(one, CallPiece):
        return isinstance(other, CallPiece) and one.index == other.index
    return isinstance(one, TextPiece | ReasoningPiece) and type(one) is type(other)


def merge(pieces: list[Piece]) -> Piece:
    """Merge pieces of the same kind into one."""
    first = pieces[0]
    if isinstance(first, CallPiece):
        arguments = "".join(piece.arguments for piece in pieces if isinstance(piece, CallPiece))
        return CallPiece(first.index, first.id, first.name, arguments)
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece | ReasoningPiece))
    return TextPiece(text) if isinstance(first, TextPiece) else ReasoningPiece(text)
