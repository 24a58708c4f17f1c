"""Redaction of the API key in streamed output, also across fragment boundaries."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from agent.models.base import CallPiece, Finish, Piece, ReasoningPiece, TextPiece
from agent.models.parsing.fragments import can_merge

REPLACEMENT = "[key]"
MIN_KEY_LENGTH = 8  # a shorter key is a placeholder, which may be a common word
_TextualPiece = TextPiece | ReasoningPiece | CallPiece


def redact(text: str, key: str) -> str:
    """Return ``text`` with every occurrence of ``key`` replaced, also as JSON writes it."""
    for form in _forms(key):
        text = text.replace(form, REPLACEMENT)
    return text


def redact_json(value: Any, key: str) -> Any:
    """Return a JSON value with every occurrence of ``key`` in its texts and numbers replaced."""
    return _redact_json(value, key) if contains_key(value, key) else value


def contains_key(value: Any, key: str) -> bool:
    """Return whether the key is in a JSON value."""
    text = json.dumps(value, ensure_ascii=False)
    return any(form in text for form in _forms(key))


def _redact_json(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return {redact(name, key): _redact_json(each, key) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_redact_json(each, key) for each in value]
    if isinstance(value, str):
        return redact(value, key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return REPLACEMENT if is_number and key in str(value) else value


def _forms(key: str) -> tuple[str, ...]:
    """Return the key as it is, and as a JSON text has it; none of a placeholder."""
    if len(key) < MIN_KEY_LENGTH:
        return ()
    return tuple(dict.fromkeys((json.dumps(key, ensure_ascii=False)[1:-1], key)))


class KeyRedactor:
    """Stream filter that replaces the key in pieces; an end that may begin it is held back."""

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= MIN_KEY_LENGTH else ""
        self._forms = _forms(key)
        self._tail: _TextualPiece | None = None
        self.has_redacted = False

    def redact_stream(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces redacted."""
        return chain.from_iterable(map(self._redact_piece, pieces)) if self._key else iter(pieces)

    def _redact_piece(self, piece: Piece) -> Iterator[Piece]:
        before, tail, self._tail = "", self._tail, None
        if tail is not None and can_merge(tail, piece):
            before = _text(tail)
        elif tail is not None:  # the key is not completed
            yield tail
        if not isinstance(piece, _TextualPiece):
            yield self._redact_parts(piece) if isinstance(piece, Finish) else piece
            return
        if isinstance(piece, CallPiece):  # names and ids are never split
            piece = replace(
                piece, id=redact(piece.id, self._key), name=redact(piece.name, self._key)
            )
        text = redact(before + _text(piece), self._key)
        self.has_redacted = self.has_redacted or text != before + _text(piece)
        starts = range(max(0, len(text) - len(self._forms[0]) + 1), len(text))
        end = next(
            (at for at in starts if any(each.startswith(text[at:]) for each in self._forms)),
            len(text),
        )
        if end < len(text):
            rest = CallPiece(piece.index) if isinstance(piece, CallPiece) else piece
            self._tail = _with_text(rest, text[end:])
        if end or (isinstance(piece, CallPiece) and (piece.id or piece.name)):
            yield _with_text(piece, text[:end])

    def _redact_parts(self, finish: Finish) -> Finish:
        if finish.opaque is None:
            return finish
        if not contains_key(finish.opaque.parts, self._key):
            return finish
        self.has_redacted = True
        parts = redact_json(finish.opaque.parts, self._key)
        return replace(finish, opaque=replace(finish.opaque, parts=parts))


def _text(piece: _TextualPiece) -> str:
    return piece.arguments if isinstance(piece, CallPiece) else piece.text


def _with_text(piece: _TextualPiece, text: str) -> _TextualPiece:
    if isinstance(piece, CallPiece):
        return replace(piece, arguments=text)
    return replace(piece, text=text)


class ByteRedactor:
    """Filter that replaces a key in a response's bytes, unless it is split, as over two events."""

    def __init__(self, key: str) -> None:
        written = [form.encode() for form in _forms(key)]
        slashes = [form.replace(b"/", rb"\/") for form in written]  # as some write it in JSON
        self._forms = sorted({*written, *slashes}, key=len, reverse=True)
        self._tail = b""

    def feed(self, data: bytes) -> bytes:
        """Return the next redacted bytes."""
        if not self._forms:
            return data
        joined = self._tail + data
        for form in self._forms:
            joined = joined.replace(form, REPLACEMENT.encode())
        held_back = len(self._forms[0]) - 1
        self._tail = joined[-held_back:]
        return joined[:-held_back]

    def flush(self) -> bytes:
        """Return the rest."""
        rest, self._tail = self._tail, b""
        return rest
