"""Responses: what is sent, and what is read from the events."""

from dataclasses import replace
from typing import Any

import pytest

from agent.models.base import (
    AssistantMessage,
    Finish,
    Message,
    ModelConfig,
    OpaqueParts,
    Piece,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from agent.models.endpoint.families import traits_of
from agent.models.endpoint.writing import Writing
from agent.models.responses.api import RESPONSES as API
from tests.contract.model_suite import BASH, calls_of, reasoning_of, text_of

FAMILY = "responses/openai@openai"
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
MESSAGE = {
    "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
    "phase": "commentary", "content": [{"type": "output_text", "text": "I look."}],
}  # fmt: skip
CALL = {
    "type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "execute_bash",
    "arguments": '{"command": "ls"}', "status": "completed",
}  # fmt: skip
USAGE = {
    "input_tokens": 90, "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 10},
    "output_tokens": 12, "output_tokens_details": {"reasoning_tokens": 7},
}  # fmt: skip


def pieces_of(*events: Any) -> list[Piece]:
    parser = API.parser(Writing(FAMILY), [BASH])
    pieces = [piece for event in events for piece in parser.feed(event)]
    assert parser.is_complete
    return [*pieces, *parser.finish()]


def event(kind: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": index, **fields}


def completed(status: str = "completed", **fields: Any) -> dict[str, Any]:
    return event(status, response={"status": status, "usage": USAGE, **fields})


def call_events(index: int, call: dict[str, Any], *deltas: str) -> list[dict[str, Any]]:
    place = {"item_id": call["id"]}
    return [
        event("output_item.added", index, item=call | {"arguments": ""}),
        *(event("function_call_arguments.delta", index, **place, delta=each) for each in deltas),
        event("output_item.done", index, item=call),
    ]


STREAM = [
    event("output_item.added", 0, item=REASONING | {"encrypted_content": ""}),
    event("reasoning_summary_text.delta", 0, summary_index=0, delta="Look"),
    event("reasoning_summary_text.delta", 0, summary_index=0, delta=" first."),
    event("reasoning_summary_text.delta", 0, summary_index=1, delta="Then count."),
    event("output_item.done", 0, item=REASONING),
    event("output_item.added", 1, item=MESSAGE | {"content": []}),
    event("output_text.delta", 1, delta="I look."),
    event("output_item.done", 1, item=MESSAGE),
    *call_events(2, CALL, '{"command":', ' "ls"}'),
    completed(),
]
SECOND = CALL | {"id": "fc_2", "call_id": "call_b", "arguments": '{"command": "pwd"}'}
TWO_CALLS = [
    *call_events(0, CALL, '{"command": "ls"}'),
    *call_events(1, SECOND, '{"command": "pwd"}'),
    completed(),
]


def answer_of(pieces: list[Piece]) -> AssistantMessage:
    """Return the message that the loop makes of an answer."""
    finish = pieces[-1]
    assert isinstance(finish, Finish)
    calls = tuple(calls_of(pieces))
    return AssistantMessage(text_of(pieces), reasoning_of(pieces), calls, opaque=finish.opaque)


def sent(messages: list[Message], writing: Writing | None = None) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = API.conversation(messages, [BASH], writing or Writing(FAMILY))[
        "input"
    ]
    return items


def parameters(model: str = "gpt-5.6", **settings: Any) -> Any:
    config = ModelConfig("https://api.openai.com/v1", model, **settings)
    return API.parameters(config, settings.get("max_tokens"), traits_of(config.base_url, model))


def test_a_stream_becomes_pieces() -> None:
    pieces = pieces_of(*STREAM)
    answer, finish = answer_of(pieces), pieces[-1]
    assert (answer.text, answer.reasoning) == ("I look.", "Look first.\n\nThen count.")
    assert answer.calls == (ToolCall("call_a", "execute_bash", '{"command": "ls"}'),)
    usage = Usage(90, 12, 64, 7, 10, ("cached", "reasoning", "cache_written"))
    assert finish == Finish("tool_calls", usage, opaque=answer.opaque)


def without(value: Any, *keys: str) -> Any:
    """Return a copy of a JSON value without the given keys at any depth."""
    if not isinstance(value, dict):
        return value
    return {key: without(each, *keys) for key, each in value.items() if key not in keys}


@pytest.mark.parametrize("missing", [["output_index"], ["output_index", "item_id"]])
@pytest.mark.parametrize("stream", [STREAM, TWO_CALLS])
def test_items_without_an_index_are_told_apart(stream: list[Any], missing: list[str]) -> None:
    bare = [without(each, *missing) for each in stream]
    assert answer_of(pieces_of(*bare)) == answer_of(pieces_of(*stream))


def test_items_without_an_index_or_an_id_begin_after_the_last_one_ended() -> None:
    bare = [without(each, "output_index", "item_id", "id") for each in TWO_CALLS]
    assert answer_of(pieces_of(*bare)).calls == answer_of(pieces_of(*TWO_CALLS)).calls


def test_a_leaked_prefix_of_a_tools_name_is_left_out() -> None:
    called = CALL | {"name": "functions.execute_bash"}
    pieces = pieces_of(event("output_item.done", 0, item=called), completed())
    assert [call.name for call in answer_of(pieces).calls] == ["execute_bash"]


def test_all_items_go_back_in_order_and_unchanged() -> None:
    answer = answer_of(pieces_of(*STREAM))
    items = sent([UserMessage("List."), answer, ToolResult("call_a", "execute_bash", "a.txt")])
    assert items == [
        {"type": "message", "role": "user", "content": "List."},
        REASONING,
        MESSAGE,
        CALL,
        {"type": "function_call_output", "call_id": "call_a", "output": "a.txt"},
    ]


@pytest.mark.parametrize(
    "writing", [Writing("responses/other@x"), Writing(FAMILY, send_reasoning=False)]
)
def test_without_the_reasoning_no_ids_are_sent(writing: Writing) -> None:
    """An item with an id must be sent with the reasoning that came before it."""
    items = sent([answer_of(pieces_of(*STREAM))], writing)
    assert [item["type"] for item in items] == ["message", "function_call"]
    assert not any("id" in item for item in items)


def test_a_call_that_got_another_id_goes_back_with_it() -> None:
    answer = replace(
        answer_of(pieces_of(*STREAM)), calls=(ToolCall("call_3_0", "execute_bash", "{}"),)
    )
    call = sent([answer])[-1]
    assert (call["id"], call["call_id"], call["arguments"]) == ("fc_1", "call_3_0", "{}")


def test_a_whole_body_is_read_like_a_stream() -> None:
    body = {"object": "response", "status": "completed", "output": [REASONING, MESSAGE, CALL]}
    assert API.is_answer(body)
    answer = answer_of(pieces_of(body))
    assert (answer.text, len(answer.calls)) == ("I look.", 1)
    assert answer.opaque == answer_of(pieces_of(*STREAM)).opaque


def test_reasoning_text_of_open_models_is_shown() -> None:
    pieces = pieces_of(event("reasoning_text.delta", delta="Hm."), completed())
    assert answer_of(pieces).reasoning == "Hm."


def test_an_answer_that_was_cut_off_says_why() -> None:
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    finish = pieces_of(completed("incomplete", **details))[-1]
    assert isinstance(finish, Finish)
    assert finish.reason == "length"


@pytest.mark.parametrize("damaged", [None, [], "x", {"type": "response.output_item.done"}, {
    "type": "response.output_item.added", "item": [1]}, {"type": "response.completed"},
    {"type": "response.function_call_arguments.delta", "output_index": 9, "delta": "x"},
])  # fmt: skip
def test_malformed_events_are_ignored(damaged: object) -> None:
    assert answer_of(pieces_of(damaged, *STREAM)).text == "I look."


@pytest.mark.parametrize(
    "failed",
    [
        {"type": "error", "code": "server_error", "message": "It broke.", "param": None},
        {"type": "error", "error": {"type": "server_error", "message": "It broke."}},
        event("failed", response={"error": {"code": "server_error", "message": "It broke."}}),
    ],
)
def test_a_failure_in_a_stream_is_found(failed: object) -> None:
    failure = API.failure(failed)
    assert failure is not None
    assert "It broke." in str(failure.body)
    assert failure.streaming
    assert API.failure({"type": "response.created", "response": {"error": None}}) is None


def test_nothing_is_stored_and_encrypted_reasoning_is_asked_for() -> None:
    body = parameters(effort="high", verbosity="low", max_tokens=500).body
    assert body == {
        "model": "gpt-5.6", "store": False, "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 500, "reasoning": {"effort": "high", "summary": "auto"},
        "text": {"verbosity": "low"},
    }  # fmt: skip


def test_settings_that_cannot_be_sent_are_named() -> None:
    found = parameters(temperature=0.5, top_p=0.9, seed=7)
    assert set(found.left_out) == {"temperature", "top_p", "seed"}
    assert not {"temperature", "top_p", "seed"} & found.body.keys()
    other = parameters("gpt-4.1", temperature=0.5)
    assert (other.body["temperature"], dict(other.left_out)) == (0.5, {})


def test_the_system_prompt_is_the_instructions() -> None:
    body = API.conversation([SystemMessage("Be brief."), UserMessage("Hi")], [BASH], Writing())
    assert body["instructions"] == "Be brief."
    assert body["tools"][0]["name"] == BASH.name
    assert body["tools"][0]["strict"] is False


def test_parts_of_another_form_are_not_sent() -> None:
    call = ToolCall("a", "execute_bash", "{}")
    parts = OpaqueParts(FAMILY, {"items": [REASONING]})
    items = sent([AssistantMessage("", "", (call,), opaque=parts)])
    assert [item["type"] for item in items] == ["function_call"]
