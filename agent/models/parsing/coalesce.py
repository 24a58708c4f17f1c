"""Merging of consecutive pieces of the same kind."""

from agent.models.base import CallPiece, Piece, ReasoningPiece, TextPiece


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
