"""Models are tested once before an evaluation, and those that cannot work are named with advice."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.models.base import Model, ModelConfig
from agent.models.endpoint.deferred import DeferredEndpointModel
from agent.models.passport import ensure, renewal
from agent.models.passport.ensure import ensure_tested
from agent.models.passport.passport import Passport
from agent.models.passport.store import PassportStore
from agent.util.stop import Stop
from tests.support.models.endpoint import Endpoint
from tests.support.models.scripted import ScriptedModel
from tests.support.models.turns import Turn
from tests.support.server import wait_until
from tests.support.servers import listings
from tests.support.servers.chat.api import ChatApi
from tests.support.servers.server import Seen, StrictServer

pytestmark = pytest.mark.contract


@pytest.fixture
def store(tmp_path: Path) -> PassportStore:
    return PassportStore(tmp_path)


def examined(store: PassportStore, *configs: ModelConfig) -> tuple[dict[int, str], list[int]]:
    tested: list[int] = []
    models = {number: DeferredEndpointModel(config, store) for number, config in enumerate(configs)}
    problems = ensure_tested(models, Stop(), tested.extend)
    return problems, sorted(tested)


def found_for(store: PassportStore, config: ModelConfig) -> Passport:
    found = store.find(config.base_url, config.model)
    assert found is not None
    return found


def test_a_model_is_tested_once_for_all_members_and_not_again(store: PassportStore) -> None:
    with Endpoint() as endpoint:
        config = ModelConfig(endpoint.url, "test-model")
        assert examined(store, config, config) == ({}, [0, 1])
        found = found_for(store, config)
        assert (found.value("tools"), found.is_fresh) == (True, True)
        assert examined(store, config) == ({}, [])
        assert len(endpoint.tests) == 2


def test_models_that_are_behind_no_endpoint_need_no_test() -> None:
    model: Model = ScriptedModel([])
    assert ensure_tested({0: model}, Stop(), lambda _: None) == {}


def test_a_model_that_fails_is_named_and_the_others_go_on(store: PassportStore) -> None:
    turn = Turn(fault="404", message="The model does not exist")
    with Endpoint(lambda _: turn, passes_test=False) as bad, Endpoint() as good:
        configs = [ModelConfig(each.url, "test-model") for each in (bad, good)]
        problems, tested = examined(store, *configs)
    assert (list(problems), tested) == ([0], [0, 1])
    assert "The model does not exist" in problems[0]
    assert store.find(bad.url, "test-model") is None


def test_a_model_that_calls_no_tool_goes_on_and_its_passport_says_so(store: PassportStore) -> None:
    with Endpoint(lambda _: Turn(text="I am ready."), passes_test=False) as endpoint:
        config = ModelConfig(endpoint.url, "test-model")
        assert examined(store, config) == ({}, [0])
        assert found_for(store, config).value("tools") is False


def test_a_busy_endpoint_is_asked_again(
    store: PassportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ensure, "_WAITS", (0.01, 0.01))
    call = Turn(calls=[("ready", {"number": 1})])
    turns = [Turn(fault="503"), Turn(fault="429"), call, Turn(text="done")]
    with Endpoint(turns, passes_test=False) as endpoint:
        assert examined(store, ModelConfig(endpoint.url, "test-model")) == ({}, [0])
    with Endpoint(lambda _: Turn(fault="503"), passes_test=False) as endpoint:
        problems, _ = examined(store, ModelConfig(endpoint.url, "test-model"))
        assert "503" in problems[0]
        assert len(endpoint.requests) == 3


def test_a_test_that_is_stopped_is_no_problem(store: PassportStore) -> None:
    stop = Stop()
    stop.set()
    with Endpoint(lambda _: Turn(fault="401"), passes_test=False) as endpoint:
        model = DeferredEndpointModel(ModelConfig(endpoint.url, "test-model"), store)
        assert ensure_tested({0: model}, stop, lambda _: None) == {}
    assert store.find(endpoint.url, "test-model") is None


# When the server's answer changes


def calling(seen: Seen) -> Turn:
    return Turn(text="done") if seen.commands else Turn(calls=[("ready", {"number": 1})] * 2)


@pytest.mark.parametrize(
    "say", [listings.vllm, listings.llama_cpp, listings.sglang, listings.with_context_length]
)
def test_a_server_that_says_something_else_renews_the_passport(
    store: PassportStore, say: listings.Listing
) -> None:
    with StrictServer(calling, [ChatApi()], model="m", routes=say("m", 8192)) as server:
        config = ModelConfig(server.url, "m")
        assert examined(store, config) == ({}, [0])
        assert examined(store, config) == ({}, [])
        server.routes = say("m", 4096)
        renewed = renewal.renew(config, found_for(store, config), store)
        assert (renewed.context_tokens, renewed.is_fresh) == (4096, False)
        assert found_for(store, config) == renewed
        assert renewal.renew(config, renewed, store) == renewed
        assert examined(store, config) == ({}, [0])  # what the test found out may be wrong now
        assert found_for(store, config).is_fresh


def test_what_changes_by_itself_and_a_silent_server_renew_nothing(store: PassportStore) -> None:
    routes = listings.ollama("m", 8192)
    with StrictServer(calling, [ChatApi()], model="m", routes=routes) as server:
        config = ModelConfig(server.url, "m")
        assert examined(store, config) == ({}, [0])
        server.routes = {**routes, "/api/ps": {"models": []}}  # it was unloaded
        assert examined(store, config) == ({}, [])
        server.routes = {"/v1/models": {"data": [{**ENTRY, "created": 7, "permission": [1]}]}}
        assert examined(store, config) == ({}, [])
    assert examined(store, config) == ({}, [])


def test_a_run_looks_in_the_background_and_not_again_soon(
    store: PassportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewal, "_checked", {})
    with StrictServer(calling, [ChatApi()], model="m", routes=listings.vllm("m", 8192)) as server:
        config = ModelConfig(server.url, "m")
        examined(store, config)
        found = found_for(store, config)
        old = replace(found, tested=1.0)
        store.put(old)
        server.routes = listings.vllm("m", 4096)
        DeferredEndpointModel(config, store).preload()
        wait_until(lambda: found_for(store, config).context_tokens == 4096)
        server.routes = listings.vllm("m", 2048)
        renewal.renew_if_due(config, old, store)
        renewal.renew_if_due(config, found, store)
        assert found_for(store, config).context_tokens == 4096


ENTRY = listings.ollama("m", 8192)["/v1/models"]["data"][0]
