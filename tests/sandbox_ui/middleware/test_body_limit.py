"""The limit on request bodies, without a server."""

import json
from collections.abc import Iterable

import pytest
from starlette.types import Message, Receive, Scope, Send

from sandbox_ui.middleware.body_limit import MAX_BODY_BYTES, BodyLimit
from tests.support.server import run_coroutine

Headers = list[tuple[bytes, bytes]]


async def echo_length(_scope: Scope, receive: Receive, send: Send) -> None:
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def post(headers: Headers, chunks: Iterable[bytes], path: str = "/api/markdown") -> tuple[int, str]:
    """Return the status and body of the answer to a request that arrives in these chunks."""
    waiting = [{"type": "http.request", "body": body, "more_body": True} for body in chunks]
    waiting.append({"type": "http.request"})
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    run_coroutine(BodyLimit(echo_length)(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], body.decode()


CHUNKED = [(b"transfer-encoding", b"chunked")]
MEGABYTE = b"x" * 1024**2


def test_chunks_are_counted_together_and_reach_the_application_unchanged() -> None:
    assert post(CHUNKED, [MEGABYTE] * 8) == (200, str(MAX_BODY_BYTES))
    status, body = post(CHUNKED, [MEGABYTE] * 9)
    assert status == 413
    assert "at most 8 MB" in json.loads(body)["error"]


@pytest.mark.parametrize("declared", [b"8388609", b"-1", b"9" * 30, b"1e3"])
def test_a_declared_size_beyond_the_limit_or_no_number_is_refused_unread(declared: bytes) -> None:
    status, _ = post([(b"content-length", declared)], [])
    assert status == 413


@pytest.mark.parametrize(
    "path", ["/api/runs/r/files/input/a", "/api/runs/r/uploads/u", "/api/imports", "/v1/files"]
)
def test_uploads_have_limits_of_their_own(path: str) -> None:
    assert post(CHUNKED, [MEGABYTE] * 9, path) == (200, str(9 * 1024**2))
