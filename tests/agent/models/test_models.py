"""Models: the contract suite, stop, cleanup, and the models of an endpoint."""

import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from agent.errors import ModelRefused, ModelUnavailable
from agent.models.base import Model, ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.models.errors.connection_errors import CONNECT_TIMEOUT_SECONDS
from agent.models.passport.probe import check_endpoint, list_models
from agent.util.stop import Stop
from tests.contract.model_suite import REQUEST, ModelSuite
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.models.scripted import ScriptedModel, ScriptedTurn

pytestmark = pytest.mark.contract


class TestScriptedModel(ModelSuite):
    @contextmanager
    def model(self, *turns: ScriptedTurn) -> Iterator[Model]:
        yield ScriptedModel(turns)


class TestOpenAIModel(ModelSuite):
    @contextmanager
    def model(self, *turns: ScriptedTurn) -> Iterator[Model]:
        with Endpoint([endpoint_turn(turn) for turn in turns]) as endpoint:
            yield EndpointModel(ModelConfig(endpoint.url, "test-model"))


def endpoint_turn(turn: ScriptedTurn) -> Turn:
    usage = (u.prompt, u.generated, u.cached) if (u := turn.usage) else None
    return Turn(
        text=turn.text,
        reasoning=turn.reasoning,
        calls=[Call(call.name, call.arguments) for call in turn.calls],
        usage=usage,
        finish=turn.finish,
        fault="overloaded" if turn.error else "",
        fragment_length=3 if turn.error else 12,
        gate=turn.gate,
    )


# Stop and cleanup


def test_a_stop_closes_the_connection() -> None:
    stop = Stop()
    with Endpoint([Turn(text="Hello", fault="silent")]) as endpoint:
        model = EndpointModel(ModelConfig(endpoint.url, "test-model"))
        for _ in model.stream(REQUEST, stop):
            stop.set()
        assert endpoint.wait_for_connections(0)


def test_a_stop_ends_the_wait_for_a_connection() -> None:
    stop = Stop()
    model = EndpointModel(ModelConfig("http://192.0.2.1/v1", "test-model"))
    timer = threading.Timer(0.2, stop.set)
    timer.start()
    start_time = time.monotonic()
    with suppress(ModelUnavailable):  # some networks refuse at once
        assert list(model.stream(REQUEST, stop)) == []
    assert time.monotonic() - start_time < CONNECT_TIMEOUT_SECONDS
    timer.cancel()
    timer.join()


@pytest.mark.nightly
def test_turns_leave_no_threads_or_connections() -> None:
    turns = [Turn(text="Hi"), Turn(fault="500"), Turn(fault="cut"), Turn(text="s", fault="silent")]
    with Endpoint(turns * 14) as endpoint:
        for number in range(56):
            if number == 8:
                before = count_threads_and_descriptors()
            stop = Stop()
            model = EndpointModel(ModelConfig(endpoint.url, "test-model"))
            with suppress(ModelUnavailable):
                for piece in model.stream(REQUEST, stop):
                    if getattr(piece, "text", "") == "s":
                        stop.set()
        assert endpoint.wait_for_connections(0) or endpoint.connections <= 1
    assert count_threads_and_descriptors()[0] <= before[0] + 1
    assert count_threads_and_descriptors()[1] <= before[1] + 4


def count_threads_and_descriptors() -> tuple[int, int]:
    gc.collect()
    threads = [thread for thread in threading.enumerate() if "process_request" not in thread.name]
    return len(threads), len(list(Path(f"/proc/{os.getpid()}/fd").iterdir()))


# Listing and checking models


def test_models_are_listed_with_the_right_key() -> None:
    with Endpoint(models=["b", "a", "a"], key="right") as endpoint:
        assert list_models(ModelConfig(endpoint.url, "", api_key="right")) == ["a", "b"]
        with pytest.raises(ModelRefused, match="key is missing"):
            list_models(ModelConfig(endpoint.url, "", api_key="wrong-key-1234567"))


def test_the_check_reports_success_or_the_error() -> None:
    calling = [Turn(calls=[("ready", {})]), Turn(text="Done.")]
    turns = [*calling, Turn(text="I am ready."), Turn(fault="503")]
    with Endpoint(turns, models=["test-model", "other"], passes_test=False) as endpoint:
        config = ModelConfig(endpoint.url, "test-model")
        assert "works" in check_endpoint(config).message
        assert "did not call the test tool" in check_endpoint(config).message
        assert "answered 503" in check_endpoint(config).message
        assert "offers 2 models" in check_endpoint(ModelConfig(endpoint.url, "")).message
    assert "cannot be reached" in check_endpoint(config).message
    assert "http://" in check_endpoint(ModelConfig("localhost:8000/v1", "m")).message
