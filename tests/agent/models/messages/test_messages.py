"""Messages: what is sent, and what is read from the events."""

from typing import Any

import pytest

from agent.models.base import (
    AssistantMessage,
    Finish,
    Message,
    ModelConfig,
    ModelNotice,
    OpaqueParts,
    Piece,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from agent.models.endpoint.api import CACHE_MARKS
from agent.models.endpoint.families import traits_of
from agent.models.endpoint.writing import Writing
from agent.models.messages.api import MESSAGES as API
from agent.models.messages.request import THINKING_FIRST
from tests.contract.model_suite import BASH, calls_of, reasoning_of, text_of

FAMILY = "messages/claude@anthropic"
OFFICIAL = "https://api.anthropic.com"
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
LS = ToolCall("toolu_1", "execute_bash", '{"command": "ls"}')


def parameters(model: str, limit: int | None = None, **settings: Any) -> Any:
    config = ModelConfig(OFFICIAL, model, **settings)
    return API.parameters(config, limit, traits_of(OFFICIAL, model))


def conversation(*messages: Message, changes: tuple[str, ...] = ()) -> dict[str, Any]:
    return API.conversation(messages, [BASH], Writing(FAMILY, changes=changes))


def content_of(answer: AssistantMessage) -> list[Any]:
    """Return what is sent of an answer in the middle of a conversation."""
    results = [ToolResult(call.id, call.name, "x") for call in answer.calls]
    messages = conversation(UserMessage("Go."), answer, *results, UserMessage("On."))["messages"]
    return list(messages[1]["content"])


def pieces_of(*events: Any) -> list[Piece]:
    parser = API.parser(Writing(FAMILY), [BASH])
    pieces = [piece for event in events for piece in parser.feed(event)]
    assert parser.is_complete
    return [*pieces, *parser.finish()]


def finish_of(pieces: list[Piece]) -> Finish:
    assert isinstance(pieces[-1], Finish)
    return pieces[-1]


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def deltas(kind: str, *texts: str) -> list[dict[str, Any]]:
    field = "partial_json" if kind == "input_json" else kind
    return [{"type": f"{kind}_delta", field: text} for text in texts]


def end(reason: str = "end_turn") -> list[dict[str, Any]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 12}},
        {"type": "message_stop"},
    ]


START_USAGE = {
    "input_tokens": 16, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 10,
    "output_tokens": 1,
}  # fmt: skip
START = {"type": "message_start", "message": {"usage": START_USAGE}}
YES = block(0, {"type": "text", "text": "Yes."})


# What is sent


def test_the_system_prompt_and_the_tools_are_fields_of_their_own() -> None:
    body = conversation(SystemMessage("Be careful."), UserMessage("Go."))
    tool = {"name": BASH.name, "description": BASH.description, "input_schema": BASH.parameters}
    assert body == {
        "system": [{"type": "text", "text": "Be careful."}],
        "tools": [tool],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Go."}]}],
    }


def test_results_come_first_in_one_message_of_the_user() -> None:
    submit = ToolCall("functions.submit:1", "submit", "{broken")
    body = conversation(
        UserMessage("Go."),
        AssistantMessage("", calls=(LS, submit)),
        ToolResult("toolu_1", "execute_bash", ""),
        UserMessage("Steps remaining: 3"),
        ToolResult("functions.submit:1", "submit", "Done."),
    )
    _, answer, results = body["messages"]
    calls = [(call["id"], call["name"], call["input"]) for call in answer["content"]]
    assert calls == [
        ("toolu_1", "execute_bash", {"command": "ls"}),
        ("functions_submit_1", "submit", {"malformed_arguments": "{broken"}),
    ]
    assert results["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "(empty)"},
        {"type": "tool_result", "tool_use_id": "functions_submit_1", "content": "Done."},
        {"type": "text", "text": "Steps remaining: 3"},
    ]


def test_empty_answers_are_left_out_and_roles_alternate() -> None:
    body = conversation(UserMessage("One."), AssistantMessage(" \n"), UserMessage("Two."))
    assert [message["role"] for message in body["messages"]] == ["user"]


SECOND_THINKING = {**THINKING, "signature": "b3RoZXI="}
YES_SENT = {"type": "text", "text": "Yes."}
CALL_SENT = {"type": "tool_use", "id": "toolu_1", "name": LS.name, "input": {"command": "ls"}}


