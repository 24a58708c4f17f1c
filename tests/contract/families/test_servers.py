"""The strict servers refuse what the real ones refuse; the scenarios rely on it."""

import json
from typing import Any

import pytest

from tests.contract.families.scripts import in_order
from tests.support import httpx
from tests.support.models.turns import Body
from tests.support.servers.families import FAMILIES
from tests.support.servers.server import StrictServer

pytestmark = pytest.mark.contract

PARAMETERS: Body = {"type": "object", "properties": {"command": {"type": "string"}}}
FUNCTION: Body = {"name": "execute_bash", "description": "Run it.", "parameters": PARAMETERS}
USER: Body = {"role": "user", "content": "Do it."}
CALL: Body = {
    "id": "call_a", "type": "function",
    "function": {"name": "execute_bash", "arguments": '{"command": "ls"}'},
}  # fmt: skip
ASKED: Body = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWERED: Body = {"role": "tool", "tool_call_id": "call_a", "content": "a.txt"}
HISTORY = [USER, ASKED, ANSWERED]


def refusal(server: StrictServer, path: str, body: Body, **headers: str) -> str:
    """Return the text of the refusal of a request; empty if it is accepted."""
    body = {"model": server.model, "stream": True, **body}
    response = httpx.post(f"{server.address}{path}", json=body, headers=headers)
    if response.headers["content-type"] == "text/event-stream":
        return ""
    return response.text


@pytest.mark.parametrize(
    ("family", "messages", "refused"),
    [
        ("openai-compatible", [USER, ASKED, USER], "tool calls without an answer"),
        ("openai-compatible", [USER, ANSWERED], "an answer to no tool call"),
        ("gemini-3", HISTORY, "missing a thought_signature in functionCall parts"),
        ("gemini-3-vertex", HISTORY, "missing a thought_signature in functionCall parts"),
        ("deepseek-v4", HISTORY, "must be passed back to the API"),
        ("kimi-k3", HISTORY, "is missing in assistant tool call message at index 1"),
        ("kimi-k3", [USER, ASKED | {"content": ""}, ANSWERED], "must not be empty"),
        ("openrouter-deepseek", HISTORY, "must be passed back to the API"),
        ("openai-gpt-5.6", HISTORY, "use /v1/responses or set reasoning_effort to 'none'"),
        ("mistral", HISTORY, "with a length of 9"),
        ("strict-roles", HISTORY, "'null' not in 'string'"),
        ("strict-roles", [USER, USER], "must alternate user and assistant"),
    ],
)
def test_a_chat_server_refuses(family: str, messages: list[Body], refused: str) -> None:
    with FAMILIES[family].serve(in_order()) as server:
        body = {"messages": messages, "tools": [{"type": "function", "function": FUNCTION}]}
        assert refused in refusal(server, "/v1/chat/completions", body)
        assert len(server.refusals) == 1


def test_mistral_refuses_a_user_message_after_a_result() -> None:
    call, result = CALL | {"id": "abcdefghi"}, ANSWERED | {"tool_call_id": "abcdefghi"}
    messages = [USER, {"role": "assistant", "content": "", "tool_calls": [call]}, result, USER]
    with FAMILIES["mistral"].serve(in_order()) as server:
        text = refusal(server, "/v1/chat/completions", {"messages": messages})
    assert "Unexpected role 'user' after role 'tool'" in text


def test_an_openrouter_model_of_google_refuses_details_inside_a_200() -> None:
    details = [{"type": "reasoning.encrypted", "data": "YQ==", "id": "rs_old", "index": 0}]
    messages = [USER, ASKED | {"reasoning_details": details}, ANSWERED]
    with FAMILIES["openrouter-gemini"].serve(in_order()) as server:
        body = {"model": server.model, "stream": True, "messages": messages}
        response = httpx.post(f"{server.url}/chat/completions", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (200, 400)


@pytest.mark.parametrize(
    ("field", "value", "refused"),
    [
        ("input", [], "Missing required parameter: 'input'"),
        ("messages", [USER], "has moved to 'input'"),
        ("max_tokens", 10, "Use 'max_output_tokens' instead"),
        ("reasoning_effort", "low", "has moved to 'reasoning.effort'"),
        ("tools", [{"type": "function", "function": FUNCTION}], "tools[0].name"),
        (
            "input",
            [USER, {"type": "reasoning", "id": "rs_1", "summary": []}],
            "Items are not persisted when `store` is set to false",
        ),
        (
            "input",
            [USER, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "a"}],
            "could not be verified",
        ),
        (
            "input",
            [USER, {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}],
            "No tool output found for function call c",
        ),
    ],
)
def test_responses_refuses(field: str, value: Any, refused: str) -> None:
    with FAMILIES["openai-responses"].serve(in_order()) as server:
        body = {"input": [USER], "store": False, field: value}
        assert refused in refusal(server, "/v1/responses", body)


