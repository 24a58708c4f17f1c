"""Requests to endpoints, and their changes after a rejection."""

from dataclasses import replace
from typing import Any

import pytest

from agent.errors import ModelRefused
from agent.models.base import (
    AssistantMessage,
    Finish,
    ModelConfig,
    ModelNotice,
    ModelRequest,
    ReasoningField,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from agent.models.endpoint.client import EndpointModel
from agent.util.stop import Stop
from tests.contract.model_suite import BASH, REQUEST, calls_of, text_of
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.model_requests import HISTORY, stream_from, stream_request

pytestmark = pytest.mark.contract

# What is sent


def sent(request: ModelRequest, **settings: Any) -> dict[str, Any]:
    """Return what a strict endpoint gets for a request."""
    with Endpoint([Turn(text="Hi")]) as endpoint:
        stream_request(endpoint, request, **settings)
    assert endpoint.history_errors == []
    return endpoint.requests[0].body


def test_only_configured_parameters_are_sent() -> None:
    assert sent(ModelRequest([UserMessage("Hi")])) == {
        "model": "test-model",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_extra_body_overrides_settings() -> None:
    extra = {"top_p": 0.1, "seed": 7, "messages": [], "stream": False}
    settings: Any = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 500, "extra_body": extra}
    body = sent(ModelRequest([UserMessage("Hi")], max_tokens=100), **settings)
    assert (body["temperature"], body["top_p"], body["seed"]) == (0.5, 0.1, 7)
    assert (body["max_tokens"], body["stream"], len(body["messages"])) == (100, True, 1)
    assert sent(ModelRequest([UserMessage("Hi")]), **settings)["max_tokens"] == 500


def test_the_history_is_valid_for_a_strict_server_and_has_reasoning_unless_switched_off() -> None:
    call = sent(ModelRequest(HISTORY, [BASH]))["messages"][2]
    assert (call["content"], call["reasoning_content"]) == (None, "Let me look.")
    without = sent(ModelRequest(HISTORY, [BASH]), send_reasoning=False)
    assert "Let me look" not in str(without)


@pytest.mark.parametrize("arguments", ["", '{"comm', "[1]", '"ls"', "[" * 100_000])
def test_a_malformed_call_in_the_history_is_sent_in_valid_form(arguments: str) -> None:
    call = ToolCall("a", "bash; rm -rf", arguments)
    answer, result = AssistantMessage("", calls=(call,)), ToolResult("a", "x", "No JSON.")
    body = sent(ModelRequest([UserMessage("Go."), answer, result], [BASH]))
    assert body["messages"][1]["tool_calls"][0]["function"]["name"].isascii()


def test_unencodable_text_is_still_sent() -> None:
    body = sent(ModelRequest([UserMessage("broken \udcff byte")]))
    assert "broken" in body["messages"][0]["content"]


def test_text_calls_reach_the_loop_like_native_calls() -> None:
    text = 'Looking.\n```tool_call\n{"name": "execute_bash", "arguments": {"command": "ls"}}\n```'
    with Endpoint([Turn(text=text, fragment_length=1)]) as endpoint:
        pieces = stream_request(endpoint, ModelRequest(HISTORY, [BASH]), tool_call_style="text")
    assert text_of(pieces).strip() == "Looking."
    assert calls_of(pieces)[0].arguments == '{"command": "ls"}'
    assert pieces[-1] == Finish("tool_calls", Usage(100, 20))
    body = endpoint.requests[0].body
    assert "tools" not in body
    assert {message["role"] for message in body["messages"]} == {"system", "user", "assistant"}
    assert "execute_bash" in body["messages"][0]["content"]


# What an endpoint does not take


def _refusing(*names: str, message: str = "Unsupported parameter: '{}'") -> Any:
    def look(body: dict[str, Any]) -> str | None:
        return next((message.format(name) for name in names if name in body), None)

    return look


def test_max_completion_tokens_is_detected_and_remembered() -> None:
    message = "Unsupported parameter: '{}' is not supported. Use 'max_completion_tokens' instead."
    turn = Turn(text="Hi", reject_if=_refusing("max_tokens", message=message))
    with Endpoint([turn] * 3) as endpoint:
        model = EndpointModel(ModelConfig(endpoint.url, "test-model", max_tokens=50))
        first = list(model.stream(REQUEST, Stop()))
        second = list(model.stream(REQUEST, Stop()))
    assert [piece for piece in first if isinstance(piece, ModelNotice)] == [
        ModelNotice(
            "This endpoint does not accept “max_tokens”; “max_completion_tokens” is sent instead."
        )
    ]
    assert not any(isinstance(piece, ModelNotice) for piece in second)
    assert [r.body.get("max_completion_tokens") for r in endpoint.requests] == [None, 50, 50]


def test_an_unsupported_token_limit_is_omitted() -> None:
    turn = Turn(text="Hi", reject_if=_refusing("max_tokens", "max_completion_tokens"))
    with Endpoint([turn] * 3) as endpoint:
        pieces = stream_request(endpoint, max_tokens=50)
    assert text_of(pieces) == "Hi"
    assert isinstance(end := pieces[-1], Finish)
    assert end.left_out == ("max_tokens",)


def test_rejected_parameters_are_omitted_one_by_one() -> None:
    names = ("temperature", "top_p", "stream_options", "parallel_tool_calls")
    settings: Any = {"temperature": 0.2, "top_p": 0.5}
    with Endpoint([Turn(text="Hi", reject_if=_refusing(*names))] * 5) as endpoint:
        pieces = stream_request(endpoint, extra_body={"parallel_tool_calls": False}, **settings)
    assert sum(isinstance(piece, ModelNotice) for piece in pieces) == 4
    assert not set(names) & set(endpoint.requests[-1].body)
    asked_for = ("parallel_tool_calls", "temperature", "top_p")
    assert pieces[-1] == Finish("stop", None, left_out=asked_for)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Unsupported value.", "param": "temperature", "code": "unsupported_value"},
        {"message": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]},
    ],
)
def test_the_param_field_of_an_error_is_used(error: dict[str, Any]) -> None:
    with Endpoint([Turn(fault="422", error=error), Turn(text="Hi")]) as endpoint:
        assert text_of(stream_request(endpoint, temperature=0.2)) == "Hi"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_omitted_for_servers_that_reject_it(field: ReasoningField) -> None:
    def look(body: dict[str, Any]) -> str | None:
        sent = any(field in message for message in body["messages"])
        return f"property 'messages.2.{field}' is unsupported" if sent else None

    history = [
        replace(each, reasoning_field=field) if isinstance(each, AssistantMessage) else each
        for each in HISTORY
    ]
    with Endpoint([Turn(text="Hi", reject_if=look)] * 2) as endpoint:
        assert text_of(stream_request(endpoint, ModelRequest(history, [BASH]))) == "Hi"


@pytest.mark.parametrize("status", [400, 500])
def test_without_system_role_the_prompt_is_sent_as_user(status: int) -> None:
    refusal = Turn(fault=str(status), message="Jinja error: System role not supported")
    with Endpoint([refusal, Turn(text="Hi")]) as endpoint:
        assert text_of(stream_request(endpoint, ModelRequest(HISTORY, [BASH]))) == "Hi"
    first = endpoint.requests[-1].body["messages"][0]
    assert first == {"role": "user", "content": "You are careful.\n\nList it."}


def test_a_base_url_can_have_a_query() -> None:
    with Endpoint([Turn(text="Hi")]) as endpoint:
        assert text_of(stream_from(ModelConfig(f"{endpoint.url}?api-version=1", "m"))) == "Hi"
    assert endpoint.requests[0].path == "/v1/chat/completions?api-version=1"


def test_a_rejection_of_an_unsent_parameter_is_an_error() -> None:
    turn = Turn(fault="400", message="Unsupported parameter: 'temperature'")
    with Endpoint([turn] * 2) as endpoint, pytest.raises(ModelRefused, match="temperature"):
        stream_request(endpoint)
    assert len(endpoint.requests) == 1
