"""Event streams in the forms that servers send."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelError
from agent.models.base import ModelConfig
from agent.models.transport.bounds import MAX_BODY_BYTES, ResponseTooLarge
from agent.models.transport.event_stream import EventStreamDecoder, ServerEvent
from tests.contract.model_suite import text_of
from tests.properties import split_at
from tests.support.hostile.flood import FloodServer
from tests.support.models.model_requests import stream_from

OK = "HTTP/1.1 200 OK\nContent-Type: "
A, B = ServerEvent("", "a"), ServerEvent("", "b")


def decode(*chunks: bytes) -> list[ServerEvent]:
    decoder = EventStreamDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + list(decoder.flush())


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata:b\n\n", [A, B]),
        (b"data: a\r\n\r\ndata: b\r\r", [A, B]),
        (b"\xef\xbb\xbfdata: a\n\n", [A]),
        (b": ping\n\nid: 1\ndata: a\n\n: ping\n\n", [A]),
        (b"retry: 3000\n\nevent: ping\n\nid: 7\n\n", []),
        (b"data:\n\ndata: \n\ndata: a\n\n", [A]),
        (b"data: a", [A]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [ServerEvent("x", "a"), B]),
        (b"data: a\ndata: b\n\n", [ServerEvent("", "a\nb")]),
        (b'error: {"code": 500}\n\n', [ServerEvent("error", '{"code": 500}')]),
        (b"unknown: a\nand text\n\n", []),
        (b'data: a\n\n{"error": 1}\n', [A, ServerEvent("", '{"error": 1}', is_body=True)]),
        (b'{\n "a":\n\n 1}\n', [ServerEvent("", '{\n "a":\n\n 1}', is_body=True)]),
        (b"<html>\n</html>", []),
    ],
)
def test_events_are_decoded_however_the_bytes_are_split(
    stream: bytes, events: list[ServerEvent]
) -> None:
    assert decode(stream) == events
    assert decode(*(stream[at : at + 1] for at in range(len(stream)))) == events


@given(
    st.lists(st.sampled_from([b"data: \xc3\xa4\n", b"\r", b"\n", b"{", b"}", b": x", b"error: y"])),
    st.lists(st.integers(0), max_size=6),
)
def test_the_result_does_not_depend_on_chunk_boundaries(
    parts: list[bytes], positions: list[int]
) -> None:
    stream = b"".join(parts)
    assert decode(*split_at(stream, positions)) == decode(stream)


def test_a_body_outside_of_events_is_bounded() -> None:
    with pytest.raises(ResponseTooLarge):
        decode(b"{\n", *[b"x" * 2**20 + b"\n\n"] * (MAX_BODY_BYTES // 2**20))


def answer(kind: str, body: bytes) -> str:
    with FloodServer(OK + kind, [body]) as server:
        return text_of(stream_from(ModelConfig(server.url, "m")))


CHUNK = json.dumps({"choices": [{"delta": {"content": "Nine."}, "finish_reason": "stop"}]})
STREAM = f"data: {CHUNK}\n\ndata: [DONE]\n\n".encode()
MESSAGE = {"message": {"content": "Nine."}, "finish_reason": "stop"}
WHOLE = json.dumps({"choices": [MESSAGE]}, indent=2).encode()


@pytest.mark.contract
@pytest.mark.parametrize("body", [STREAM, WHOLE], ids=["a stream", "one body"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/plain"])
def test_the_content_type_does_not_matter(kind: str, body: bytes) -> None:
    assert answer(kind, body) == "Nine."


@pytest.mark.contract
@pytest.mark.parametrize(
    "body",
    [
        'data: {"object": "error", "message": "worker 3 died", "code": 500}\n\n',
        'event: error\ndata: {"message": "worker 3 died"}\n\n',
        "event: error\ndata: worker 3 died\n\n",
        'data: {"detail": "worker 3 died"}\n\n',
        'data: {"code": 500, "msg": "worker 3 died"}\n\n',
        'data: {"detail": [{"loc": ["body"], "msg": "worker 3 died"}]}\n\n',
        'error: {"code": 500, "message": "worker 3 died"}\n\n',
        '{"error": {"code": 500, "message": "worker 3 died"}}\n',
        'data: {"choices": [{"delta": {}, "error": {"message": "worker 3 died"}}]}\n\n',
    ],
)
@pytest.mark.parametrize("begun", ["", 'data: {"choices": [{"delta": {"content": "The"}}]}\n\n'])
def test_an_error_inside_a_stream_is_the_reason_in_any_form(begun: str, body: str) -> None:
    with pytest.raises(ModelError, match="worker 3 died"):
        answer("text/event-stream", (begun + body).encode())
