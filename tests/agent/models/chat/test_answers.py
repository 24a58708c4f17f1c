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
from agent.models.endpoint.api import Writing
from agent.models.endpoint.client import EndpointModel
from agent.util.cancellation import Stop
from tests.contract.model_suite import REQUEST, calls_of, reasoning_of, text_of
from tests.support.component.events import started
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.model_requests import stream_chunks, stream_request

pytestmark = pytest.mark.contract


def fragment(**parts: Any) -> dict[str, Any]:
    function = {key: parts.pop(key) for key in ("name", "arguments") if key in parts}
    return {"tool_calls": [{**parts, "function": function}]}


# What comes back


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text", "think"])
def test_reasoning_is_read_from_every_known_field(field: str) -> None:
    turn = Turn(text="42", reasoning="Six by seven.", reasoning_field=field, fragment_length=1)
    with Endpoint([turn]) as endpoint:
        pieces = stream_request(endpoint)
    assert (reasoning_of(pieces).strip(), text_of(pieces)) == ("Six by seven.", "42")


def test_reasoning_sent_in_two_fields_is_used_once() -> None:
    assert reasoning_of(stream_chunks({"reasoning": "Hm.", "reasoning_content": "Hm."})) == "Hm."


def test_content_may_be_a_list_of_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    pieces = stream_chunks({"content": [thinking, {"type": "text", "text": "Yes."}]})
    assert (reasoning_of(pieces), text_of(pieces)) == ("Hm.", "Yes.")


ONE = fragment(index=0, id="a", name="one", arguments='{"x":1}')
ONE_BEGINS = fragment(index=0, id="a", name="one", arguments='{"x":')
ONE_ENDS = fragment(index=0, arguments="1}")
TWO = fragment(index=1, id="b", name="two", arguments='{"y":2}')
FRAGMENTS: dict[str, list[dict[str, Any]]] = {
    "as the protocol says": [
        fragment(index=0, id="a", name="one", arguments=""),
        fragment(index=0, arguments='{"x":'),
        ONE_ENDS,
        TWO,
    ],
    "without ids": [
        fragment(index=0, name="one", arguments='{"x":'),
        ONE_ENDS,
        fragment(index=1, name="two", arguments='{"y":2}'),
    ],
    "whole calls under one index without ids": [
        fragment(index=0, name="one", arguments='{"x":1}'),
        fragment(index=0, name="two", arguments='{"y":2}'),
    ],
    "whole calls under one index with ids": [
        ONE,
        fragment(index=0, id="b", name="two", arguments='{"y":2}'),
    ],
    "no index": [
        fragment(id="a", name="one", arguments='{"x":'),
        fragment(arguments="1}"),
        fragment(index=None, id="b", name="two", arguments='{"y":2}'),
    ],
    "id and name repeated": [
        ONE_BEGINS,
        fragment(index=0, id="a", name="one", arguments="1}"),
        TWO,
    ],
    "a new id in every fragment": [
        ONE_BEGINS,
        fragment(index=0, id="b", arguments="1}"),
        fragment(index=1, id="c", name="two", arguments='{"y":2}'),
    ],
    "one id for all": [ONE, fragment(index=1, id="a", name="two", arguments='{"y":2}')],
    "interleaved": [
        fragment(index=0, id="a", name="one", arguments=""),
        fragment(index=1, id="b", name="two", arguments=""),
        fragment(index=0, arguments='{"x":1}'),
        fragment(index=1, arguments='{"y":2}'),
    ],
    "the name late, and the id": [
        fragment(index=0, arguments='{"x":'),
        fragment(index=0, id="a", name="one", arguments="1}"),
        TWO,
    ],
    "the complete arguments once more at the end": [
        ONE_BEGINS,
        ONE_ENDS,
        fragment(index=0, arguments='{"x":1}'),
        TWO,
    ],
    "all arguments so far in every fragment": [
        fragment(index=0, id="a", name="one", arguments="{"),
        fragment(index=0, arguments='{"x"'),
        fragment(index=0, arguments='{"x":1}'),
        TWO,
    ],
    "an empty object first": [
        fragment(index=0, id="a", name="one", arguments="{}"),
        fragment(index=0, arguments='{"x":1}'),
        fragment(index=1, id="b", name="two", arguments={}),
        fragment(index=1, arguments='{"y":2}'),
    ],
    "an index that changes within a call": [
        fragment(index=2, id="a", name="one", arguments=""),
        fragment(index=1, id="a", arguments='{"x":1}'),
        fragment(index=3, id="b", name="two", arguments='{"y":2}'),
    ],
    "alternating by id": [
        fragment(id="a", name="one", arguments='{"x"'),
        fragment(id="b", name="two", arguments='{"y"'),
        fragment(id="a", arguments=":1}"),
        fragment(id="b", arguments=":2}"),
    ],
    "alternating by id, under one index": [
        fragment(index=0, id="a", name="one", arguments='{"x"'),
        fragment(index=0, id="b", name="two", arguments='{"y"'),
        fragment(index=0, id="a", arguments=":1}"),
        fragment(index=0, id="b", arguments=":2}"),
    ],
    "arguments as objects": [
        fragment(index=0, id="a", name="one", arguments={"x": 1}),
        fragment(index=1, id="b", name="two", arguments={"y": 2}),
    ],
}


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
    (call,) = calls_of(stream_chunks(fragment(index=0, name=written, arguments="{}")))
    assert (call.name, call.arguments) == (name, "{}")
    assert call.id


def test_halves_of_a_character_are_joined_in_text_reasoning_and_arguments() -> None:
    call = fragment(index=0, id="a", name="one", arguments='{"x": "\ud83d')
    pieces = stream_chunks(
        {"content": "a\ud83d", "reasoning": "b\ud83d"},
        {"content": "\ude00", "reasoning": "\ude00"},
        call, fragment(index=0, arguments='\ude00"}'), {"content": "c\ud83d"},
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


def test_text_calls_remain_text_beside_native_calls() -> None:
    written = '<tool_call>{"name": "execute_bash", "arguments": {"command": "ls"}}</tool_call>'
    pieces = stream_chunks({"content": written}, fragment(id="a", name="submit", arguments="{}"))
    assert text_of(pieces) == written
    assert [call.name for call in calls_of(pieces)] == ["submit"]


def test_text_calls_count_where_no_native_call_comes_and_the_user_is_told_once() -> None:
    written = '<tool_call>{"name": "execute_bash", "arguments": {"command": "ls"}}</tool_call>'
    with Endpoint([Turn(text=written), Turn(text=written)]) as endpoint:
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
