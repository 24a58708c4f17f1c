"""The cases of Open Responses' compliance tester (openresponses.org), against ``/v1/responses``."""

import json
from typing import Any

import pytest

from tests.sandbox_ui.conftest import Script
from tests.support import httpx
from tests.support.models.endpoint import Turn

pytestmark = pytest.mark.contract

MODEL = "test-model"
NUMBER = (int, float)
NULL = type(None)
RESPONSE: dict[str, Any] = {
    "id": str, "object": str, "created_at": int, "completed_at": (int, NULL), "status": str,
    "incomplete_details": (dict, NULL), "model": str, "previous_response_id": (str, NULL),
    "instructions": (str, list, NULL), "output": list, "error": (dict, NULL), "tools": list,
    "tool_choice": (str, dict), "truncation": str, "parallel_tool_calls": bool, "text": dict,
    "top_p": NUMBER, "presence_penalty": NUMBER, "frequency_penalty": NUMBER, "top_logprobs": int,
    "temperature": NUMBER, "reasoning": (dict, NULL), "user": (str, NULL), "usage": (dict, NULL),
    "max_output_tokens": (int, NULL), "max_tool_calls": (int, NULL), "store": bool,
    "background": bool, "service_tier": str, "metadata": dict, "safety_identifier": (str, NULL),
    "prompt_cache_key": (str, NULL),
}  # fmt: skip
"""The required fields of a response, and their types."""
ITEM: dict[str, dict[str, Any]] = {
    "message": {"id": str, "status": str, "role": str, "content": list},
    "reasoning": {"id": str, "summary": list},
    "mcp_call": {"id": str, "name": str, "server_label": str, "arguments": str},
}
PART: dict[str, Any] = {"item_id": str, "output_index": int, "content_index": int}
EVENT: dict[str, dict[str, Any]] = {
    "response.created": {"response": dict},
    "response.in_progress": {"response": dict},
    "response.output_item.added": {"output_index": int, "item": dict},
    "response.content_part.added": PART | {"part": dict},
    "response.output_text.delta": PART | {"delta": str, "logprobs": list},
    "response.output_text.done": PART | {"text": str, "logprobs": list},
    "response.content_part.done": PART | {"part": dict},
    "response.output_item.done": {"output_index": int, "item": dict},
    "response.completed": {"response": dict},
}
"""The fields of the events of a text, beside ``type`` and ``sequence_number``."""
HEART = "data:image/gif;base64,R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs="
WEATHER: dict[str, Any] = {
    "type": "function", "name": "get_weather", "description": "Weather of a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}  # fmt: skip


def message(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def assert_fields(value: dict[str, Any], fields: dict[str, Any]) -> None:
    for name, types in fields.items():
        assert name in value, name
        assert isinstance(value[name], types), (name, value[name])


def assert_response(response: dict[str, Any], status: str = "completed") -> None:
    assert_fields(response, RESPONSE)
    assert (response["object"], response["status"]) == ("response", status)
    assert response["text"]["format"]["type"] == "text"
    for item in response["output"]:
        assert_fields(item, ITEM[item["type"]])
        for part in item["content"] if item["type"] == "message" else []:
            assert_fields(part, {"text": str, "annotations": list, "logprobs": list})


PIRATE = message("system", "You are a pirate.")
INTRODUCTION = [message("user", "My name is Alice."), message("assistant", "Hello Alice!")]


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([message("user", "Say hello in three words.")], id="basic-response"),
        pytest.param([PIRATE, message("user", "Say hello.")], id="system-prompt"),
        pytest.param([*INTRODUCTION, message("user", "What is my name?")], id="multi-turn"),
    ],
)
def test_a_response_is_complete(http: httpx.Client, script: Script, items: list[Any]) -> None:
    script.answer = lambda _: Turn(text="Hello there, friend.")
    response = http.post("/v1/responses", json={"model": MODEL, "input": items})
    assert response.status_code == 200, response.text
    assert_response(response.json())
    assert response.json()["output"][-1]["content"][0]["text"] == "Hello there, friend."


def test_an_image_is_a_file_in_the_sandbox(http: httpx.Client, script: Script) -> None:
    script.answer = lambda _: Turn(text="A red dot.", calls=[("submit", {})])
    image = {"type": "input_image", "image_url": HEART}
    content = [{"type": "input_text", "text": "What do you see?"}, image]
    body = {"model": f"{MODEL}@sandbox", "input": [message("user", content)]}
    response = http.post("/v1/responses", json=body)
    assert_response(response.json())
    assert response.json()["output"][-1]["content"][0]["text"] == "A red dot."


def test_streaming_response(http: httpx.Client, script: Script) -> None:
    script.answer = lambda _: Turn(text="1 2 3 4 5")
    body = {"model": MODEL, "stream": True, "input": [message("user", "Count from 1 to 5.")]}
    answer = http.post("/v1/responses", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [
        dict(line.split(": ", 1) for line in each.splitlines() if not line.startswith(":"))
        for each in answer.text.strip().split("\n\n")
    ]
    parsed = [json.loads(each["data"]) for each in events if "data" in each]
    assert [each["event"] for each in events if "data" in each] == [p["type"] for p in parsed]
    assert {each["type"] for each in parsed} == EVENT.keys()
    for number, event in enumerate(parsed):
        assert event["sequence_number"] == number
        assert_fields(event, EVENT[event["type"]])
    assert_response(parsed[0]["response"], "in_progress")
    assert_response(parsed[-1]["response"])


@pytest.mark.parametrize("stream", [False, True], ids=["tool-calling", "tool-calling-streaming"])
def test_the_callers_tools_are_refused(http: httpx.Client, script: Script, stream: bool) -> None:
    """The one case that is not supported: a run's tools are the sandbox's."""
    body = {"model": MODEL, "input": [message("user", "Weather?")], "tools": [WEATHER]}
    response = http.post("/v1/responses", json=body | {"stream": stream})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "unsupported_parameter"
    assert response.json()["error"]["param"] == "tools"
