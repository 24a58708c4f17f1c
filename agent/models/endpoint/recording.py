"""Recording of one request and its response, both without the key."""

from collections.abc import Iterator
from contextlib import contextmanager

from agent.models.base import ModelRequest, RequestRecorder, SentRequest
from agent.models.transport.bounds import ResponseListener, response_listener
from agent.models.transport.redaction import ByteRedactor, KeyRedactor


@contextmanager
def record_request(request: ModelRequest, sent: SentRequest, key: str) -> Iterator[KeyRedactor]:
    """Record a request and its response, withheld if the yielded redactor finds the key."""
    redactor = KeyRedactor(key)
    if request.recorder is None:
        yield redactor
        return
    request.recorder.sent(sent)
    listener = _Listener(request.recorder, key)
    token = response_listener.set(listener)
    try:
        yield redactor
    finally:
        response_listener.reset(token)
        listener.end()
        if redactor.has_redacted:
            request.recorder.withhold()


class _Listener(ResponseListener):
    """Passes the response on to a recorder, without the key."""

    def __init__(self, recorder: RequestRecorder, key: str) -> None:
        self._recorder = recorder
        self._redactor = ByteRedactor(key)

    def responded(self, status: int, content_type: str) -> None:
        self._recorder.responded(status, content_type)

    def received(self, data: bytes) -> None:
        self._recorder.received(self._redactor.feed(data))

    def end(self) -> None:
        self._recorder.received(self._redactor.flush())
