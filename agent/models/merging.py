"""Pieces that may be handed on as one."""

from agent.models.base import CallPiece, Piece, ReasoningPiece, TextPiece


def same_kind(one: Piece, other: Piece) -> bool:
    """Whether ``other`` continues ``one``."""
    if isinstance(one, CallPiece):
        return isinstance(other, CallPiece) and one.index == other.index
    return isinstance(one, TextPiece | ReasoningPiece) and type(one) is type(other)


def joined(pieces: list[Piece]) -> Piece:
    """One piece for several of the same kind."""
    first = pieces[0]
    if isinstance(first, CallPiece):
        arguments = "".join(piece.arguments for piece in pieces if isinstance(piece, CallPiece))
        return CallPiece(first.index, first.id, first.name, arguments)
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece | ReasoningPiece))
    return TextPiece(text) if isinstance(first, TextPiece) else ReasoningPiece(text)