@pytest.mark.parametrize(
    ("family", "blocks", "sent"),
    [
        (
            FAMILY,  # unchanged and in its place
            [
                THINKING,
                REDACTED,
                {"type": "text", "length": 4},
                SECOND_THINKING,
                {"type": "tool_use"},
            ],
            [THINKING, REDACTED, YES_SENT, SECOND_THINKING, CALL_SENT],
        ),
        # The answer was changed: thinking comes first.
        (FAMILY, [{"type": "text", "length": 99}, THINKING], [THINKING, YES_SENT, CALL_SENT]),
        ("messages/claude@vertex", [THINKING], [YES_SENT, CALL_SENT]),
    ],
)
def test_thinking_goes_back(family: str, blocks: list[Any], sent: list[Any]) -> None:
    answer = AssistantMessage("Yes.", "Hm.", (LS,), opaque=OpaqueParts(family, {"blocks": blocks}))
    assert content_of(answer) == sent


def test_a_call_without_thinking_is_continued_without_thinking() -> None:
    history = (UserMessage("Go."), AssistantMessage("", calls=(LS,)))
    body = conversation(
        *history, ToolResult("toolu_1", "execute_bash", "x"), changes=(THINKING_FIRST,)
    )
    assert body["thinking"] == {"type": "disabled"}
    assert "thinking" not in conversation(UserMessage("Go."), changes=(THINKING_FIRST,))


def test_at_most_four_marks_are_set_where_the_cache_helps() -> None:
    messages: list[Message] = [SystemMessage("Be careful.")]
    for number in range(4):
        messages += [UserMessage(f"{number}"), AssistantMessage("Yes.")]
    body = conversation(*messages, UserMessage("Last."), changes=(CACHE_MARKS,))
    mark = {"type": "ephemeral"}
    assert body["system"][-1]["cache_control"] == body["tools"][-1]["cache_control"] == mark
    last_blocks = [message["content"][-1] for message in body["messages"]]
    assert [each["text"] for each in last_blocks if "cache_control" in each] == ["3", "Last."]


ADAPTIVE = {"type": "adaptive", "display": "summarized"}


def budget(tokens: int) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": tokens}


@pytest.mark.parametrize(
    ("model", "settings", "thinking", "effort"),
    [
        ("claude-opus-4-7", {}, ADAPTIVE, None),
        ("claude-sonnet-4-6", {"effort": "low"}, ADAPTIVE, "low"),
        ("claude-opus-4-7", {"thinking": False}, {"type": "disabled"}, None),
        ("claude-opus-4-7", {"effort": "none"}, {"type": "disabled"}, None),
        ("claude-sonnet-4-5", {}, None, None),
        ("claude-sonnet-4-5", {"effort": "high"}, budget(16000), None),
        ("claude-3-7-sonnet", {"thinking": True}, budget(7168), None),
        ("claude-3-5-haiku", {"thinking": True}, None, None),
        ("qwen3", {"thinking": False}, {"type": "disabled"}, None),
    ],
)  # fmt: skip
def test_thinking_is_asked_for_as_the_version_takes_it(
    model: str, settings: dict[str, Any], thinking: Any, effort: str | None
) -> None:
    body = parameters(model, **settings).body
    assert body.get("thinking") == thinking
    assert body.get("output_config") == (effort and {"effort": effort})
    assert body["max_tokens"] > (thinking or {}).get("budget_tokens", 0)


def test_thinking_with_a_budget_is_interleaved_with_calls() -> None:
    headers = parameters("claude-sonnet-4-5", thinking=True).headers
    assert headers == {"anthropic-beta": "interleaved-thinking-2025-05-14"}
    assert parameters("claude-opus-4-7", thinking=True).headers == {}


def test_a_budget_that_the_limit_leaves_no_room_for_is_left_out() -> None:
    sent = parameters("claude-sonnet-4-5", 1500, thinking=True)
    assert "thinking" not in sent.body
    assert "no room" in sent.left_out["thinking"]


@pytest.mark.parametrize(
    ("model", "settings", "left_out"),
    [
        ("claude-opus-4-7", {"temperature": 0.2, "top_p": 0.9}, {"temperature", "top_p"}),
        ("claude-sonnet-4-5", {"temperature": 0.2, "thinking": True}, {"temperature"}),
        ("claude-sonnet-4-5", {"temperature": 0.2, "top_p": 0.9}, {"top_p"}),
        ("claude-sonnet-4-5", {"temperature": 0.2}, set()),
        ("claude-opus-4-7", {"seed": 1, "verbosity": "low", "effort": "minimal"},
         {"seed", "verbosity", "effort"}),
        ("qwen3", {"temperature": 0.2, "top_p": 0.9}, set()),
    ],
)  # fmt: skip
def test_what_the_model_does_not_take_is_left_out_and_said(
    model: str, settings: dict[str, Any], left_out: set[str]
) -> None:
    sent = parameters(model, **settings)
    assert set(sent.left_out) == left_out
    assert not left_out & sent.body.keys()


