"""Parsing a model's answer from a stream that is split anywhere and contains anything."""

import json
from collections.abc import AsyncIterator, Iterable
from unittest.mock import patch

import httpx2
from hypothesis import strategies as st

from agent.errors import ModelError
from agent.models.base import CallPiece, Finish, ModelConfig, Piece, ReasoningPiece, TextPiece
from agent.models.endpoint import connection as endpoint_connection
from agent.models.endpoint.client import EndpointModel
from agent.models.transport.bounds import limit_response
from agent.util.stop import Stop
from tests.contract.model_suite import REQUEST, calls_of, reasoning_of, text_of
from tests.properties import TEXT, property_test, split_at
from tests.properties.answer_chunks import parse_chunks
from tests.support.models.turns import Call, Turn, response_chunks


class _PartsStream(httpx2.AsyncByteStream):
    """A response body that arrives in exactly these parts."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


def parse_stream(parts: list[bytes]) -> list[Piece] | str:
    """What the client parses from a body; the class name of the error if it raises one."""
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers=headers, stream=_PartsStream(parts))
    )
    client = httpx2.AsyncClient(transport=transport, event_hooks={"response": [limit_response]})
    with patch.object(endpoint_connection, "shared_client", lambda *_, **__: client):
        model = EndpointModel(ModelConfig("http://endpoint/v1", "m"))
        try:
            return list(model.stream(REQUEST, Stop()))
        except ModelError as error:
            return type(error).__name__


def normalize(pieces: list[Piece] | str) -> object:
    """An answer without the differences that splitting may cause, such as generated ids."""
    if isinstance(pieces, str):
        return pieces
    calls = [(call.name, call.arguments) for call in calls_of(pieces)]
    return reasoning_of(pieces), text_of(pieces), calls, pieces[-1]


TURNS = st.builds(
    Turn,
    text=TEXT,
    reasoning=TEXT,
    calls=st.lists(
        st.builds(Call, st.sampled_from(["execute_bash", "submit"]), st.dictionaries(TEXT, TEXT)),
        max_size=3,
    ),
    fragment_length=st.integers(1, 9),
    reasoning_field=st.sampled_from(["reasoning_content", "think"]),
)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
OTHER_LINES = st.sampled_from(["", ": a comment", "event: message", "id: 7", "retry: 10"])


@property_test(TURNS, LINE_ENDS, OTHER_LINES, st.lists(st.integers(0, 10**6), max_size=30),
               examples=10, long_examples=100)  # fmt: skip
def test_the_answer_does_not_depend_on_how_the_stream_is_split(
    turn: Turn, end: str, noise: str, offsets: list[int]
) -> None:
    """The whole client is tested, with splits within characters, line ends and escapes."""
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}" for chunk in response_chunks(turn)]
    lines.append("data: [DONE]")
    before = noise + end if noise else ""
    data = "".join(f"{before}{line}{end}{end}" for line in lines).encode()
    whole = parse_stream([data])
    assert not isinstance(whole, str)
    assert len(calls_of(whole)) == len(turn.calls)
    for parts in (split_at(data, offsets), [data[at : at + 1] for at in range(len(data))]):
        assert normalize(parse_stream(parts)) == normalize(whole)


@property_test(st.lists(st.binary(max_size=40), max_size=8), st.booleans())
def test_an_invalid_stream_is_a_model_error_or_an_answer(parts: list[bytes], as_data: bool) -> None:
    data = [b"data: " + part + b"\n\n" for part in parts] if as_data else parts
    found = parse_stream(data)
    assert isinstance(found, str) or isinstance(found[-1], Finish)


SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "message", "content", "tool_calls", "function", "index", "id",
                 "name", "arguments", "usage", "prompt_tokens", "finish_reason", "reasoning",
                 "type", "text", "thinking", "refusal"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)  # fmt: skip
DELTAS = st.fixed_dictionaries(
    {"choices": st.tuples(st.fixed_dictionaries({"delta": JSON})).map(list)}
)


def check_pieces(pieces: list[Piece]) -> None:
    """Assert what the loop relies on, whatever the endpoint sent."""
    assert [type(piece) for piece in pieces].count(Finish) == 1
    assert isinstance(pieces[-1], Finish)
    firsts: dict[int, CallPiece] = {}
    for piece in pieces:
        if isinstance(piece, CallPiece):
            firsts.setdefault(piece.index, piece)
        if isinstance(piece, TextPiece | ReasoningPiece):
            piece.text.encode()
    assert sorted(firsts) == list(range(len(firsts)))
    ids = [piece.id for piece in firsts.values()]
    assert all(ids)
    assert len(set(ids)) == len(ids)


@property_test(st.lists(JSON | DELTAS, max_size=5), st.booleans())
def test_chunks_of_any_shape_make_a_consistent_answer(
    chunks: list[object], text_calls: bool
) -> None:
    check_pieces(parse_chunks(chunks, text_calls=text_calls))
