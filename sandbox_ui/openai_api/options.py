"""The field ``sandbox`` of a request: limits of its run, within the operator's."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent import prompts
from agent.limits import Limits, adapt_to_model, with_turn_tokens
from agent.models.base import Model
from agent.sandbox.network.policy import NetworkPolicy, parse_policy
from agent.setting_parsers import parse_size
from agent.settings import Settings
from agent.util.text import format_size
from sandbox_ui.openai_api.errors import ApiError

_MIN_MEMORY = 64 * 1024**2
_FIELD = "sandbox"


class SandboxOptions(BaseModel):
    """Limits and prompts that a client chooses; what is missing is the operator's.

    Attributes:
        max_steps: Model turns of the round.
        max_seconds: Wall time of the round.
        max_conversation_tokens: Length of the conversation.
        summarise: Whether the model summarises older steps near the limit of its context.
        memory: Memory of the sandbox, as ``512 MB`` or in bytes.
        network: ``open``, ``none``, ``packages``, or host names.
        prompt: The name of a bundled prompt.
        tool_calls: The style of the model's tool calls.
        send_reasoning: Whether earlier reasoning is sent back to the model.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    max_steps: Annotated[int, Field(ge=1)] | None = None
    max_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_conversation_tokens: Annotated[int, Field(ge=1)] | None = None
    summarise: bool = False
    memory: int | str | None = None
    network: str | None = None
    prompt: str | None = None
    tool_calls: Literal["native", "text"] = "native"
    send_reasoning: bool = True

    @property
    def policy(self) -> NetworkPolicy:
        """The network policy; raises ``ApiError`` if it is none."""
        try:
            return parse_policy("open" if self.network is None else self.network)
        except ValueError as error:
            raise ApiError(f"sandbox.network: {error}", param="sandbox.network") from error

    @property
    def memory_bytes(self) -> int | None:
        """The memory in bytes; raises ``ApiError`` if it is no size."""
        if not isinstance(self.memory, str):
            return self.memory
        try:
            return parse_size(self.memory)
        except ValueError as error:
            raise _refusal("memory", f"must be {error}") from error

    def limits(self, settings: Settings, model: Model, max_tokens: int | None) -> Limits:
        """Return the limits of the round; ``check`` has passed."""
        limits = settings.limits()
        if self.max_steps is not None:
            limits = replace(limits, steps=self.max_steps)
        if self.max_seconds is not None:
            limits = replace(limits, seconds=self.max_seconds)
        if self.max_conversation_tokens is not None:
            limits = replace(limits, conversation_tokens=self.max_conversation_tokens)
        limits = with_turn_tokens(replace(limits, summarise=self.summarise), max_tokens)
        return adapt_to_model(limits, model)

    def check(self, settings: Settings, model: Model) -> None:
        """Check that nothing exceeds the operator's limits, and that the prompt exists.

        Raises:
            ApiError: if something does; the text says what is allowed.
        """
        bounds = adapt_to_model(replace(settings.limits(), steps=settings.max_steps), model)
        _check_bound("max_steps", self.max_steps, bounds.steps)
        _check_bound("max_seconds", self.max_seconds, bounds.seconds)
        _check_bound(
            "max_conversation_tokens", self.max_conversation_tokens, bounds.conversation_tokens
        )
        memory = self.memory_bytes
        if memory is not None and not _MIN_MEMORY <= memory <= settings.memory:
            raise _refusal(
                "memory",
                f"must be from {format_size(_MIN_MEMORY)} to {format_size(settings.memory)} here",
            )
        if self.prompt is not None and self.prompt not in prompts.list_names():
            raise _refusal("prompt", f"must be one of {', '.join(prompts.list_names())}")
        assert self.policy


def parse_options(value: Any) -> SandboxOptions:
    """Return the options of a request.

    Raises:
        ApiError: if they are not valid; the text names the field.
    """
    try:
        return SandboxOptions.model_validate({} if value is None else value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, (_FIELD, *first["loc"][:1])))
        raise ApiError(f"{field}: {first['msg']}.", param=field) from error


def _check_bound(name: str, value: float | None, bound: float | None) -> None:
    if value is not None and bound is not None and value > bound:
        raise _refusal(name, f"may be at most {bound:,.10g} here")


def _refusal(name: str, what: str) -> ApiError:
    return ApiError(f"{_FIELD}.{name} {what}.", param=f"{_FIELD}.{name}")
