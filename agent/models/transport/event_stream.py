"""Decoding of event streams as servers send them.

Beyond https://html.spec.whatwg.org/multipage/server-sent-events.html, they send keep-alives without
data, a field ``error``, an error as a JSON body after a part of the stream, or one JSON body
instead of a stream, whatever the content type says.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.models.transport.bounds import MAX_BODY_BYTES, ResponseTooLarge

END_OF_STREAM = object()  # what stands for the end marker of a stream, ``[DONE]``, among its events
_LINE_END = re.compile(rb"\r\n?|\n")
_BODY_STARTS = (b"{", b"[")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event with data; ``is_body`` marks JSON outside of an event's fields."""

    name: str
    data: str
    is_body: bool = False


class EventStreamDecoder:
    """Incremental decoder; reads each byte once, however the bytes are split."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._ends_in_return = False
        self._name = ""
        self._data: list[str] = []
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._is_first = True

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that the bytes complete."""
        at = 0
        if self._ends_in_return and chunk:
            at = int(chunk.startswith(b"\n"))
            self._ends_in_return = False
        while end := _LINE_END.search(chunk, at):
            self._line.append(chunk[at : end.start()])
            yield from self._take_line()
            at = end.end()
            self._ends_in_return = at == len(chunk) and chunk.endswith(b"\r")
        if at < len(chunk):
            self._line.append(chunk[at:])

    def flush(self) -> Iterator[ServerEvent]:
        """Yield the rest at the end of the stream; a last event need not end in a blank line."""
        if self._line:
            yield from self._take_line()
        if self._body:
            body, self._body = b"\n".join(self._body), []
            yield ServerEvent("", body.decode(), is_body=True)
        yield from self._dispatch()

    def _take_line(self) -> Iterator[ServerEvent]:
        line, self._line = b"".join(self._line), []
        if self._is_first:
            line, self._is_first = line.removeprefix(b"\xef\xbb\xbf"), False
        if self._body or (line.lstrip().startswith(_BODY_STARTS) and not self._data):
            yield from self._take_body(line)
        elif not line:
            yield from self._dispatch()
        else:
            self._take_field(line)

    def _take_field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"data":
                self._data.append(value.decode())
            case b"event":
                self._name = value.decode()
            case b"error" if value:
                self._name = "error"
                self._data.append(value.decode())

    def _take_body(self, line: bytes) -> Iterator[ServerEvent]:
        """Take a line of JSON outside of events: a value of its own, or a part of the rest."""
        if not self._body and _is_json(line):
            yield ServerEvent(self._name, line.decode(), is_body=True)
            return
        self._body.append(line)
        self._body_bytes += len(line) + 1
        if self._body_bytes > MAX_BODY_BYTES:
            raise ResponseTooLarge(f"more than {MAX_BODY_BYTES // 1024**2} MB in one answer")

    def _dispatch(self) -> Iterator[ServerEvent]:
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "", []
        if data.strip():
            yield ServerEvent(name, data)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
