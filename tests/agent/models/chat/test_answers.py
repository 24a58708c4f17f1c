"""Answers of endpoints, in the formats of all known servers."""

import sys
from types import FrameType
from typing import Any

import pytest

from agent.events import ModelAnswered
from agent.limits import Limits
from agent.loop.conversation import Conversation
from agent.loop.turn import TurnRunner
from agent.models.base import Finish, ModelConfig, ModelNotice, Usage
from agent.models.chat.stream import StreamParser
from agent.models.endpoint.client import EndpointModel
from agent.models.endpoint.writing import Writing
from agent.util.stop import Stop
from tests.contract.model_suite import REQUEST, calls_of, reasoning_of, text_of
from tests.support.component.events import started
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.model_requests import stream_chunks, stream_request

pytestmark = pytest.mark.contract


def fragment(
    arguments: Any = "", name: str = "", id: str = "", index: int | str | None = 0
) -> dict[str, Any]:
    """Return a delta with a part of a call; an empty name, id or index is left out."""
    function = {"arguments": arguments, **({"name": name} if name else {})}
    call = {"function": function, **({"id": id} if id else {})}
    return {"tool_calls": [call if index == "" else call | {"index": index}]}


# What comes back


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text", "think"])
def test_reasoning_is_read_from_every_known_field(field: str) -> None:
    turn = Turn(text="42", reasoning="Six by seven.", reasoning_field=field, fragment_length=1)
    with Endpoint([turn]) as endpoint:
        pieces = stream_request(endpoint)
    assert (reasoning_of(pieces).strip(), text_of(pieces)) == ("Six by seven.", "42")


THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "Hm.", "reasoning_content": "Hm.", "content": "Yes."},
        {"content": [THINKING, {"type": "text", "text": "Yes."}]},
    ],
    ids=["two fields", "a list of parts"],
)
def test_reasoning_is_used_once_and_is_no_text(delta: dict[str, Any]) -> None:
    pieces = stream_chunks(delta)
    assert (reasoning_of(pieces), text_of(pieces)) == ("Hm.", "Yes.")


ONE, ONE_BEGINS = fragment('{"x":1}', "one", "a"), fragment('{"x":', "one", "a")
TWO = fragment('{"y":2}', "two", "b", 1)
FRAGMENTS: dict[str, list[dict[str, Any]]] = {
    "as the protocol says": [
        fragment("", "one", "a"), fragment('{"x":'), fragment("1}"), TWO,
    ],
    "without ids": [
        fragment('{"x":', "one"), fragment("1}"), fragment('{"y":2}', "two", index=1),
    ],
    "whole calls under one index without ids": [
        fragment('{"x":1}', "one"), fragment('{"y":2}', "two"),
    ],
    "whole calls under one index with ids": [ONE, fragment('{"y":2}', "two", "b")],
    "no index": [
        fragment('{"x":', "one", "a", ""), fragment("1}", index=""),
        fragment('{"y":2}', "two", "b", None),
    ],
    "id and name repeated": [ONE_BEGINS, fragment("1}", "one", "a"), TWO],
    "a new id in every fragment": [
        ONE_BEGINS, fragment("1}", id="b"), fragment('{"y":2}', "two", "c", 1),
    ],
    "one id for all": [ONE, fragment('{"y":2}', "two", "a", 1)],
    "interleaved": [
        fragment("", "one", "a"), fragment("", "two", "b", 1),
        fragment('{"x":1}'), fragment('{"y":2}', index=1),
    ],
    "the name late, and the id": [fragment('{"x":'), fragment("1}", "one", "a"), TWO],
    "the complete arguments once more at the end": [
        ONE_BEGINS, fragment("1}"), fragment('{"x":1}'), TWO,
    ],
    "all arguments so far in every fragment": [
        fragment("{", "one", "a"), fragment('{"x"'), fragment('{"x":1}'), TWO,
    ],
    "an empty object first": [
        fragment("{}", "one", "a"), fragment('{"x":1}'),
        fragment({}, "two", "b", 1), fragment('{"y":2}', index=1),
    ],
    "an index that changes within a call": [
        fragment("", "one", "a", 2), fragment('{"x":1}', id="a", index=1),
        fragment('{"y":2}', "two", "b", 3),
    ],
    "alternating by id": [
        fragment('{"x"', "one", "a", ""), fragment('{"y"', "two", "b", ""),
        fragment(":1}", id="a", index=""), fragment(":2}", id="b", index=""),
    ],
    "alternating by id, under one index": [
        fragment('{"x"', "one", "a"), fragment('{"y"', "two", "b"),
        fragment(":1}", id="a"), fragment(":2}", id="b"),
    ],
    "arguments as objects": [
        fragment({"x": 1}, "one", "a"), fragment({"y": 2}, "two", "b", 1),
    ],
}  # fmt: skip


