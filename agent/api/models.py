"""The selection of a run's model from what the caller names."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.errors import UsageError
from agent.models.base import Model, ModelConfig
from agent.models.builtin.install import BUILTIN_ID
from agent.models.parameters import PARAMETERS
from agent.models.passport.store import PassportStore
from agent.models.resolve import resolve_model
from agent.models.transport.base_url import resolve_key
from agent.runs.spec import RunSpec
from agent.settings import Settings

if TYPE_CHECKING:
    from agent.models.demonstration import Demonstration

DEMONSTRATION = "demonstration"
_ENDPOINT = "openai:"
_UNCONNECTED = (
    "No model is connected. Set OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY, or pass "
    "model=ModelConfig(base_url, model, api_key) or model='builtin'."
)
_NAMELESS = "The model has no name. Set OPENAI_MODEL, or pass model='openai:NAME'."


ModelArgument = Model | ModelConfig | str | None
"""A model as the caller names it; see ``select_model``."""


class SelectedModel(NamedTuple):
    """A model, and the task that it gets: a demonstration has a text and files of its own."""

    model: Model
    task: str
    inputs: Iterable[Path] = ()


def select_model(
    task: str,
    argument: ModelArgument,
    settings: Settings,
    *,
    no_endpoint_message: str = _UNCONNECTED,
    no_name_message: str = _NAMELESS,
) -> SelectedModel:
    """Return the model that answers a task.

    Args:
        task: The task's text, or the name of a demonstration if no endpoint answers.
        argument: A model; the configuration of an endpoint; ``openai:NAME`` or ``NAME``, a model
            of the settings' endpoint; ``builtin``; ``demonstration``; or None for the settings'
            model, else the demonstration of this task, else the built-in model.
        settings: The endpoint, its key and model.
        no_endpoint_message: Error message if there is no model.
        no_name_message: Error message if the endpoint's model has no name.

    Raises:
        UsageError: ``argument`` is none of these.
        NoModelAvailable: There is no such model.
    """
    config = RunSpec().model_config(settings)
    if isinstance(argument, ModelConfig):
        key = resolve_key(argument.base_url, argument.api_key, settings.base_url, settings.api_key)
        config = replace(argument, api_key=key)
    elif isinstance(argument, str):
        name = argument.removeprefix(_ENDPOINT)
        if argument.startswith(_ENDPOINT) and not settings.base_url:
            raise UsageError(f"{argument!r} needs an endpoint: set OPENAI_BASE_URL. {_UNCONNECTED}")
        config = replace(config, model=name or settings.model)
    elif argument is not None:
        if not callable(getattr(argument, "stream", None)):
            raise UsageError(f"model must be a Model, ModelConfig or a name, not {argument!r:.80}.")
        return SelectedModel(argument, task)
    if config.model in (DEMONSTRATION, BUILTIN_ID):
        config = replace(config, base_url="")
    return _resolve(task, config, settings, no_endpoint_message, no_name_message)


def spec_fields(argument: ModelArgument) -> dict[str, Any]:
    """Return what a run's spec says of a model: a reference and parameters, never a key."""
    if isinstance(argument, str):
        return {"model": argument.removeprefix(_ENDPOINT)}
    if not isinstance(argument, ModelConfig):
        return {}
    reference = {"base_url": argument.base_url, "model": argument.model}
    return reference | {each.name: getattr(argument, each.field) for each in PARAMETERS}


def _resolve(
    task: str,
    config: ModelConfig,
    settings: Settings,
    no_endpoint_message: str,
    no_name_message: str,
) -> SelectedModel:
    scripted = not config.base_url and config.model != BUILTIN_ID
    known, script = _demonstrations(task) if scripted else ({}, None)
    text, inputs = (script.task, script.inputs) if script else (task, ())
    playable = " These demonstrations run without a model: " + ", ".join(known)
    model = resolve_model(
        text,
        config,
        allow_builtin=settings.builtin and config.model != DEMONSTRATION,
        no_endpoint_message=no_endpoint_message + playable * bool(known),
        no_name_message=no_name_message,
        passports=PassportStore(settings.data),
    )
    return SelectedModel(model, text, inputs)


def _demonstrations(task: str) -> "tuple[Mapping[str, Demonstration], Demonstration | None]":
    """Return the demonstrations by name, and the one that a task names."""
    from agent.models import demonstration  # reads YAML, only where no endpoint answers

    known = {each.name: each for each in demonstration.load_all()}
    return known, demonstration.find_by_task(task) or known.get(task)
