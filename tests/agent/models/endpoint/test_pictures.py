"""Whether a model gets pictures: by its server, its name, a setting and refusals."""

import pytest

from agent.models.base import ModelConfig, picture_limits_of
from agent.models.endpoint.client import EndpointModel
from agent.models.endpoint.deferred import DeferredEndpointModel
from agent.models.endpoint.learned import Learned, Lessons
from agent.models.endpoint.pictures import REFUSES_PICTURES, picture_limits
from agent.models.endpoint.writing import NO_PICTURES

BLIND = Learned(lessons={"chat": Lessons(changes=(NO_PICTURES,))})


def sees(model: str, images: str = "auto", fact: bool | None = None) -> bool:
    config = ModelConfig("http://localhost/v1", model, images=images)  # type: ignore[arg-type]
    return picture_limits(config, fact, Learned()) is not None


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-4-7", "anthropic/claude-sonnet-4.6", "gpt-5.6", "gpt-4o-mini", "o3",
        "gemini-3-pro-preview", "Qwen/Qwen3-VL-30B-A3B", "qwen2.5vl:7b", "pixtral-12b",
        "gemma-3-27b-it", "kimi-k2.6", "llava:13b", "glm-4.5v",
    ],
)  # fmt: skip
def test_names_of_models_that_take_pictures(name: str) -> None:
    assert sees(name)
    assert not sees(name, fact=False)


@pytest.mark.parametrize(
    "name",
    ["gpt-3.5-turbo", "o3-mini", "o1-mini", "gpt-oss-120b", "deepseek-v4", "qwen3-coder", "kimi-k2",
     "MiniMax-M2.1", "mistral-large-latest", "llama-3.3-70b", "my-model", "revlon"],
)  # fmt: skip
def test_about_other_names_the_server_or_a_setting_decides(name: str) -> None:
    assert not sees(name)
    assert sees(name, fact=True)
    assert sees(name, "on")
    assert not sees(name, "off", fact=True)


def test_a_refusal_is_final() -> None:
    config = ModelConfig("http://localhost/v1", "gpt-5.6", images="on")
    assert picture_limits(config, True, BLIND) is None
    assert picture_limits_of(EndpointModel(config, BLIND)) is None
    assert picture_limits_of(EndpointModel(config)) is not None
    limits = picture_limits_of(DeferredEndpointModel(config))
    assert limits is not None
    assert limits.family == "openai"


@pytest.mark.parametrize(
    "text",
    [
        "Invalid content type. image_url is only supported by certain models.",
        "image input is not supported - hint: you may need to provide the mmproj",
        "messages[2]: unknown variant `image_url`, expected `text`",
        "At most 0 image(s) may be provided in one request.",
        "/model is not a multimodal model",
        "No endpoints found that support image input",
        "Image input is not enabled for this model",
        "messages[1].content must be a string",
        "This model does not support vision.",
    ],
)
def test_refusals_of_pictures_are_recognised(text: str) -> None:
    assert REFUSES_PICTURES.is_stated(text)


@pytest.mark.parametrize(
    "text",
    [
        "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum, not allowed",
        "At most 5 image(s) may be provided in one request.",
        "The image is too large; it is not supported.",
        "reasoning_effort: unknown variant `medium`, expected `low`",
        "tool calls are not supported by this model",
    ],
)
def test_other_refusals_are_not(text: str) -> None:
    assert not REFUSES_PICTURES.is_stated(text)


def test_only_a_request_with_pictures_teaches_it() -> None:
    text = {"messages": [{"role": "user", "content": "Hi"}]}
    parts = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    assert not REFUSES_PICTURES.applies(text)
    assert REFUSES_PICTURES.applies({"messages": [{"role": "user", "content": parts}]})
    result = {"type": "tool_result", "content": [{"type": "image", "source": {}}]}
    assert REFUSES_PICTURES.applies({"messages": [{"role": "user", "content": [result]}]})
    output = {"type": "function_call_output", "output": [{"type": "input_image"}]}
    assert REFUSES_PICTURES.applies({"input": [output]})
