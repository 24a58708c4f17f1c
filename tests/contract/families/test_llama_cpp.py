"""llama.cpp's own server, over each of its APIs: calls, their results, long conversations, a stop.

The model is small, so a grammar makes it call a tool. Needs the packages of
``requirements-builtin.txt``.
"""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from agent import Limits, ModelConfig, Studio
from agent.errors import ContextTooLong
from agent.events import ModelAnswered, TextDelta, ToolEnded
from agent.models.base import (
    ApiName,
    AssistantMessage,
    Finish,
    Message,
    ModelNotice,
    ModelRequest,
    Picture,
    ToolCall,
    ToolResult,
    UserMessage,
)
from agent.models.endpoint.client import fetch_models
from agent.models.passport.probe import list_models
from agent.models.passport.server_facts import read_server
from agent.util import event_loops
from tests.contract.model_suite import BASH
from tests.support.models.model_requests import HISTORY, stream_from
from tests.support.models.projector import TOKENS, write_projector
from tests.support.servers.llama_cpp import find_weights, serve_llama

pytestmark = [pytest.mark.nightly, pytest.mark.builtin, pytest.mark.timeout(600)]

CONTEXT = 4096
MODEL_WIDTH = 576  # of the built-in model
APIS: tuple[ApiName, ...] = ("chat", "responses", "messages")
CALL = '```tool_call\n{"name": "execute_bash", "arguments": {"command": "echo one"}}\n```'
# A grammar that allows nothing else; the server takes none together with tools.
FORCED = {"grammar": f"root ::= {json.dumps(CALL)}"}
LIMITS = Limits(steps=2, turn_tokens=120)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    weights = find_weights()
    if weights is None:
        pytest.skip("llama.cpp is not installed (requirements-builtin.txt)")
    with serve_llama(weights, CONTEXT) as url:
        yield url