@pytest.mark.parametrize("deltas", FRAGMENTS.values(), ids=FRAGMENTS.keys())
def test_calls_are_assembled_from_any_fragments(deltas: list[Any]) -> None:
    pieces = stream_chunks(*deltas)
    one, two = calls_of(pieces)
    assert (one.name, one.arguments.replace(" ", "")) == ("one", '{"x":1}')
    assert (two.name, two.arguments.replace(" ", "")) == ("two", '{"y":2}')
    assert one.id != two.id
    assert pieces[-1] == Finish("tool_calls", None)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("", ""),  # the model learns of it
        ("submit", "submit"),
        ("functions.execute_bash:0", "execute_bash"),
        ("execute_bash<|channel|>json", "execute_bash"),
    ],
)
def test_a_call_has_the_name_of_its_tool_and_an_id(written: str, name: str) -> None:
    (call,) = calls_of(stream_chunks(fragment("{}", written)))
    assert (call.name, call.arguments) == (name, "{}")
    assert call.id


def test_halves_of_a_character_are_joined_in_text_reasoning_and_arguments() -> None:
    call = fragment('{"x": "\ud83d', "one", "a")
    pieces = stream_chunks(
        {"content": "a\ud83d", "reasoning": "b\ud83d"},
        {"content": "\ude00", "reasoning": "\ude00"},
        call, fragment('\ude00"}'), {"content": "c\ud83d"},
    )  # fmt: skip
    assert (text_of(pieces), reasoning_of(pieces)) == ("a😀c\ufffd", "b😀")
    assert calls_of(pieces)[0].arguments == '{"x": "😀"}'


def test_a_message_that_repeats_the_deltas_is_not_read_twice() -> None:
    text = "The answer is 42."
    message = {"role": "assistant", "content": text}
    finished = {"index": 0, "finish_reason": "stop"}
    for last in ({"delta": {}, "message": message}, {"message": message}, {"delta": message}):
        end = {"choices": [{**finished, **last}]}
        pieces = stream_chunks({"content": text[:7]}, {"content": text[7:]}, end, finish=None)
        assert text_of(pieces) == text


WRITTEN_CALL = '<tool_call>{"name": "execute_bash", "arguments": {"command": "ls"}}</tool_call>'


def test_text_calls_remain_text_beside_native_calls() -> None:
    pieces = stream_chunks({"content": WRITTEN_CALL}, fragment("{}", "submit", "a"))
    assert text_of(pieces) == WRITTEN_CALL
    assert [call.name for call in calls_of(pieces)] == ["submit"]


def test_text_calls_count_where_no_native_call_comes_and_the_user_is_told_once() -> None:
    with Endpoint([Turn(text=WRITTEN_CALL)] * 2) as endpoint:
        model = EndpointModel(ModelConfig(endpoint.url, "test-model"))
        for notices in (1, 0):
            pieces = list(model.stream(REQUEST, Stop()))
            assert [call.name for call in calls_of(pieces)] == ["execute_bash"]
            assert sum(isinstance(piece, ModelNotice) for piece in pieces) == notices
            assert getattr(pieces[-1], "reason", "") == "tool_calls"


CACHED, WRITTEN = {"cached_tokens": 4}, {"cache_creation_tokens": 7}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"completion_tokens": 2, "prompt_cache_hit_tokens": 5}, Usage(9, 2, 5)),
        ({"prompt_tokens_details": CACHED}, Usage(9, 0, 4)),
        ({"completion_tokens_details": {"reasoning_tokens": 1}}, Usage(9, 0, 0, 1)),
        ({"cache_creation_input_tokens": 7}, Usage(9, 0, cache_written=7)),
        ({"prompt_tokens_details": WRITTEN}, Usage(9, 0, cache_written=7)),
        (
            {"prompt_tokens_details": {"cache_creation_input_tokens": 7}},
            Usage(9, 0, cache_written=7),
        ),
        ({"cache_read_input_tokens": 5}, Usage(9, 0, 5)),
        ({"prompt_tokens_details": None}, Usage(9, 0)),
        ({"prompt_tokens": "many"}, None),
    ],
)
def test_usage_is_read_in_every_known_shape(usage: Any, expected: Usage | None) -> None:
    counted = {"choices": [], "usage": {"prompt_tokens": 9, **usage}}
    assert stream_chunks({"content": "Hi"}, counted)[-1] == Finish("stop", expected)


