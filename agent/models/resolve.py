"""Model selection for a task: an endpoint, a demonstration, or the built-in model."""

from agent.errors import RunError
from agent.models import demonstration
from agent.models.base import Model, ModelConfig
from agent.models.builtin.install import CHOSEN, MISSING
from agent.models.builtin.model import builtin_model


class ModelNeeded(RunError):
    """No model is available for a task; the user needs to connect one."""


def answering(
    task: str,
    config: ModelConfig,
    *,
    builtin: bool,
    unconnected: str,
    nameless: str,
    play: bool = False,
) -> Model:
    """Return the model that answers a task.

    This is the endpoint, if one is set; otherwise the demonstration of this task, if there is
    one; otherwise the built-in model. If ``config.model`` names the built-in model, it answers
    every task.

    Args:
        task: The task's text.
        config: The chosen endpoint; its URL may be empty.
        builtin: Whether the built-in model may answer.
        unconnected: Error message if there is neither an endpoint nor a demonstration.
        nameless: Error message if an endpoint is set without a model name.
        play: Whether a demonstration of this task takes precedence over all other models.

    Raises:
        ModelNeeded: there is no model; the message is one of the two above, with instructions
            for installing the built-in model if it is missing.
    """
    named = config.model == CHOSEN
    if play and (script := demonstration.find(task)):
        return demonstration.DemonstrationModel(script)
    if config.base_url and not config.model:
        raise ModelNeeded(nameless)
    if config.base_url and not named:
        from agent.models.openai.client import OpenAIModel  # imports in 0.5 s, only if needed

        return OpenAIModel(config)
    script = None if named else demonstration.find(task)
    if script is not None:
        return demonstration.DemonstrationModel(script)
    return _builtin(unconnected, allowed=builtin)


def _builtin(unconnected: str, *, allowed: bool) -> Model:
    if not allowed:
        raise ModelNeeded(unconnected)
    model = builtin_model()
    if model is None:
        raise ModelNeeded(f"{unconnected} {MISSING}")
    return model
