"""Settings as parameters of Messages: effort from Claude 4.6 on, no sampling from 4.7 on."""

from collections.abc import Mapping
from typing import Any

from agent.models.base import ModelConfig
from agent.models.endpoint.api import Body, Parameters, sampling
from agent.models.endpoint.families import Traits
from agent.util.text import plural

_CLAUDE_TOKENS, _OTHER_TOKENS = 32_000, 8_192
"""The answer's maximum tokens where no limit is set: the API requires one."""

_BUDGETS = {
    None: 8_000, "minimal": 1_024, "low": 4_000, "medium": 8_000, "high": 16_000, "xhigh": 24_000,
    "max": 24_000,
}  # fmt: skip
_MIN_BUDGET, _MIN_ANSWER_TOKENS = 1_024, 1_024
_INTERLEAVED = {"anthropic-beta": "interleaved-thinking-2025-05-14"}


def is_adaptive(traits: Traits) -> bool:
    """Return whether the model decides itself how much it thinks."""
    return traits.family == "claude" and traits.version >= (4, 6)


def has_budget(traits: Traits) -> bool:
    """Return whether the model thinks within a budget of tokens."""
    return traits.family == "claude" and (3, 7) <= traits.version < (4, 6)


def parameters(config: ModelConfig, limit: int | None, traits: Traits) -> Parameters:
    """See ``Api.parameters``."""
    left_out: dict[str, str] = {}
    default = _CLAUDE_TOKENS if traits.version >= (4, 0) else _OTHER_TOKENS
    limit = limit or (default if traits.family == "claude" else _OTHER_TOKENS)
    thinking = _thinking(config, limit, traits, left_out)
    optional: dict[str, Any] = {
        **_sampling(config, traits, thinking, left_out),
        "thinking": thinking,
        "output_config": _effort(config, traits, left_out),
    }
    for name in ("seed", "verbosity"):
        if getattr(config, name) is not None:
            left_out[name] = f"“{name}” is not sent: the Messages API does not have it."
    body: Body = {"model": config.model, "max_tokens": limit}
    body |= {key: value for key, value in optional.items() if value is not None}
    has_thinking_budget = thinking is not None and "budget_tokens" in thinking
    headers = _INTERLEAVED if has_thinking_budget and traits.family == "claude" else {}
    return Parameters(body, headers, left_out)


def _thinking(
    config: ModelConfig, limit: int, traits: Traits, left_out: dict[str, str]
) -> Body | None:
    is_off = config.thinking is False or (config.thinking is None and config.effort == "none")
    is_asked = config.thinking is True or config.effort not in (None, "none")
    if is_adaptive(traits):
        # Without a display, newer models send no text of their thinking.
        return {"type": "disabled"} if is_off else {"type": "adaptive", "display": "summarized"}
    if is_off and (config.thinking is False or has_budget(traits)):
        return {"type": "disabled"}
    if not is_asked:
        return None
    if traits.family == "claude" and not has_budget(traits):
        left_out["thinking"] = "Thinking is not asked for: this model does not think."
        return None
    budget = min(_BUDGETS.get(config.effort, _BUDGETS[None]), limit - _MIN_ANSWER_TOKENS)
    if budget < _MIN_BUDGET:
        left_out["thinking"] = (
            f"Thinking is not asked for: the answer's limit of {plural(limit, 'token')} leaves "
            "no room."
        )
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _sampling(
    config: ModelConfig, traits: Traits, thinking: Body | None, left_out: dict[str, str]
) -> Mapping[str, Any]:
    fixed = ""
    if traits.family == "claude" and traits.version >= (4, 7):
        fixed = "this model fixes it"
    elif traits.family == "claude" and thinking and thinking["type"] != "disabled":
        fixed = "this model fixes it while it thinks"
    asked = sampling(config, fixed, left_out)
    if traits.family == "claude" and asked and None not in asked.values():
        left_out["top_p"] = "“top_p” is not sent: this model takes it or a temperature, not both."
        del asked["top_p"]
    return asked


def _effort(config: ModelConfig, traits: Traits, left_out: dict[str, str]) -> Body | None:
    effort = config.effort
    if not is_adaptive(traits) or effort in (None, "none"):
        return None
    efforts = ["low", "medium", "high", *(["xhigh"] if traits.version >= (4, 7) else []), "max"]
    if effort not in efforts:
        left_out["effort"] = (
            f"The effort “{effort}” is not sent: this model has {', '.join(efforts)}."
        )
        return None
    return {"effort": effort}
