"""Refusals: in OpenAI's shape, with a sentence that says what to do."""

from pathlib import Path
from typing import Any

import pytest
from openai import AuthenticationError, NotFoundError, OpenAI, RateLimitError

from agent.settings import Settings
from sandbox_ui.auth.api_tokens import Tokens
from sandbox_ui.scheduling import queue
from tests.sandbox_ui.conftest import Script
from tests.sandbox_ui.openai_api.conftest import ASK, PLAIN, SANDBOX, chat
from tests.support import httpx
from tests.support.models.endpoint import Endpoint
from tests.support.server import serve_studio

pytestmark = pytest.mark.contract


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """Return the error of an answer, which has OpenAI's shape."""
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return error


def test_a_wrong_token_is_refused_as_by_openai(studio_url: str) -> None:
    with (
        OpenAI(base_url=f"{studio_url}/v1", api_key="studio_wrong", max_retries=0) as stranger,
        pytest.raises(AuthenticationError) as refused,
    ):
        stranger.models.list()
    assert (refused.value.status_code, refused.value.code) == (401, "invalid_api_key")
    assert "unknown or was revoked" in str(refused.value)


def test_an_unknown_model_is_not_found(client: OpenAI) -> None:
    for model in ("gpt-9", "gpt-9@sandbox", "test-model@Sandbox", "@sandbox"):
        with pytest.raises(NotFoundError) as refused:
            chat(client, model)
        assert (refused.value.code, refused.value.param) == ("model_not_found", "model")


def test_a_full_queue_says_when_to_try_again(
    client: OpenAI, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MAX_WAITING", 0)
    with pytest.raises(RateLimitError) as refused:
        chat(client, PLAIN)
    assert refused.value.code == "rate_limit_exceeded"
    assert int(refused.value.response.headers["retry-after"]) > 0
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("model", "changed", "param"),
    [
        (PLAIN, {"n": 2}, "n"),
        (PLAIN, {"best_of": 2}, "best_of"),
        (PLAIN, {"echo": True}, "echo"),
        (SANDBOX, {"continue_final_message": True}, "continue_final_message"),
        (PLAIN, {"logprobs": True}, "logprobs"),
        (SANDBOX, {"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        (PLAIN, {"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        (SANDBOX, {"response_format": {"type": "json_object"}}, "response_format"),
        (PLAIN, {"sandbox": {}}, "sandbox"),
        (PLAIN, {"frobnicate": 1}, "frobnicate"),
        (PLAIN, {"input": "x"}, "input"),
        (PLAIN, {"temperature": "hot"}, "temperature"),
        (PLAIN, {"max_tokens": 0}, "max_tokens"),
        (PLAIN, {"stream": "yes"}, "stream"),
        (PLAIN, {"metadata": {"a": 1}}, "metadata"),
        (PLAIN, {"stop": ["1", "2", "3", "4", "5"]}, "stop"),
        (PLAIN, {"model": None}, "model"),
        (PLAIN, {"messages": []}, "messages"),
        (PLAIN, {"messages": [{"role": "user", "content": " "}]}, "messages"),
        (PLAIN, {"messages": [*ASK, {"role": "assistant", "content": "x"}]}, "messages"),
        (PLAIN, {"messages": [{"role": "tool", "content": "x"}]}, "messages[0]"),
        (SANDBOX, {"sandbox": {"max_steps": 1001}}, "sandbox.max_steps"),
        (SANDBOX, {"sandbox": {"max_steps": True}}, "sandbox.max_steps"),
        (SANDBOX, {"sandbox": {"max_seconds": 601}}, "sandbox.max_seconds"),
        (SANDBOX, {"sandbox": {"memory": "64 GB"}}, "sandbox.memory"),
        (SANDBOX, {"sandbox": {"memory": "much"}}, "sandbox.memory"),
        (SANDBOX, {"sandbox": {"memory": 1}}, "sandbox.memory"),
        (SANDBOX, {"sandbox": {"network": "-x-"}}, "sandbox.network"),
        (SANDBOX, {"sandbox": {"prompt": "../x"}}, "sandbox.prompt"),
        (SANDBOX, {"sandbox": {"cpus": 9}}, "sandbox.cpus"),
        (SANDBOX, {"sandbox": "x"}, "sandbox"),
    ],
)
def test_what_would_change_the_answer_is_refused_and_not_ignored(
    http: httpx.Client, endpoint: Endpoint, model: str, changed: dict[str, Any], param: str
) -> None:
    drafts = len(http.get("/api/runs").json()["drafts"])
    body = {"model": model, "messages": ASK, **changed}
    answer = http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400, answer.text
    assert error_of(answer)["param"] == param
    assert endpoint.requests == []
    assert len(http.get("/api/runs").json()["drafts"]) == drafts


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "file", "file": {"file_data": "data:text/plain,plain"}},
        {"type": "file", "file": {"file_data": "§"}},
        {"type": "file", "file": {}},
        {"type": "input_audio", "input_audio": {"data": "eA==", "format": "exe"}},
        {"type": "video"},
        {"type": "text", "text": 1},
        "text",
    ],
)
def test_a_part_that_cannot_be_read_is_refused(http: httpx.Client, part: Any) -> None:
    content = [{"type": "text", "text": "Look"}, part]
    body = {"model": SANDBOX, "messages": [{"role": "user", "content": content}]}
    answer = http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400, answer.text
    assert error_of(answer)["param"] == "messages[0].content[1]"


