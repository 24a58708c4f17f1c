"""The OpenAI client with a real server: llama.cpp with SmolLM2-135M on this machine's CPU.

Needs the packages of ``requirements-builtin.txt``.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agent.errors import ContextTooLong
from agent.models.base import Finish, ModelConfig, ModelRequest, Piece, SystemMessage, UserMessage
from agent.models.endpoint.client import EndpointModel
from agent.models.passport.probe import list_models
from agent.util.cancellation import Stop
from tests.contract.model_suite import BASH, calls_of, text_of
from tests.support.servers.llama_cpp import find_weights, serve_llama

CONTEXT = 1024
pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    weights = find_weights()
    if weights is None:
        pytest.skip("llama.cpp is not installed (requirements-builtin.txt)")
    with serve_llama(weights, CONTEXT) as url:
        yield url


def stream(url: str, request: ModelRequest, **settings: Any) -> list[Piece]:
    config = ModelConfig(url, "smollm2", temperature=0.0, **settings)
    return list(EndpointModel(config).stream(request, Stop()))


def test_a_real_model_answers_and_its_tokens_are_counted(url: str) -> None:
    request = ModelRequest([SystemMessage("You are helpful."), UserMessage("Tell me of the sea.")])
    pieces = stream(url, request, max_tokens=40)
    assert len(text_of(pieces).split()) > 5
    finish = pieces[-1]
    assert isinstance(finish, Finish)
    assert finish.usage is not None
    assert finish.usage.prompt > 10
    assert 0 < finish.usage.generated <= 40


def test_a_repeated_prompt_is_cached(url: str) -> None:
    request = ModelRequest(
        [UserMessage("Tell me of the sea, of ships and of the harbour in the evening.")]
    )
    finish = [stream(url, request, max_tokens=4)[-1] for _ in range(2)][-1]
    assert isinstance(finish, Finish)
    assert finish.reason == "length"
    assert finish.usage is not None
    assert finish.usage.cached > 0


def test_tools_are_accepted(url: str) -> None:
    pieces = stream(url, ModelRequest([UserMessage("List the files.")], [BASH]), max_tokens=30)
    assert isinstance(pieces[-1], Finish)


def test_calls_in_text_are_parsed(url: str) -> None:
    call = '```tool_call\n{"name": "execute_bash", "arguments": {"command": "ls"}}\n```'
    body = {"grammar": f"root ::= {json.dumps(call)}"}
    request = ModelRequest([UserMessage("List the files.")], [BASH])
    pieces = stream(url, request, max_tokens=80, tool_call_style="text", extra_body=body)
    assert text_of(pieces) == ""
    assert [(call.name, call.arguments) for call in calls_of(pieces)] == [
        ("execute_bash", '{"command": "ls"}')
    ]


def test_a_conversation_beyond_the_context_is_an_error_with_numbers(url: str) -> None:
    with pytest.raises(ContextTooLong) as caught:
        stream(url, ModelRequest([UserMessage("word " * 3000)]), max_tokens=10)
    assert caught.value.limit == CONTEXT
    assert caught.value.used is not None
    assert caught.value.used > 3000


def test_a_stop_ends_the_answer_and_the_next_request_works(url: str) -> None:
    stop = Stop()
    model = EndpointModel(ModelConfig(url, "smollm2"))
    pieces = []
    for piece in model.stream(ModelRequest([UserMessage("Count to one thousand.")]), stop):
        pieces.append(piece)
        stop.set()
    assert not any(isinstance(piece, Finish) for piece in pieces)
    second_answer = stream(url, ModelRequest([UserMessage("Hello!")]), max_tokens=5)
    assert isinstance(second_answer[-1], Finish)


def test_the_server_lists_its_model(url: str) -> None:
    assert len(list_models(ModelConfig(url, ""))) == 1
