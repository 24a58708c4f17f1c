"""What somebody asks for of a run: one form, for all interfaces and as JSON; never with a key."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from agent import prompts
from agent.errors import UsageError
from agent.events import Mode, Network, RunStarted
from agent.limits import Limits, adapt_to_model, with_turn_tokens
from agent.loop.approval import Rule
from agent.models.base import API, Effort, Images, Model, ModelConfig, ToolCallStyle, Verbosity
from agent.models.builtin.install import BUILTIN_ID
from agent.models.builtin.model import default_prompt_name
from agent.models.parameters import InvalidValue, config_fields
from agent.models.transport.base_url import resolve_key, same_endpoint
from agent.prompts import Prompt
from agent.run_fields import BY_NAME, FIELDS, Pdfs
from agent.runs.recorded_run import Task
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings

USUAL_PROMPT = "general"
"""Stands for the prompt of the example or the suite, or the one that the model is used to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """What somebody asks for; what is missing is the operator's or the model's.

    ``inputs`` is the id of a draft with the files for ``input/``, over HTTP. ``calls`` is as
    ``ModelConfig.tool_call_style``; fields without a comment are named as there.
    """

    task: str = ""
    inputs: str = ""
    base_url: str | None = None  # None for the settings', empty for none
    model: str = ""
    mode: Mode = "sandbox"
    pdfs: Pdfs = "auto"  # only in plain mode
    prompt: str = USUAL_PROMPT  # a bundled one's name; see ``USUAL_PROMPT``
    max_steps: int | None = None
    max_seconds: float | None = None
    max_conversation_tokens: int | None = None
    summarise: bool = False
    memory: int | None = None
    network: Network = "open"
    hosts: tuple[str, ...] = ()
    approve: tuple[Rule, ...] = ()
    image: str = ""  # only from the command line
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    calls: ToolCallStyle = "native"
    send_reasoning: bool = True
    api: API | None = None
    effort: Effort | None = None
    thinking: bool | None = None
    verbosity: Verbosity | None = None
    seed: int | None = None
    images: Images | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any], **further: Any) -> Self:
        """Return the spec of values in snake or camel case; unset ones count as missing."""
        values: dict[str, Any] = {}
        for name, value in given.items():
            known = BY_NAME.get(name) or _BY_CAMEL_CASE.get(name)
            if known is None:
                names = ", ".join(each.camel_case for each in FIELDS)
                raise UsageError(f"“{name[:_SHOWN]}” is none of {names}.")
            try:
                checked = known.check(value)
            except InvalidValue as error:
                raise error.named(name) from None
            if checked is not None:
                values[known.name] = checked
        policy = values.pop("network", None)
        if policy is not None:
            values["network"] = policy.access
            values["hosts"] = policy.hosts or values.get("hosts", ())
        if values.get("network", "open") != "listed":
            values.pop("hosts", None)
        return cls(**values, **further)

    def check(self) -> None:
        """Raise ``UsageError`` if a value is not what it must be."""
        for each in FIELDS:
            each.check(getattr(self, each.name))

    def to_json(self) -> dict[str, Any]:
        """Return what differs from the usual, as ``of`` reads it."""
        values = {name: getattr(self, name) for name in BY_NAME}
        return {name: each for name, each in values.items() if each != getattr(_USUAL, name)}

    def completed(self, given: Mapping[str, Any]) -> Self:
        """Return it with given values where it sets none of its own."""
        unset = (name for name in given if getattr(self, name) == getattr(_USUAL, name))
        return replace(self, **{name: given[name] for name in unset})

    @property
    def policy(self) -> NetworkPolicy:
        """What the sandbox may reach."""
        return NetworkPolicy(self.network, self.hosts)

    def model_config(self, settings: Settings, key: str = "") -> ModelConfig:
        """Return how its model is called; the settings' key is for their endpoint only."""
        url = settings.base_url if self.base_url is None else self.base_url.strip()
        model = self.model.strip() or settings.model
        url = "" if model == BUILTIN_ID else url
        usual: dict[str, str] = {"images": settings.images}
        if same_endpoint(url, settings.base_url):
            usual["api"] = settings.api
        key = resolve_key(url, key, settings.base_url, settings.api_key)
        return ModelConfig(url, model, key, **(usual | config_fields(self)))

    def limits(self, settings: Settings, model: Model) -> Limits:
        """Return ``limits_of_any``, adapted to a model."""
        return adapt_to_model(self.limits_of_any(settings), model)

    def limits_of_any(self, settings: Settings) -> Limits:
        """Return the limits of the round: the operator's, where less is not asked for."""
        usual = settings.limits()
        limits = replace(
            usual,
            steps=self._bounded("max_steps", settings.max_steps) or usual.steps,
            seconds=self._bounded("max_seconds", usual.seconds) or usual.seconds,
            conversation_tokens=self._bounded("max_conversation_tokens", usual.conversation_tokens)
            or usual.conversation_tokens,
            summarise=self.summarise,
        )
        self._bounded("memory", settings.memory)
        return with_turn_tokens(limits, self.max_tokens)

    def _bounded(self, name: str, most: float | None) -> Any:
        """Return a value that is at most the operator's."""
        value = getattr(self, name)
        if value is not None and most is not None and value > most:
            raise InvalidValue(name, f"may be at most {most:,.10g} here, not {value:,.10g}")
        return value

    def first_task(self, model: Model, prompt: Prompt | None = None) -> Task:
        """Return the task of the first round; the model may be used to a prompt of its own."""
        prompt = prompt or prompts.get_bundled(self._prompt_name(model))
        pdfs = self.pdfs if self.mode == "plain" else _USUAL.pdfs
        recorded = replace(
            self, task="", inputs="", base_url=_without_secrets(self.base_url), pdfs=pdfs
        )
        return Task(self.task, prompt, self.mode, self.policy, spec=recorded.to_json(), pdfs=pdfs)

    def _prompt_name(self, model: Model) -> str:
        if self.prompt != USUAL_PROMPT:
            return self.prompt
        from agent import examples  # reads YAML, and most callers name a prompt

        usual, example = default_prompt_name(model), examples.find(self.task)
        return example.prompt if example and usual == USUAL_PROMPT else usual


def settings_at_start(started: RunStarted) -> dict[str, Any]:
    """Return the settings that a run began with, except its task and endpoint."""
    given: dict[str, Any] = {}
    for name, value in started.spec.items():
        with suppress(UsageError):
            if name in BY_NAME:
                BY_NAME[name].check(value)
                given[name] = value
    given |= {"mode": started.mode, "network": started.network, "hosts": started.hosts}
    if started.prompt in prompts.list_all_names():
        given["prompt"] = started.prompt
    settings = asdict(RunSpec.of(given))
    return {name: value for name, value in settings.items() if name not in _OF_THE_ENDPOINT}


def _without_secrets(url: str | None) -> str | None:
    """Return an endpoint's URL without its query; None if it has a password."""
    return None if url is None or "@" in url else url.partition("?")[0]


_OF_THE_ENDPOINT = ("task", "inputs", "base_url", "model", "api", "extra_body", "image")
_BY_CAMEL_CASE = {each.camel_case: each for each in FIELDS}
_SHOWN = 60
_USUAL = RunSpec()