# What comes back


def test_thinking_text_and_calls_are_read_and_kept() -> None:
    nothing = {"type": "thinking", "thinking": "", "signature": ""}
    pieces = pieces_of(
        START,
        {"type": "ping"},
        *block(0, nothing, *deltas("thinking", "H", "m."), *deltas("signature", "c2ln")),
        *block(1, REDACTED),
        *block(2, {"type": "text", "text": ""}, *deltas("text", "I ", "look.")),
        *block(3, CALL_SENT | {"input": {}}, *deltas("input_json", "", '{"command": ', '"ls"}')),
        *end("tool_use"),
    )
    assert (reasoning_of(pieces), text_of(pieces), calls_of(pieces)) == ("Hm.", "I look.", [LS])
    finish = finish_of(pieces)
    assert finish.reason == "tool_calls"
    assert finish.usage == Usage(90, 12, cached=64, cache_written=10)
    assert finish.opaque is not None
    assert finish.opaque.parts == {
        "blocks": [THINKING, REDACTED, {"type": "text", "length": 7}, {"type": "tool_use"}]
    }


def test_an_answer_without_thinking_keeps_nothing() -> None:
    assert finish_of(pieces_of(START, *YES, *end())).opaque is None


def test_a_zero_at_the_end_keeps_the_count_of_the_beginning() -> None:
    last, stop = end()
    last["usage"] |= {"input_tokens": 0, "cache_read_input_tokens": 0}
    usage = finish_of(pieces_of(START, *YES, last, stop)).usage
    assert usage == Usage(90, 12, cached=64, cache_written=10)


def test_a_message_that_is_not_streamed_is_read() -> None:
    message = {"type": "message", "content": [THINKING, CALL_SENT], "stop_reason": "tool_use"}
    pieces = pieces_of({**message, "usage": {"input_tokens": 9, "output_tokens": 2}})
    assert (reasoning_of(pieces), calls_of(pieces)) == ("Hm.", [LS])
    assert finish_of(pieces).usage == Usage(9, 2)


def test_a_call_without_arguments_has_an_empty_object() -> None:
    (call,) = calls_of(pieces_of(*block(0, CALL_SENT | {"input": {}}), *end("tool_use")))
    assert call.arguments == "{}"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "other"),
    ],
)
def test_stop_reasons_are_those_of_every_model(reason: str, expected: str) -> None:
    assert finish_of(pieces_of(*YES, *end(reason))).reason == expected


def test_calls_in_the_text_of_a_server_without_a_parser_count() -> None:
    text = '<tool_call>{"name": "execute_bash", "arguments": {"command": "ls"}}</tool_call>'
    pieces = pieces_of(*block(0, {"type": "text", "text": text}), *end())
    assert [call.arguments for call in calls_of(pieces)] == ['{"command": "ls"}']
    assert any(isinstance(piece, ModelNotice) for piece in pieces)
    assert finish_of(pieces).reason == "tool_calls"


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {"type": 1},
        {"type": "content_block_start", "index": {}, "content_block": 7},
        {"type": "content_block_delta", "index": 9, "delta": {"type": "input_json_delta"}},
        {"type": "content_block_delta", "delta": []},
        {"type": "message_start", "message": {"usage": {"input_tokens": "many"}}},
        {"type": "message_delta", "delta": None, "usage": []},
    ],
)
def test_malformed_events_are_ignored(event: Any) -> None:
    assert text_of(pieces_of(event, *YES, *end())) == "Yes."


@pytest.mark.parametrize(
    ("kind", "status"),
    [("overloaded_error", 529), ("invalid_request_error", 400), ("unheard_of", None)],
)
def test_errors_inside_a_stream_have_the_status_of_their_type(
    kind: str, status: int | None
) -> None:
    failure = API.failure({"type": "error", "error": {"type": kind, "message": "Overloaded"}})
    assert failure is not None
    assert failure.status == status
    assert API.failure(START) is None


@pytest.mark.parametrize(
    "blocks",
    [
        None, 1, "text", [1], [{}], [{"type": "text"}], [{"type": "text", "length": "5"}],
        [{"type": "text", "length": -1}, {"type": "text", "length": 5}],
        [THINKING, {"type": "None"}, {"type": "text", "length": 4}],
    ],
)  # fmt: skip
def test_parts_of_an_imported_record_that_do_not_fit_are_left_out(blocks: Any) -> None:
    answer = AssistantMessage("Yes.", opaque=OpaqueParts(FAMILY, {"blocks": blocks}))
    assert [block for block in content_of(answer) if block != THINKING] == [YES_SENT]
