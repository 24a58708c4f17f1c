"""Starts and continues runs for users, whichever interface a ``RunSpec`` came through."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from agent import examples
from agent.errors import UsageError
from agent.limits import Limits
from agent.loop.steering import MAX_PICTURES
from agent.models.base import Model, ModelConfig
from agent.models.builtin.install import BUILTIN_BASE_NAME, BUILTIN_NAME
from agent.models.builtin.model import BuiltinModel
from agent.models.parameters import PARAMETERS, InvalidValue
from agent.models.passport.store import PassportStore
from agent.models.resolve import resolve_model
from agent.models.transport.base_url import same_endpoint
from agent.runs.inputs import INPUT_FOLDER
from agent.runs.recorded_run import Task
from agent.runs.spec import RunSpec
from agent.settings import Settings
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.copy import copy_in
from sandbox_ui.auth.user import User
from sandbox_ui.runs.manager import RunManager


def copy_example_inputs(workspace: Workspace, task: str) -> None:
    """Copy the files that an example's task refers to into a draft's ``input/``."""
    if (example := examples.find(task)) is not None:
        with example.input_files() as paths:
            for path in paths:
                copy_in(workspace, path, INPUT_FOLDER)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A spec with the key of its endpoint, in memory only; ``pictures`` None for all given."""

    spec: RunSpec
    key: str = field(default="", repr=False)
    pictures: tuple[str, ...] | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "RunRequest":
        """Return the request that a client's JSON or the page's fields are; see ``RunSpec.of``."""
        values = dict(given)
        pictures = read_pictures(values.pop("pictures", None))
        keys = {name: values.pop(name, None) or "" for name in ("api_key", "apiKey")}
        for name, key in keys.items():
            if not isinstance(key, str):
                raise InvalidValue(name, "must be a text")
        return cls(RunSpec.of(values), max(keys.values()), pictures)

    def for_task(self, text: str) -> "RunRequest":
        """Return the request for a task."""
        return replace(self, spec=replace(self.spec, task=text))


def read_pictures(given: object) -> tuple[str, ...] | None:
    """Return the paths that a client names, percent-encoded, of pictures for the model."""
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise InvalidValue("pictures", "must be a list of paths")
    if len(given) > MAX_PICTURES:
        raise InvalidValue("pictures", f"may be at most {MAX_PICTURES}")
    return tuple(str(RelPath.from_url(each)) for each in given)


class Prepared(NamedTuple):
    """A request that can be started."""

    spec: RunSpec
    task: Task
    model: Model
    limits: Limits


@dataclass(frozen=True, slots=True)
class RunService:
    """Starts and continues runs."""

    runs: RunManager
    settings: Settings

    def start(self, wanted: RunRequest, user: User, run: str = "", *, play: bool = False) -> str:
        """Start a run for a user; return its id.

        ``run`` is a draft with files, or a fork of the beginning, which the user may edit: the
        caller has checked that. With ``play``, a demonstration goes before the chosen model.
        """
        spec = wanted.spec
        if not spec.task.strip():
            raise UsageError("task is empty: describe what the model is to do.")
        prepared = prepare(wanted, self.settings, user, play=play)
        self.runs.admission.check_start(user.id, spec.task)
        run = run or self.runs.create_draft(user.id)
        if self.runs.folder(run).parent is None:  # a fork has the files already
            copy_example_inputs(self.runs.workspace(run), spec.task)
        self.begin(run, prepared)
        return run

    def begin(self, run: str, prepared: Prepared, sandbox_seconds: float | None = None) -> None:
        """Start a draft; see ``RunManager.start``."""
        folder = self.runs.folder(run)
        if prepared.spec.approve and folder.parent is None:  # a fork has its rules already
            self.runs.steering(run).add_approval(prepared.spec.approve)
        if prepared.spec.memory is not None:
            folder.set_memory(prepared.spec.memory)
        self.runs.start(run, *prepared[1:], sandbox_seconds)

    def follow_up(self, run: str, wanted: RunRequest, user: User) -> None:
        """Send a run that has ended another message: the task of the request. See ``start``."""
        previous = self.runs.feed(run).status()["model"]
        if wanted.spec.model and self.runs.folder(run).parent:
            previous = ""  # a fork may go on with any model
        model = model_for(wanted, self.settings, user, previous)
        spec = wanted.spec
        limits = spec.limits(self.settings, model)
        self.runs.follow_up(run, spec.task, model, limits, pictures=wanted.pictures, pdfs=spec.pdfs)


def prepare(wanted: RunRequest, settings: Settings, user: User, *, play: bool = False) -> Prepared:
    """Return what a request starts with. Raises ``StudioError`` if it cannot be started."""
    spec = wanted.spec
    if spec.image not in ("", settings.image):
        raise InvalidValue("image", "is chosen by the operator, with STUDIO_IMAGE")
    model = model_for(wanted, settings, user, prefer_demonstration=play)
    task = replace(spec.first_task(model), pictures=wanted.pictures)
    return Prepared(spec, task, model, spec.limits(settings, model))


def model_config(wanted: RunRequest, settings: Settings, user: User) -> ModelConfig:
    """Return the chosen endpoint; other users may use the operator's, and public ones."""
    if not (user.operator or settings.base_url.strip()):
        # The environment's key is meant for the SDK's default endpoint. Any user may enter that
        # URL, but the operator has not offered the key to them.
        settings = replace(settings, api_key="")
    config = wanted.spec.model_config(settings, wanted.key)
    usual = same_endpoint(config.base_url, settings.base_url)
    return replace(config, public_only=not (user.operator or usual))


def model_for(
    wanted: RunRequest,
    settings: Settings,
    user: User,
    previous_model: str = "",
    *,
    prefer_demonstration: bool = False,
) -> Model:
    """Return the model to use; ``previous_model`` names the previous one."""
    config = model_config(wanted, settings, user)
    model = resolve_model(
        wanted.spec.task,
        config,
        allow_builtin=settings.builtin and previous_model in ("", BUILTIN_NAME, BUILTIN_BASE_NAME),
        prefer_demonstration=prefer_demonstration,
        no_endpoint_message=(
            "Connect a model first: enter an endpoint, an API key and a model name."
        ),
        no_name_message="Select a model: the endpoint is set, but no model is selected.",
        passports=PassportStore(settings.data),
    )
    if isinstance(model, BuiltinModel):
        _refuse_parameters(config)
    return model


def _refuse_parameters(config: ModelConfig) -> None:
    """Refuse parameters that only an endpoint's models take; ``max_tokens`` limits any run."""
    usual = ModelConfig("", "")
    for each in PARAMETERS:
        is_usual = getattr(config, each.field) == getattr(usual, each.field)
        if each.name not in ("api", "max_tokens") and not is_usual:
            raise InvalidValue(
                each.name,
                "is for models of an endpoint, and the built-in model does not take it: clear it "
                "in Settings → Advanced, or connect an endpoint",
            )
