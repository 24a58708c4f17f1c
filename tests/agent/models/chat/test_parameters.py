"""Settings as parameters of chat completions, by family and service."""

from typing import Any

import pytest

from agent.models.base import ModelConfig
from agent.models.chat.api import CHAT as API
from agent.models.endpoint.api import Parameters
from agent.models.endpoint.families import certain_api, traits_of

ANYWHERE = "http://127.0.0.1:8000/v1"


def parameters(model: str, base_url: str = ANYWHERE, **settings: Any) -> Parameters:
    config = ModelConfig(base_url, model, **settings)
    return API.parameters(config, config.max_tokens, traits_of(base_url, model))


def sent(model: str, base_url: str = ANYWHERE, **settings: Any) -> dict[str, Any]:
    body = parameters(model, base_url, **settings).body
    return {key: value for key, value in body.items() if key not in ("model", "stream_options")}


def test_an_unknown_model_gets_the_common_parameters() -> None:
    assert sent("m", temperature=0.5, top_p=0.9, max_tokens=9, effort="high", verbosity="low",
                seed=7) == {
        "temperature": 0.5, "top_p": 0.9, "max_tokens": 9, "reasoning_effort": "high",
        "verbosity": "low", "seed": 7,
    }  # fmt: skip


@pytest.mark.parametrize("model", ["gpt-5.2", "openai/gpt-5-mini", "o3", "o4-mini"])
def test_reasoning_models_of_openai_fix_the_sampling(model: str) -> None:
    found = parameters(model, temperature=0.5, top_p=0.9, max_tokens=9)
    assert found.body["max_completion_tokens"] == 9
    assert not {"temperature", "top_p", "max_tokens"} & found.body.keys()
    assert set(found.left_out) == {"temperature", "top_p"}
    assert "temperature" in sent(model, temperature=0.5, effort="none")


def test_other_models_of_openai_do_not() -> None:
    for model in ("gpt-4.1", "gpt-oss-120b", "gpt-5-chat-latest"):
        assert sent(model, temperature=0.5, max_tokens=9) == {"temperature": 0.5, "max_tokens": 9}


DEEPSEEK = "https://api.deepseek.com/v1"


def test_deepseek_has_three_efforts() -> None:
    for effort in ("low", "high", "max"):
        assert sent("deepseek-v4", DEEPSEEK, effort=effort) == {"reasoning_effort": effort}
    found = parameters("deepseek-v4", DEEPSEEK, effort="medium")
    assert "reasoning_effort" not in found.body
    assert "low, high, max" in found.left_out["effort"]


@pytest.mark.parametrize("settings", [{"thinking": False}, {"effort": "none"}])
def test_thinking_is_switched_off_as_each_service_has_it(settings: dict[str, Any]) -> None:
    def off(model: str, base_url: str) -> dict[str, Any]:
        return sent(model, base_url, **settings)

    assert off("deepseek-v4", DEEPSEEK) == {"thinking": {"type": "disabled"}}
    assert off("kimi-k2.6", "https://api.moonshot.ai/v1") == {"thinking": {"type": "disabled"}}
    assert off("qwen3-max", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1") == {
        "enable_thinking": False
    }
    assert off("Qwen/Qwen3-32B", ANYWHERE)["chat_template_kwargs"]["enable_thinking"] is False
    assert off("qwen3:8b", "http://127.0.0.1:11434/v1") == {"reasoning_effort": "none"}
    assert off("gemini-3-pro-preview", ANYWHERE) == {"reasoning_effort": "none"}
    assert off("gpt-5.2", ANYWHERE) == {"reasoning_effort": "none"}


def test_kimi_fixes_the_sampling_while_it_thinks_and_keeps_earlier_reasoning() -> None:
    moonshot = "https://api.moonshot.ai/v1"
    assert set(parameters("kimi-k2.5", moonshot, temperature=1.0).left_out) == {"temperature"}
    assert sent("kimi-k2.5", moonshot, temperature=1.0, thinking=False)["temperature"] == 1.0
    assert sent("kimi-k2.6") == {"thinking": {"type": "enabled", "keep": "all"}}


def test_openrouter_and_mistral_have_names_of_their_own() -> None:
    openrouter = "https://openrouter.ai/api/v1"
    assert sent("x/y", openrouter, effort="low") == {"reasoning": {"effort": "low"}}
    assert sent("x/y", openrouter, thinking=False) == {"reasoning": {"enabled": False}}
    assert sent("mistral-large-latest", "https://api.mistral.ai/v1", seed=7) == {"random_seed": 7}


@pytest.mark.parametrize(
    ("base_url", "model", "api"),
    [
        ("https://api.anthropic.com", "claude-opus-4-6", "messages"),
        ("https://api.anthropic.com/v1", "claude-opus-4-6", "messages"),
        ("https://api.deepseek.com/anthropic", "deepseek-v4", "messages"),
        ("https://api.openai.com/v1", "gpt-5.4", "responses"),
        ("https://api.openai.com/v1", "gpt-6", "responses"),
        ("https://api.openai.com/v1", "gpt-5.2", None),
        ("https://openrouter.ai/api/v1", "openai/gpt-5.6", None),
        ("http://127.0.0.1:4000/v1", "claude-opus-4-6", None),
        ("https://notopenai.com/v1", "gpt-5.6", None),
    ],
)
def test_the_api_is_chosen_only_where_it_is_certain(
    base_url: str, model: str, api: str | None
) -> None:
    assert certain_api(ModelConfig(base_url, model)) == api


def test_cache_marks_are_set_only_where_they_help() -> None:
    def marks(base_url: str, model: str) -> bool:
        return "cache marks" in API.known_changes(traits_of(base_url, model))

    openrouter = "https://openrouter.ai/api/v1"
    assert marks(openrouter, "anthropic/claude-sonnet-4.6")
    assert marks("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen3-max")
    assert not marks(openrouter, "google/gemini-3-pro-preview")
    assert not marks(openrouter, "openai/gpt-5.6")
    assert not marks(DEEPSEEK, "deepseek-v4")
    assert not marks(ANYWHERE, "qwen3-32b")
