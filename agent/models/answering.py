"""Who answers a task: the endpoint where there is one, else the demonstration of this very task."""

from agent.errors import RunError
from agent.models import demonstration
from agent.models.base import Model, ModelConfig


class ModelNeeded(RunError):
    """There is no model for a task, and what would help is to connect one."""


def answering(task: str, config: ModelConfig, *, unconnected: str, nameless: str) -> Model:
    """The model that answers a task.

    Args:
        task: The task's text.
        config: The endpoint that was chosen; its address may be empty.
        unconnected: What is said where there is neither an endpoint nor a demonstration.
        nameless: What is said where an endpoint is set, but not which of its models.

    Raises:
        ModelNeeded: there is none; it says one of the two.
    """
    if not config.base_url:
        script = demonstration.find(task)
        if script is None:
            raise ModelNeeded(unconnected)
        return demonstration.DemonstrationModel(script)
    if not config.model:
        raise ModelNeeded(nameless)
    from agent.models.openai import OpenAIModel  # half a second that the others can save

    return OpenAIModel(config)
