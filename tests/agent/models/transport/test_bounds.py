"""Limits on how much of an endpoint's response is read."""

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import pytest

from agent.errors import ModelError, ModelRefused, ModelUnavailable
from agent.models.base import ModelConfig
from agent.models.passport.probe import check_endpoint, list_models
from agent.models.transport.bounds import MAX_BODY_BYTES, MAX_CALLS, _Decompressor
from tests.contract.model_suite import calls_of, text_of
from tests.support.hostile.flood import FloodServer
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.model_requests import stream_chunks, stream_from, stream_request

pytestmark = pytest.mark.contract

JSON = "HTTP/1.1 200 OK\nContent-Type: application/json"
EVENTS = "HTTP/1.1 200 OK\nContent-Type: text/event-stream"
ERROR = "HTTP/1.1 503 Service Unavailable\nContent-Type: application/json"
BLOCK = b"x" * 65536
GIGABYTE = 2**30 // len(BLOCK)


def gzipped_zeros(megabytes: int) -> bytes:
    """Return a gzip body that decompresses to this many megabytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(packer.compress(bytes(2**20)) for _ in range(megabytes)) + packer.flush()


FLOODS: dict[str, tuple[str, Callable[[], Iterator[bytes]]]] = {
    "a JSON body": (JSON, lambda: repeat(BLOCK, GIGABYTE)),
    "a line without an end": (EVENTS, lambda: repeat(BLOCK, GIGABYTE)),
    "an event without an end": (EVENTS, lambda: repeat(b"data: %b\n" % BLOCK, GIGABYTE)),
    "a comment without an end": (EVENTS, lambda: iter([b":", *repeat(BLOCK, GIGABYTE)])),
    "packed JSON": (f"{JSON}\nContent-Encoding: gzip", lambda: iter([gzipped_zeros(128)])),
    "a packed line": (f"{EVENTS}\nContent-Encoding: gzip", lambda: iter([gzipped_zeros(128)])),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_an_endless_answer_is_aborted_with_an_error(flood: str) -> None:
    head, body = FLOODS[flood]
    with FloodServer(head, body()) as server:
        tracemalloc.start()
        with pytest.raises(ModelRefused, match="sent more than 8 MB") as caught:
            stream_from(ModelConfig(server.url, "m"))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert server.url in str(caught.value)
    assert server.sent < 8 * MAX_BODY_BYTES  # what the sockets hold included
    assert peak < 8 * MAX_BODY_BYTES


@pytest.mark.parametrize(
    ("head", "block", "model"),
    [(JSON, BLOCK, ""), (JSON, BLOCK, "m"), (EVENTS, b"data: []\n\n" * 6554, "")],
)
def test_an_endless_model_list_is_aborted_with_an_error(
    head: str, block: bytes, model: str
) -> None:
    with FloodServer(head, repeat(block, GIGABYTE)) as server:
        assert "sent more than 8 MB" in check_endpoint(ModelConfig(server.url, model)).message
    assert server.sent < 8 * MAX_BODY_BYTES


@pytest.mark.parametrize("packed", [False, True])
def test_only_the_beginning_of_an_error_is_read(packed: bool) -> None:
    head = f"{ERROR}\nContent-Encoding: gzip" if packed else ERROR
    body = [gzip.compress(b"overloaded, " + bytes(2**27))] if packed else repeat(BLOCK, GIGABYTE)
    with (
        FloodServer(head, body) as server,
        pytest.raises(ModelUnavailable, match=r"answered 503: (overloaded|xxx)"),
    ):
        stream_from(ModelConfig(server.url, "m"))
    assert server.sent < 2 * MAX_BODY_BYTES


def test_the_total_size_of_a_stream_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.models.transport.bounds.MAX_STREAM_BYTES", 2**20)
    with (
        FloodServer(EVENTS, repeat(b'data: {"choices": []}\n\n' * 2849, GIGABYTE)) as server,
        pytest.raises(ModelRefused, match="sent more than 1 MB in one answer"),
    ):
        stream_from(ModelConfig(server.url, "m"))
    assert server.sent < 2 * MAX_BODY_BYTES


HELLO = {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}
HELLO_DELTA = {"choices": [{"delta": {"content": "Hello"}, "finish_reason": "stop"}]}
HELLO_EVENTS = [f"data: {json.dumps(HELLO_DELTA)}\n\n".encode(), b"data: [DONE]\n\n"]


@pytest.mark.parametrize(
    ("head", "packed"),
    [
        (f"{JSON}\nContent-Encoding: GZIP", gzip.compress(json.dumps(HELLO).encode())),
        # A member for each event, and padding.
        (
            f"{EVENTS}\nContent-Encoding: gzip",
            b"".join(map(gzip.compress, HELLO_EVENTS)) + bytes(100),
        ),
    ],
    ids=["a body", "a stream"],
)
def test_unrequested_compression_is_decoded(head: str, packed: bytes) -> None:
    with FloodServer(head, [packed]) as server:
        assert text_of(stream_from(ModelConfig(server.url, "m"))) == "Hello"


def test_many_members_of_a_gzip_body_are_copied_in_slices() -> None:
    member = gzip.compress(b": x\n")
    decompressor = _Decompressor()
    copied = 0
    for _ in decompressor.feed(member * 5000):
        copied += len(decompressor._inner.unused_data)
    assert copied < 5000 * 4096


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip"])
def test_an_unknown_content_encoding_is_refused(encoding: str) -> None:
    with (
        FloodServer(f"{JSON}\nContent-Encoding: {encoding}", [b"x"]) as server,
        pytest.raises(ModelUnavailable, match="cannot be decoded"),
    ):
        stream_from(ModelConfig(server.url, "m"))


def test_no_compression_is_requested() -> None:
    with Endpoint([Turn(text="Hi")]) as endpoint:
        stream_request(endpoint)
        list_models(ModelConfig(endpoint.url, ""))
    assert {received.headers["accept-encoding"] for received in endpoint.received} == {"identity"}


def test_the_total_size_of_an_answer_is_limited() -> None:
    text = "x" * 2**20
    with pytest.raises(ModelRefused, match="longer than 8 MB"):
        stream_chunks(*[{"content": text}] * 9)


def _calls(count: int, name: str) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": "{}"}
    calls = ({"index": at, "id": f"call_{at}", "function": function} for at in range(count))
    return [{"tool_calls": [call]} for call in calls]


@pytest.mark.parametrize("name", ["execute_bash", ""])
def test_more_calls_than_allowed_end_the_answer(name: str) -> None:
    assert len(calls_of(stream_chunks(*_calls(MAX_CALLS, name)))) == MAX_CALLS
    with pytest.raises(ModelUnavailable, match="128 tool calls"):
        stream_chunks(*_calls(3000, name))


def test_more_text_calls_than_allowed_end_the_answer() -> None:
    call = '<tool_call>{"name": "execute_bash", "arguments": {}}</tool_call>\n'
    with pytest.raises(ModelError, match="128 tool calls"):
        stream_chunks({"content": call * 3000}, tool_call_style="text")