def test_responses_wants_the_items_of_a_turn_in_their_order() -> None:
    with FAMILIES["openai-responses"].serve(in_order("ls")) as server:
        asked = {"input": [USER], "store": False, "include": ["reasoning.encrypted_content"]}
        body = {"model": server.model, "stream": True, **asked}
        answer = httpx.post(f"{server.url}/responses", json=body).text
        completed = json.loads(answer.rsplit("data: ", 1)[1])["response"]["output"]
        reasoning, call = completed
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "a"}
        right = [USER, reasoning, call, output]
        assert refusal(server, "/v1/responses", asked | {"input": right}) == ""
        wrong = [USER, reasoning, USER, call, output]
        text = refusal(server, "/v1/responses", asked | {"input": wrong})
        assert "was provided without its required following item" in text
        text = refusal(server, "/v1/responses", asked | {"input": [USER, call, output]})
        assert "was provided without its required 'reasoning' item" in text


TOOL_USE: Body = {"type": "tool_use", "id": "toolu_1", "name": "execute_bash", "input": {}}
TOOL_RESULT: Body = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}
TEXT: Body = {"type": "text", "text": "Hello."}
THINKING: Body = {"type": "thinking", "thinking": "So.", "signature": "bm90IG91cnM="}


@pytest.mark.parametrize(
    ("family", "fields", "refused"),
    [
        ("anthropic-4.7", {"max_tokens": None}, "max_tokens: Field required"),
        ("anthropic-4.7", {"temperature": 0.5}, "`temperature` is deprecated"),
        ("anthropic-4.7", {"thinking": {"type": "enabled", "budget_tokens": 1024}}, "adaptive"),
        ("anthropic-4.5", {"thinking": {"type": "adaptive"}}, "not supported on this model"),
        ("anthropic-4.5", {"thinking": {"type": "enabled", "budget_tokens": 9000}}, "greater than"),
        ("anthropic-4.7", {"messages": [{"role": "system", "content": "A"}]}, "Unexpected role"),
        (
            "anthropic-4.7",
            {"messages": [USER, {"role": "assistant", "content": [TOOL_USE]}, USER]},
            "`tool_use` ids were found without `tool_result` blocks immediately after",
        ),
        (
            "anthropic-4.7",
            {
                "messages": [
                    USER,
                    {"role": "assistant", "content": [TOOL_USE]},
                    {"role": "user", "content": [TEXT, TOOL_RESULT]},
                ]
            },
            "`tool_use` ids were found without `tool_result` blocks immediately after",
        ),
        (
            "anthropic-4.7",
            {"messages": [USER, {"role": "assistant", "content": [THINKING, TEXT]}, USER]},
            "Invalid `signature` in `thinking` block",
        ),
        (
            "anthropic-4.5",
            {
                "thinking": {"type": "enabled", "budget_tokens": 1024},
                "messages": [
                    USER,
                    {"role": "assistant", "content": [TOOL_USE]},
                    {"role": "user", "content": [TOOL_RESULT]},
                ],
            },
            "Expected `thinking` or `redacted_thinking`",
        ),
        (
            "anthropic-4.7",
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [TEXT | {"cache_control": {"type": "ephemeral"}}] * 5,
                    }
                ]
            },
            "A maximum of 4 blocks with cache_control",
        ),
    ],
)
def test_messages_refuses(family: str, fields: Body, refused: str) -> None:
    with FAMILIES[family].serve(in_order()) as server:
        body = {"messages": [USER], "max_tokens": 4096, **fields}
        text = refusal(server, "/v1/messages", body, **{"anthropic-version": "2023-06-01"})
        assert refused in text
        assert json.loads(text)["type"] == "error"


def test_a_server_that_truncates_counts_no_more_than_its_context() -> None:
    with FAMILIES["ollama"].serve(in_order(), context=100) as server:
        messages = [USER | {"content": "word " * 1000}]
        assert refusal(server, "/v1/chat/completions", {"messages": messages}) == ""
    assert server.counts[-1].prompt == 100