def test_a_reported_zero_is_told_from_a_count_that_is_missing() -> None:
    usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}
    finish = stream_chunks({"content": "Hi"}, {"choices": [], "usage": usage})[-1]
    assert isinstance(finish, Finish)
    assert finish.usage is not None
    assert (finish.usage.known("cached"), finish.usage.known("reasoning")) == (0, None)


def test_only_usage_after_the_answer_ends_it() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    pieces = stream_chunks(usage, {"content": "Hi"}, usage, {"content": " there"})
    assert text_of(pieces) == "Hi there"
    with Endpoint([Turn(chunks=[{"choices": [{"delta": {"content": "Hi"}}]}, usage])]) as endpoint:
        assert stream_request(endpoint)[-1] == Finish("stop", Usage(9, 1))


@pytest.mark.parametrize(
    "junk",
    [
        "null",
        "[]",
        '"text"',
        "{}",
        '{"choices": null}',
        '{"choices": [null]}',
        '{"choices": [{"delta": "x"}]}',
        '{"choices": [{"delta": {"content": 5, "reasoning": [], "tool_calls": "x"}}]}',
        '{"choices": [{"delta": {"tool_calls": [null, {"function": "f", "index": "0"}]}}]}',
        '{"choices": [{"index": 1, "delta": {"content": "another choice"}}]}',
    ],
)
def test_unexpected_chunks_are_ignored(junk: str) -> None:
    assert text_of(stream_chunks(junk, {"content": "Hi"})) == "Hi"


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("odd", "other"),
        (None, "stop"),  # the end marker completes the answer
    ],
)
def test_finish_reasons_are_reported(finish: str | None, reason: str) -> None:
    assert stream_chunks({"content": "Hi"}, finish=finish)[-1] == Finish(reason, None)  # type: ignore[arg-type]


def test_a_response_without_streaming_is_accepted() -> None:
    turn = Turn(text="Hi", reasoning="Hm.", calls=[("execute_bash", {})], unstreamed=True)
    with Endpoint([turn]) as endpoint:
        pieces = stream_request(endpoint)
    assert (text_of(pieces), reasoning_of(pieces)) == ("Hi", "Hm.")
    assert calls_of(pieces)[0].name == "execute_bash"
    assert pieces[-1] == Finish("tool_calls", Usage(100, 20))


def test_an_answer_is_finished_even_if_the_connection_stays_open() -> None:
    with Endpoint([Turn(text="Hi", fault="endless")]) as endpoint:
        assert stream_request(endpoint)[-1] == Finish("stop", Usage(100, 20))


def test_small_fragments_are_merged() -> None:
    with Endpoint([Turn(text="x" * 20_000, fragment_length=4)]) as endpoint:
        pieces = stream_request(endpoint)
    assert text_of(pieces) == "x" * 20_000
    assert len(pieces) < 1000


def test_a_turn_whose_reasoning_has_only_a_closing_tag_answers_with_the_rest() -> None:
    with Endpoint([Turn(text="First 41.\n</think>\n\n42", fragment_length=3)]) as endpoint:
        model = EndpointModel(ModelConfig(endpoint.url, "test-model"))
        conversation = Conversation()
        conversation.apply(started(mode="plain"))
        events = list(TurnRunner(model, conversation, (), Limits(), Stop()).run(1))
    answered = events[-1]
    assert isinstance(answered, ModelAnswered)
    assert (answered.text, answered.reasoning) == ("42", "First 41.\n")


def test_the_text_is_not_joined_for_each_chunk_with_a_finish_reason() -> None:
    joins = 0

    def count(frame: FrameType, event: str, function: Any) -> None:
        nonlocal joins
        if event == "c_call" and frame.f_code.co_filename.endswith("agent/models/chat/stream.py"):
            joins += getattr(function, "__name__", "") == "join"

    parser = StreamParser(Writing())
    choice = {"delta": {"content": "Sixteen letters."}, "finish_reason": "stop"}
    sys.setprofile(count)
    try:
        pieces = [piece for _ in range(100) for piece in parser.feed({"choices": [choice]})]
    finally:
        sys.setprofile(None)
    assert text_of([*pieces, *parser.finish()]) == "Sixteen letters." * 100
    assert joins < 20
