"""The test of a model, against strict servers that say about themselves what the real ones say."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agent.models.base import ModelConfig
from agent.models.passport.local_servers import find_local_servers
from agent.models.passport.passport import Passport
from agent.models.passport.probe import check_endpoint
from tests.support.hostile.flood import FloodServer
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Turn
from tests.support.servers import listings
from tests.support.servers.chat.api import ChatApi
from tests.support.servers.families import FAMILIES, resolve_hosts
from tests.support.servers.server import Seen, StrictServer

pytestmark = pytest.mark.contract

CALLS = [("ready", {"number": 1}), ("ready", {"number": 2})]


@pytest.fixture(autouse=True)
def _hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_hosts(monkeypatch)


def two_calls(seen: Seen) -> Turn:
    return Turn(text="done") if seen.commands else Turn(reasoning="I call it.", calls=CALLS)


def passport_of(family: str, **settings: Any) -> Passport:
    with FAMILIES[family].serve(two_calls) as server:
        test = check_endpoint(FAMILIES[family].config(server, **settings))
    assert test.works, test.message
    return test.passport


@pytest.mark.parametrize(
    ("family", "source"),
    [
        ("vllm", "/models, max_model_len"),
        ("sglang", "/models, max_model_len"),
        ("llama.cpp", "/props, n_ctx"),
        ("ollama", "/api/ps, of the loaded model"),
        ("kimi-k3", "/models, context_length"),
        ("openai-compatible", "the server says nothing about it"),
    ],
)
def test_the_context_is_read_where_each_server_says_it(family: str, source: str) -> None:
    passport = passport_of(family)
    length = None if family == "openai-compatible" else 65_536
    assert (passport.context_tokens, passport.facts["context"].source) == (length, source)


def test_lm_studio_says_the_length_of_the_loaded_model() -> None:
    routes = listings.lm_studio("m", 8192)
    with StrictServer(two_calls, [ChatApi()], model="m", routes=routes) as server:
        passport = check_endpoint(ModelConfig(server.address + "/v1", "m")).passport
    assert passport.context_tokens == 8192
    assert (passport.value("images"), passport.value("server")) == (False, "LM Studio")


def test_a_model_calls_tools_in_parallel_and_its_reasoning_has_a_field() -> None:
    passport = passport_of("vllm")
    values = {name: fact.value for name, fact in passport.facts.items()}
    assert values["tools"] is values["parallel_tools"] is values["streams"] is True
    assert (values["reasoning"], values["reasoning_returned"]) == ("field reasoning", False)
    assert (values["api"], values["key"]) == ("Chat Completions", "none needed")
    assert 0 < passport.prompt_tokens + passport.generated_tokens < 1000


def test_a_refusal_says_that_reasoning_must_come_back_and_is_remembered() -> None:
    family = FAMILIES["deepseek-v4"]
    with StrictServer(two_calls, family.apis(), model="new-model") as server:
        test = check_endpoint(ModelConfig(server.address + "/v1", "new-model", api="chat"))
    assert test.works
    fact = test.passport.facts["reasoning_returned"]
    assert (fact.value, fact.source) == (True, "it refused a request without")
    assert test.passport.learned["lessons"]["chat"]["changes"]


def test_the_only_model_is_chosen() -> None:
    with FAMILIES["vllm"].serve(two_calls) as server:
        test = check_endpoint(FAMILIES["vllm"].config(server, api="chat"))
        alone = check_endpoint(ModelConfig(server.address + "/v1", ""))
    assert alone.passport.model == test.passport.model == FAMILIES["vllm"].model


def test_a_refused_key_and_a_server_that_is_not_there_are_facts() -> None:
    with Endpoint(key="right-key-12345") as endpoint:
        test = check_endpoint(ModelConfig(endpoint.url, "test-model", api_key="wrong-key-12345"))
    assert not test.works
    assert test.passport.value("key") == "refused"
    test = check_endpoint(ModelConfig("http://127.0.0.1:9/v1", "m"))
    assert (test.works, test.passport.value("reachable")) == (False, False)


def test_servers_of_this_machine_are_listed() -> None:
    with FAMILIES["ollama"].serve(two_calls) as server:
        port = int(server.address.rpartition(":")[2])
        found = find_local_servers({"Ollama": port, "LM Studio": 9})
    assert [(each.name, list(each.models)) for each in found] == [("Ollama", ["qwen3:8b"])]


# Hostile servers

LARGE = json.dumps({"data": [{"id": f"m{n}", "max_model_len": 10**30} for n in range(50_000)]})
HOSTILE: Mapping[str, bytes] = {
    "endless": b"x" * 9 * 1024**2,
    "deep": b"[" * 500_000,
    "large": LARGE.encode(),
    "other": b'{"data": {"id": [1]}, "models": 3}',
    "no text": b"\xff\xfe",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_answers_are_bounded_and_end_in_a_sentence(kind: str) -> None:
    head = "HTTP/1.1 200 OK\nContent-Type: application/json"
    with FloodServer(head, [HOSTILE[kind]]) as server:
        test = check_endpoint(ModelConfig(server.url, "m1"))
    assert not test.works
    assert test.message == test.passport.problem
    assert len(test.models) <= 5000
    assert len(json.dumps(test.passport.to_json())) < 20_000
