"""Settings as parameters of chat completions, which families of models take differently."""

from collections.abc import Mapping
from typing import Any

from agent.models.base import ModelConfig
from agent.models.endpoint.api import Body, Parameters, sampling
from agent.models.endpoint.families import Traits

_DEEPSEEK_EFFORTS = ("low", "high", "max")
_THINKING_OBJECT = ("deepseek", "kimi", "glm")
_TEMPLATE_SWITCH = ("qwen", "deepseek", "glm")


def parameters(config: ModelConfig, limit: int | None, traits: Traits) -> Parameters:
    """See ``Api.parameters``."""
    left_out: dict[str, str] = {}
    body: Body = {"model": config.model, "stream_options": {"include_usage": True}}
    optional: dict[str, Any] = {
        **_sampling(config, traits, left_out),
        ("max_completion_tokens" if traits.has_fixed_sampling else "max_tokens"): limit,
        **_reasoning(config, traits, left_out),
        "verbosity": config.verbosity,
        ("random_seed" if traits.service == "mistral" else "seed"): config.seed,
    }
    body |= {key: value for key, value in optional.items() if value is not None}
    return Parameters(body, left_out=left_out)


def _sampling(config: ModelConfig, traits: Traits, left_out: dict[str, str]) -> Mapping[str, Any]:
    fixed = ""
    if traits.has_fixed_sampling and config.effort != "none":
        fixed = "this model fixes it"
    elif traits.family == "kimi" and traits.version >= (2, 5) and not _is_off(config):
        fixed = "this model fixes it while it thinks"
    return sampling(config, fixed, left_out)


def _reasoning(config: ModelConfig, traits: Traits, left_out: dict[str, str]) -> Mapping[str, Any]:
    """Return how a model is told whether and how much to reason."""
    if traits.service == "openrouter":
        return _of_openrouter(config)
    if traits.family == "deepseek" and traits.service == "deepseek":
        return _of_deepseek(config, left_out)
    thinking = _thinking(config)
    if traits.family == "kimi" and traits.version == (2, 6) and thinking is None:
        return {"thinking": {"type": "enabled", "keep": "all"}, "reasoning_effort": config.effort}
    if thinking is None:
        return {"reasoning_effort": config.effort}
    if traits.service == "dashscope":
        return {"enable_thinking": thinking, "reasoning_effort": _effort(config)}
    if traits.family in _THINKING_OBJECT and traits.service:
        return {"thinking": _switch(thinking, traits), "reasoning_effort": _effort(config)}
    if traits.family in _TEMPLATE_SWITCH and traits.service != "ollama":
        # A server of open weights: vLLM, SGLang, llama.cpp.
        switch = {"enable_thinking": thinking, "thinking": thinking}
        return {"chat_template_kwargs": switch, "reasoning_effort": _effort(config)}
    return {"reasoning_effort": _effort(config) if thinking else "none"}


def _of_openrouter(config: ModelConfig) -> Mapping[str, Any]:
    reasoning = {"effort": config.effort, "enabled": config.thinking}
    sent = {key: value for key, value in reasoning.items() if value is not None}
    return {"reasoning": sent or None}


def _of_deepseek(config: ModelConfig, left_out: dict[str, str]) -> Mapping[str, Any]:
    thinking, effort = _thinking(config), _effort(config)
    if effort is not None and effort not in _DEEPSEEK_EFFORTS:
        left_out["effort"] = (
            f"The effort “{effort}” is not sent: DeepSeek has {', '.join(_DEEPSEEK_EFFORTS)}."
        )
        effort = None
    switch = None if thinking is None else {"type": "enabled" if thinking else "disabled"}
    return {"thinking": switch, "reasoning_effort": effort}


def _switch(thinking: bool, traits: Traits) -> Body:
    switch: Body = {"type": "enabled" if thinking else "disabled"}
    if thinking and traits.family == "kimi" and traits.version == (2, 6):
        switch["keep"] = "all"  # without it, the model ignores the reasoning of earlier turns
    return switch


def _thinking(config: ModelConfig) -> bool | None:
    """Return whether the model shall reason; the effort “none” says that it shall not."""
    return False if _is_off(config) else config.thinking


def _is_off(config: ModelConfig) -> bool:
    return config.thinking is False or (config.thinking is None and config.effort == "none")


def _effort(config: ModelConfig) -> str | None:
    return None if config.effort == "none" or config.thinking is False else config.effort
