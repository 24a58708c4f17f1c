"""What a person chose for a run on the page, and the model and limits that follow from it."""

import json
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from agent import examples, prompts
from agent.errors import RunError
from agent.events import Mode
from agent.meter import Limits
from agent.models.address import resolve_key, same_endpoint
from agent.models.answering import answering
from agent.models.base import Model, ModelConfig
from agent.models.builtin.model import prompt_for, suited
from agent.models.builtin.parts import CHOSEN, NAME
from agent.recorder import Task
from agent.sandbox.network import Access, Policy, hosts_of
from agent.settings import Settings
from sandbox_ui.people.person import Person


@dataclass(frozen=True, slots=True)
class Choices:
    """The fields of the settings drawer, in its order. Empty means: not sent, or the default.

    An empty ``base_url`` means no endpoint; the operator's where it is None.
    """

    base_url: str | None = None
    api_key: str = ""
    model: str | None = ""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: float | None = None
    extra_body: str = ""
    calls: str = "native"
    send_reasoning: bool = True
    mode: str = "sandbox"
    prompt: str = "general"
    steps: float | None = None
    network: str = "open"
    hosts: str = ""


def config(choices: Choices, settings: Settings, person: Person) -> ModelConfig:
    """The endpoint that was chosen; its key is the entered one, or the environment's own.

    Who is not the operator reaches the operator's endpoint, and those on the public internet.
    The environment's key is sent for them only where the operator named its endpoint.

    Raises:
        RunError: a field holds what it cannot mean.
    """
    base_url = settings.base_url if choices.base_url is None else choices.base_url.strip()
    model = (choices.model or "").strip() or settings.model
    if model == CHOSEN:
        base_url = model = ""
    trusted = person.operator or same_endpoint(base_url, settings.base_url)
    # Without an endpoint of the environment's the key is for the SDK's own, which anybody may
    # enter, and which the operator offered to nobody.
    key = settings.api_key if person.operator or settings.base_url.strip() else ""
    return ModelConfig(
        base_url=base_url,
        model=model,
        api_key=resolve_key(base_url, choices.api_key or "", settings.base_url, key),
        temperature=choices.temperature,
        top_p=choices.top_p,
        extra_body=_extra(choices.extra_body or ""),
        calls=cast(Literal["native", "text"], choices.calls),
        send_reasoning=choices.send_reasoning,
        public=not trusted,
    )


def model_for(
    text: str, choices: Choices, settings: Settings, person: Person, begun: str = ""
) -> Model:
    """Who answers: see ``agent.models.answering``; ``begun`` names who did so far.

    Raises:
        ModelNeeded: there is nobody.
        RunError: a field holds what it cannot mean.
    """
    return answering(
        text,
        config(choices, settings, person),
        builtin=settings.builtin and begun in ("", NAME),
        unconnected="Connect a model for this: an endpoint, its key and a model's name.",
        nameless="Choose a model: the endpoint is set, but not which of its models.",
    )


def task_for(text: str, choices: Choices, model: Model) -> Task:
    """The task with its prompt: the chosen one; where none was, the example's or the model's own.

    Raises:
        StudioError: there is no such prompt.
    """
    prompt = choices.prompt
    if prompt == Choices().prompt:
        example = examples.find(text)
        suits = prompt_for(model)
        prompt = example.prompt if example and suits == prompt else suits
    return Task(text, prompts.named(prompt), cast(Mode, choices.mode), _policy(choices))


def _policy(choices: Choices) -> Policy:
    if choices.network != "listed":
        return Policy(cast(Access, choices.network))
    try:
        return Policy("listed", hosts_of(choices.hosts or ""))
    except ValueError as error:
        raise RunError(str(error)) from error


def limits_for(choices: Choices, settings: Settings, model: Model) -> Limits:
    """The operator's limits as they suit the model, with what the person chose for this run."""
    limits = suited(settings.limits(), model)
    if choices.steps:
        limits = replace(limits, steps=min(int(choices.steps), limits.steps))
    if choices.max_tokens:
        limits = replace(limits, turn_tokens=int(choices.max_tokens))
    return limits


def _extra(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise RunError(f"The extra body is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise RunError("The extra body must be a JSON object, such as {“top_k”: 20}.")
    return value
