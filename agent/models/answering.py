"""Who answers a task: an endpoint, the demonstration of this very task, or the built-in model."""

from agent.errors import RunError
from agent.models import demonstration
from agent.models.base import Model, ModelConfig
from agent.models.builtin.model import builtin_model
from agent.models.builtin.parts import CHOSEN, MISSING


class ModelNeeded(RunError):
    """There is no model for a task, and what would help is to connect one."""


def answering(
    task: str, config: ModelConfig, *, builtin: bool, unconnected: str, nameless: str
) -> Model:
    """The model that answers a task.

    An endpoint, where there is one; without any the demonstration whose task this is, else the
    built-in model. That answers whatever it is asked where it is named for the model.

    Args:
        task: The task's text.
        config: The endpoint that was chosen; its address may be empty.
        builtin: Whether the built-in model may answer.
        unconnected: What is said where there is neither an endpoint nor a demonstration.
        nameless: What is said where an endpoint is set, but not which of its models.

    Raises:
        ModelNeeded: there is none; it says one of the two, and how to have the built-in one.
    """
    named = config.model == CHOSEN
    if config.base_url and not config.model:
        raise ModelNeeded(nameless)
    if config.base_url and not named:
        from agent.models.openai import OpenAIModel  # half a second that the others can save

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
