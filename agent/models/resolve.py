"""Model selection for a task: an endpoint, a demonstration, or the built-in model."""

from agent.errors import RunError
from agent.models.base import Model, ModelConfig
from agent.models.builtin.install import BUILTIN_ID, BUILTIN_MISSING_MESSAGE
from agent.models.builtin.model import create_builtin_model
from agent.models.endpoint.deferred import DeferredEndpointModel
from agent.models.parameters import check_config
from agent.models.passport.store import PassportStore


class NoModelAvailable(RunError):
    """No model is available for a task; the user needs to connect one."""


def resolve_model(
    task: str,
    config: ModelConfig,
    *,
    allow_builtin: bool,
    no_endpoint_message: str,
    no_name_message: str,
    prefer_demonstration: bool = False,
    passports: PassportStore | None = None,
) -> Model:
    """Return the model of a task: endpoint, else its demonstration, else the built-in one."""
    builtin_selected = config.model == BUILTIN_ID
    if prefer_demonstration and (model := _demonstration(task)):
        return model
    if config.base_url and not config.model:
        raise NoModelAvailable(no_name_message)
    if config.base_url and not builtin_selected:
        return DeferredEndpointModel(check_config(config), passports)
    if not builtin_selected and (model := _demonstration(task)):
        return model
    return _require_builtin(no_endpoint_message, allowed=allow_builtin)


def _demonstration(task: str) -> Model | None:
    from agent.models import demonstration  # reads YAML, only where no endpoint answers

    script = demonstration.find_by_task(task)
    return None if script is None else demonstration.DemonstrationModel(script)


def _require_builtin(message: str, *, allowed: bool) -> Model:
    if not allowed:
        raise NoModelAvailable(message)
    model = create_builtin_model()
    if model is None:
        raise NoModelAvailable(f"{message} {BUILTIN_MISSING_MESSAGE}")
    return model