@pytest.fixture(scope="module")
def seeing_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a projector of random weights: it takes pictures and sees nothing in them."""
    weights = find_weights()
    if weights is None:
        pytest.skip("llama.cpp is not installed (requirements-builtin.txt)")
    projector = tmp_path_factory.mktemp("projector") / "mmproj.gguf"
    write_projector(projector, MODEL_WIDTH)
    with serve_llama(weights, CONTEXT, projector) as url:
        yield url


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> ApiName:
    name: ApiName = request.param
    return name


def config(url: str, api: ApiName, **settings: Any) -> ModelConfig:
    return ModelConfig(url, "smollm2", api=api, **settings)


# Over Messages this build drops the grammar.
@pytest.mark.parametrize("api", ["chat", "responses"], indirect=True)
def test_a_call_gets_its_result_and_the_model_goes_on(
    studio: Studio, url: str, api: ApiName
) -> None:
    model = config(url, api, extra_body=FORCED, tool_call_style="text")
    run = studio.run("Count the files.", model=model, limits=LIMITS)
    events = list(run)
    answers = [event for event in events if isinstance(event, ModelAnswered)]
    results = [event for event in events if isinstance(event, ToolEnded)]
    assert run.result.status == "step_limit", run.result.reason
    assert [len(answer.calls) for answer in answers] == [1, 1]
    assert ["one" in result.observation for result in results] == [True, True]
    assert all(answer.usage and answer.usage.prompt > 100 for answer in answers)


def test_a_history_with_calls_and_results_is_accepted(url: str, api: ApiName) -> None:
    request = ModelRequest(HISTORY, [BASH], 8)
    pieces = stream_from(config(url, api), request)
    assert isinstance(pieces[-1], Finish)
    assert len(list_models(ModelConfig(url, ""))) == 1


def test_text_is_streamed_and_counted(studio: Studio, url: str, api: ApiName) -> None:
    run = studio.run("Tell me of the sea.", model=config(url, api), mode="plain",
                     limits=Limits(turn_tokens=40))  # fmt: skip
    events = list(run)
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1
    [answer] = [event for event in events if isinstance(event, ModelAnswered)]
    assert answer.usage
    assert 0 < answer.usage.generated <= 40
    assert not answer.estimated


@pytest.mark.parametrize("api", ["chat"], indirect=True)
def test_a_repeated_prompt_is_cached(url: str, api: ApiName) -> None:
    request = ModelRequest([UserMessage("Tell me of the sea and of the harbour.")], max_tokens=4)
    finish = [stream_from(config(url, api), request) for _ in range(2)][-1][-1]
    assert isinstance(finish, Finish)
    assert finish.reason == "length"
    assert finish.usage is not None
    assert finish.usage.cached > 0


def test_what_is_beyond_the_context_is_an_error_with_numbers(
    studio: Studio, url: str, api: ApiName
) -> None:
    request = ModelRequest([UserMessage("word " * 6000)], max_tokens=10)
    with pytest.raises(ContextTooLong) as caught:
        stream_from(config(url, api), request)
    assert caught.value.limit == CONTEXT
    assert (caught.value.used or 0) > 6000
    run = studio.run("word " * 6000, model=config(url, api), mode="plain")
    assert run.wait().status == "token_limit"
    assert "fit the model's context" in run.result.reason


def test_a_stop_ends_the_answer_and_the_next_one_works(
    studio: Studio, url: str, api: ApiName
) -> None:
    run = studio.run("Count to one thousand.", model=config(url, api), mode="plain")
    for event in run:
        if isinstance(event, TextDelta):
            run.stop()
    assert run.result.status == "stopped"
    run.send("Say hello.", limits=Limits(turn_tokens=8)).wait()
    assert run.result.status in ("answered", "token_limit"), run.result.reason


OUT = io.BytesIO()
Image.new("RGB", (320, 240), "red").save(OUT, "PNG")
PICTURE = Picture("a.png", "image/png", 320, 240, len(OUT.getvalue()), "output/a.png", 16)
SEEN: list[Message] = [
    UserMessage("Draw.", (PICTURE,)),
    AssistantMessage("", "", (ToolCall("a", "execute_bash", '{"command": "ls"}'),)),
    ToolResult("a", "execute_bash", "The picture follows.", (PICTURE,)),
]


def prompt_tokens(config: ModelConfig, messages: list[Message]) -> int:
    request = ModelRequest(messages, [BASH], 4, read_picture=lambda _: OUT.getvalue())
    finish = stream_from(config, request)[-1]
    assert isinstance(finish, Finish)
    assert finish.usage is not None
    return finish.usage.prompt


def test_pictures_are_read_over_each_api(seeing_url: str, api: ApiName) -> None:
    """Each takes its tokens, and no other text: the labels are sent without pictures, too."""
    seen = prompt_tokens(config(seeing_url, api), SEEN)
    labelled = [
        UserMessage("Draw.\noutput/a.png (320 × 240 pixels):"),
        SEEN[1],
        ToolResult("a", "execute_bash", "The picture follows."),
        UserMessage("output/a.png (320 × 240 pixels):"),
    ]
    blind = prompt_tokens(config(seeing_url, api), labelled)
    assert abs(seen - blind - 2 * TOKENS) < TOKENS


def test_a_server_without_a_projector_gets_descriptions(url: str, api: ApiName) -> None:
    pieces = stream_from(
        config(url, api), ModelRequest(SEEN, [BASH], 4, read_picture=lambda _: OUT.getvalue())
    )
    assert any(isinstance(each, ModelNotice) and "no pictures" in each.text for each in pieces)
    assert isinstance(pieces[-1], Finish)


def test_the_server_says_whether_it_takes_pictures(url: str, seeing_url: str) -> None:
    for address, expected in ((url, False), (seeing_url, True)):
        given = ModelConfig(address, "smollm2")
        listed = event_loops.submit(fetch_models(given)).result()
        found = event_loops.submit(read_server(given, listed)).result()
        assert found.facts["images"].value is expected
