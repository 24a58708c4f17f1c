"""Options that a user chooses for a run, and the resulting model and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from agent import examples, prompts
from agent.errors import RunError, UsageError
from agent.events import Mode
from agent.limits import Limits, adapt_to_model, with_turn_tokens
from agent.loop.approval import Rule, parse_rules
from agent.models.base import Model, ModelConfig
from agent.models.builtin.install import BUILTIN_BASE_NAME, BUILTIN_ID, BUILTIN_NAME
from agent.models.builtin.model import BuiltinModel, default_prompt_name
from agent.models.parameters import BY_NAME, checked_values, config_fields
from agent.models.passport.store import PassportStore
from agent.models.resolve import resolve_model
from agent.models.transport.base_url import resolve_key, same_endpoint
from agent.runs.recorded_run import Task
from agent.sandbox.network.policy import NetworkAccess, NetworkPolicy, parse_hosts
from agent.settings import Settings
from sandbox_ui.auth.user import User


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Fields of the settings drawer, in its order.

    An empty field is not sent, or means the default. An empty ``base_url`` means no endpoint;
    None means the operator's. ``agent.models.parameters`` checks those from ``api`` to
    ``send_reasoning``.
    """

    base_url: str | None = None
    api_key: str = ""
    model: str | None = ""
    api: str = ""
    effort: str | None = None
    thinking: str | bool | None = None
    verbosity: str | None = None
    seed: float | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: float | None = None
    extra_body: str | Mapping[str, Any] = ""
    calls: str = "native"
    send_reasoning: bool = True
    mode: str = "sandbox"
    prompt: str = "general"
    steps: float | None = None
    network: str = "open"
    hosts: str = ""
    approve: str = "off"
    summarise: bool = False


def model_config(options: RunOptions, settings: Settings, user: User) -> ModelConfig:
    """Return the chosen endpoint with the entered key or the environment's.

    Users other than the operator may use the operator's endpoint and endpoints on the public
    internet. For them the environment's key is sent only if the operator configured an endpoint
    with it.

    Raises:
        UsageError: if a parameter has an invalid value.
    """
    base_url = settings.base_url if options.base_url is None else options.base_url.strip()
    model = (options.model or "").strip() or settings.model
    if model == BUILTIN_ID:
        base_url = model = ""
    usual = same_endpoint(base_url, settings.base_url)
    # Without a configured endpoint the environment's key is meant for the SDK's default one. Any
    # user may enter that URL, but the operator has not offered the key to them.
    key = settings.api_key if user.operator or settings.base_url.strip() else ""
    return ModelConfig(
        base_url=base_url,
        model=model,
        api_key=resolve_key(base_url, options.api_key or "", settings.base_url, key),
        public_only=not (user.operator or usual),
        **({"api": settings.api} if usual else {}) | config_fields(options),
    )


def model_for(
    text: str,
    options: RunOptions,
    settings: Settings,
    user: User,
    previous_model: str = "",
    *,
    prefer_demonstration: bool = False,
) -> Model:
    """Return the model to use; ``previous_model`` names the previous one.

    See ``agent.models.resolve``.

    Raises:
        NoModelAvailable: if no model is available.
        UsageError: if a parameter has an invalid value.
    """
    model = resolve_model(
        text,
        model_config(options, settings, user),
        allow_builtin=settings.builtin and previous_model in ("", BUILTIN_NAME, BUILTIN_BASE_NAME),
        prefer_demonstration=prefer_demonstration,
        no_endpoint_message=(
            "Connect a model first: enter an endpoint, an API key and a model name."
        ),
        no_name_message="Select a model: the endpoint is set, but no model is selected.",
        passports=PassportStore(settings.data),
    )
    if isinstance(model, BuiltinModel):
        _refuse_parameters(options)
    return model


def _refuse_parameters(options: RunOptions) -> None:
    """Refuse the request parameters of an endpoint's models: others do not take them.

    The maximum tokens of an answer are a limit of the run, which holds for every model.

    Raises:
        UsageError: if one is set.
    """
    usual = checked_values(RunOptions())
    given = [
        name
        for name, value in checked_values(options).items()
        if name not in ("api", "max_tokens") and value not in ({}, usual.get(name))
    ]
    if given:
        raise UsageError(
            f"{given[0]} is for models of an endpoint, and the built-in model does not take it. "
            "Clear it in Settings → Advanced, or connect an endpoint."
        )


def task_for(text: str, options: RunOptions, model: Model) -> Task:
    """Return the task with its prompt.

    The prompt is the chosen one, else the example's or the model's default.

    Raises:
        StudioError: if the prompt does not exist.
    """
    prompt = options.prompt
    if prompt == RunOptions().prompt:
        example = examples.find(text)
        default_prompt = default_prompt_name(model)
        prompt = example.prompt if example and default_prompt == prompt else default_prompt
    return Task(
        text, prompts.get_bundled(prompt), cast(Mode, options.mode), _network_policy(options)
    )


def _network_policy(options: RunOptions) -> NetworkPolicy:
    if options.network != "listed":
        return NetworkPolicy(cast(NetworkAccess, options.network))
    try:
        return NetworkPolicy("listed", parse_hosts(options.hosts or ""))
    except ValueError as error:
        raise RunError(str(error)) from error


def approval_for(options: RunOptions) -> tuple[Rule, ...]:
    """Return the rules by which calls wait for approval.

    Raises:
        UsageError: if there is no such choice.
    """
    return () if options.approve in ("off", "", None) else parse_rules([options.approve])


def limits_for(options: RunOptions, settings: Settings, model: Model) -> Limits:
    """Return the operator's limits, adapted to the model and the user's options."""
    limits = adapt_to_model(settings.limits(), model)
    if options.steps:
        steps = min(int(options.steps), settings.max_steps)
        limits = adapt_to_model(replace(settings.limits(), steps=steps), model)
    limits = with_turn_tokens(limits, BY_NAME["max_tokens"].check(options.max_tokens) or None)
    return replace(limits, summarise=bool(options.summarise))
