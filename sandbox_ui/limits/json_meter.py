"""Measure JSON while its bytes arrive, so that no large structure is ever built."""

import re

_SLICE_BYTES = 64 * 1024
_MAX_DIGITS = 100
_NOT_MARKS = bytes(set(range(256)) - set(b"[]{},"))
_DIGITS = re.compile(rb"[0-9]+")
_NOT_JSON = "The request body is not JSON."


class JsonRefused(ValueError):
    """The body exceeds a limit or is not JSON; the message is for the client."""


class JsonMeter:
    """Counts values and levels of JSON, fed in pieces; never fewer than a parser would build."""

    def __init__(self, values: int, depth: int) -> None:
        self._max_values = values
        self._max_depth = depth
        self._values = 1
        self._depth = 0
        self._in_string = False
        self._escape = b""

    def feed(self, data: bytes) -> None:
        """Count the next bytes. Raises ``JsonRefused`` as soon as a limit is exceeded."""
        for start in range(0, len(data), _SLICE_BYTES):
            self._count(self._outside_strings(data[start : start + _SLICE_BYTES]))

    def _outside_strings(self, data: bytes) -> bytes:
        if b"\0" in data:  # never in UTF-8; parsers also read UTF-16 and UTF-32
            raise JsonRefused(_NOT_JSON)
        data = self._escape + data
        backslashes = len(data) - len(data.rstrip(b"\\"))
        self._escape = b"\\" * (backslashes % 2)  # it escapes the next piece's first byte
        data = data.removesuffix(self._escape)
        parts = data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        return outside

    def _count(self, outside: bytes) -> None:
        marks = outside.translate(None, _NOT_MARKS)
        self._values += len(marks) - marks.count(b"]") - marks.count(b"}")
        if self._values > self._max_values:
            raise JsonRefused(f"A request may have at most {self._max_values:,} values here.")
        for mark in marks.translate(None, b","):
            self._depth += 1 if mark in b"[{" else -1
            if self._depth < 0:
                raise JsonRefused(_NOT_JSON)
            if self._depth > self._max_depth:
                raise JsonRefused(f"A request may have at most {self._max_depth} levels here.")
        if any(len(digits) > _MAX_DIGITS for digits in _DIGITS.findall(outside)):
            raise JsonRefused(f"A number may have at most {_MAX_DIGITS} digits.")
