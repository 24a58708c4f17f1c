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
NINE: list[Body] = [
    USER, ASKED | {"tool_calls": [CALL | {"id": "abcdefghi"}]},
    ANSWERED | {"tool_call_id": "abcdefghi"},
]  # fmt: skip


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
        ("mistral", [*NINE, USER], "Unexpected role 'user' after role 'tool'"),
        ("strict-roles", HISTORY, "'null' not in 'string'"),
        ("strict-roles", [USER, USER], "must alternate user and assistant"),
    ],
)
def test_a_chat_server_refuses(family: str, messages: list[Body], refused: str) -> None:
    with FAMILIES[family].serve(in_order()) as server:
        body = {"messages": messages, "tools": [{"type": "function", "function": FUNCTION}]}
        assert refused in refusal(server, "/v1/chat/completions", body)
        assert len(server.refusals) == 1


def test_an_openrouter_model_of_google_refuses_details_inside_a_200() -> None:
    details = [{"type": "reasoning.encrypted", "data": "YQ==", "id": "rs_old", "index": 0}]
    messages = [USER, ASKED | {"reasoning_details": details}, ANSWERED]
    with FAMILIES["openrouter-gemini"].serve(in_order()) as server:
        body = {"model": server.model, "stream": True, "messages": messages}
        response = httpx.post(f"{server.url}/chat/completions", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (200, 400)


REASONING: Body = {"type": "reasoning", "id": "rs_1", "summary": []}
FUNCTION_CALL: Body = {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}


@pytest.mark.parametrize(
    ("field", "value", "refused"),
    [
        ("input", [], "Missing required parameter: 'input'"),
        ("messages", [USER], "has moved to 'input'"),
        ("max_tokens", 10, "Use 'max_output_tokens' instead"),
        ("reasoning_effort", "low", "has moved to 'reasoning.effort'"),
        ("tools", [{"type": "function", "function": FUNCTION}], "tools[0].name"),
        ("input", [USER, REASONING], "Items are not persisted when `store` is set to false"),
        ("input", [USER, REASONING | {"encrypted_content": "a"}], "could not be verified"),
        ("input", [USER, FUNCTION_CALL], "No tool output found for function call c"),
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


TEXT: Body = {"type": "text", "text": "Hello."}
MARKED = TEXT | {"cache_control": {"type": "ephemeral"}}
THINKING: Body = {"type": "thinking", "thinking": "So.", "signature": "bm90IG91cnM="}
TOOL_USE: Body = {"type": "tool_use", "id": "toolu_1", "name": "execute_bash", "input": {}}
TOOL_RESULT: Body = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}
ENABLED: Body = {"type": "enabled", "budget_tokens": 1024}
UNANSWERED = "`tool_use` ids were found without `tool_result` blocks immediately after"


def said(role: str, *content: Body) -> Body:
    return {"role": role, "content": content}


ASKS, TOLD = said("assistant", TOOL_USE), said("user", TOOL_RESULT)


@pytest.mark.parametrize(
    ("family", "fields", "messages", "refused"),
    [
        ("anthropic-4.7", {"max_tokens": None}, [USER], "max_tokens: Field required"),
        ("anthropic-4.7", {"temperature": 0.5}, [USER], "`temperature` is deprecated"),
        ("anthropic-4.7", {"thinking": ENABLED}, [USER], "is not supported for this model"),
        ("anthropic-4.5", {"thinking": {"type": "adaptive"}}, [USER], "not supported on"),
        ("anthropic-4.5", {"thinking": ENABLED, "max_tokens": 1024}, [USER], "greater than"),
        ("anthropic-4.7", {}, [said("system", TEXT)], "Unexpected role"),
        ("anthropic-4.7", {}, [USER, ASKS, USER], UNANSWERED),
        ("anthropic-4.7", {}, [USER, ASKS, said("user", TEXT, TOOL_RESULT)], UNANSWERED),
        ("anthropic-4.7", {}, [USER, said("assistant", THINKING, TEXT), USER], "`signature`"),
        ("anthropic-4.5", {"thinking": ENABLED}, [USER, ASKS, TOLD], "Expected `thinking` or"),
        ("anthropic-4.7", {}, [said("user", *[MARKED] * 5)], "A maximum of 4 blocks with"),
    ],
)
def test_messages_refuses(family: str, fields: Body, messages: list[Body], refused: str) -> None:
    with FAMILIES[family].serve(in_order()) as server:
        body = {"messages": messages, "max_tokens": 4096, **fields}
        text = refusal(server, "/v1/messages", body, **{"anthropic-version": "2023-06-01"})
        assert refused in text
        assert json.loads(text)["type"] == "error"


def test_a_server_that_truncates_counts_no_more_than_its_context() -> None:
    with FAMILIES["ollama"].serve(in_order(), context=100) as server:
        messages = [USER | {"content": "word " * 1000}]
        assert refusal(server, "/v1/chat/completions", {"messages": messages}) == ""
    assert server.counts[-1].prompt == 100