def test_harmless_parameters_are_accepted(http: httpx.Client) -> None:
    harmless = {
        "n": 1, "logprobs": False, "tools": [], "tool_choice": "none", "user": "u-1",
        "store": False, "service_tier": "auto", "parallel_tool_calls": True,
        "metadata": {"suite": "x"}, "frequency_penalty": None, "stream_options": None,
        "echo": False, "best_of": 1, "suffix": "", "add_generation_prompt": True,
        "skip_special_tokens": True, "return_token_ids": False,
    }  # fmt: skip
    answer = http.post("/v1/chat/completions", json={"model": PLAIN, "messages": ASK, **harmless})
    assert answer.status_code == 200, answer.text
    assert answer.json()["metadata"]["suite"] == "x"
    assert answer.headers["x-request-id"] == answer.json()["metadata"]["run"]
    assert answer.json()["sandbox"]["notices"] == []


@pytest.mark.parametrize(
    ("route", "content"), [("chat/completions", "messages"), ("responses", "input")]
)
def test_fields_for_the_server_of_a_model_are_ignored_and_named(
    http: httpx.Client, endpoint: Endpoint, script: Script, route: str, content: str
) -> None:
    body = {"model": PLAIN, content: ASK, "cache_prompt": False, "priority": 3}
    answer = http.post(f"/v1/{route}", json=body)
    [notice] = answer.json()["sandbox"]["notices"]
    assert "cache_prompt, priority" in notice
    assert not {"cache_prompt", "priority"} & endpoint.requests[-1].body.keys()


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", "/v1/engines", b"", 404),
        ("POST", "/v1/embeddings", b"{}", 404),
        ("POST", "/v1/models", b"{}", 404),
        ("GET", "/v1/models/none", b"", 404),
        ("POST", "/v1/chat/completions", b"{", 400),
        ("POST", "/v1/chat/completions", b"[]", 400),
        ("POST", "/v1/chat/completions", b'{"model": NaN}', 400),
        ("POST", "/v1/chat/completions", b"[" * 100_000, 400),
        ("POST", "/v1/chat/completions", b'{"model": "\\ud800"}', 400),
        ("POST", "/v1/chat/completions", b'{"model": "test-model", "seed": 1e400}', 400),
        ("POST", "/v1/chat/completions", b" " * (9 * 1024**2), 413),
        ("POST", "/v1/responses", b"{}", 400),
    ],
)
def test_every_error_has_the_shape_of_openai(
    http: httpx.Client, method: str, path: str, content: bytes, status: int
) -> None:
    answer = http.request(method, path, content=content)
    assert answer.status_code == status
    error_of(answer)


def test_a_used_up_quota_is_an_insufficient_quota(
    http: httpx.Client, endpoint: Endpoint, tmp_path: Path
) -> None:
    key = Tokens(tmp_path).create("v:someone", "test")[1]
    with (
        serve_studio(
            tmp_path, base_url=endpoint.url, model=PLAIN, quota_per_user=1, openai_api=True
        ) as url,
        OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client,
        pytest.raises(RateLimitError) as refused,
    ):
        chat(client, PLAIN)
    assert refused.value.code == "insufficient_quota"
    assert refused.value.response.headers["x-should-retry"] == "false"


def test_the_endpoint_is_off_unless_the_operator_switches_it_on(tmp_path: Path) -> None:
    assert not Settings().openai_api
    with serve_studio(tmp_path) as url, httpx.Client(base_url=url) as http:
        for path in ("/v1/models", "/v1/files"):
            assert http.get(path).status_code == 404
        assert http.post("/v1/chat/completions", json={}).status_code in (404, 405)
