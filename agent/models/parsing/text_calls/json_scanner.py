"""The end of a JSON value in a stream, and JSON with the deviations of small models."""

import json
import re
from collections.abc import Iterator

_OUTSIDE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'["\\]')
_DOUBLED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|\{\{|\}\}', re.DOTALL)
_REST = " \t\r\n,}]`"
_DECODER = json.JSONDecoder(strict=False)


class JsonScanner:
    """Finds the end of an object or array that arrives in fragments; reads each character once."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self.is_complete = False

    def feed(self, text: str, start: int = 0) -> int:
        """Read ``text`` from ``start``; return the position after the value's end, else -1."""
        at = start
        if self._escaped and at < len(text):
            self._escaped, at = False, at + 1
        while match := (_IN_STRING if self._in_string else _OUTSIDE).search(text, at):
            at = match.end()
            match match.group():
                case '"':
                    self._in_string = not self._in_string
                case "\\":
                    self._escaped = at == len(text)
                    at += 1
                case "{" | "[":
                    self._depth += 1
                case _:
                    self._depth -= 1
                    if self._depth <= 0:
                        self.is_complete = True
                        return at
        return -1


def read_objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the objects of JSON values; accept doubled braces and superfluous brackets."""
    text = text.strip()
    if text.startswith("{{"):
        text = _DOUBLED.sub(
            lambda match: match[0][0] if match[0] in ("{{", "}}") else match[0], text
        )
    at = 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except RecursionError:
            raise ValueError("The nesting is too deep.") from None
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, dict):
                raise ValueError("The value is not an object.")
            yield each
        while at < len(text) and text[at] in _REST:
            at += 1
