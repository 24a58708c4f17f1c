"""An evaluation that waits in a command until it is interrupted."""

import signal

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, get_model
from inspect_ai.tool import ToolChoice, ToolInfo

from agent.inspect_extension import llm_in_sandbox
from tests.agent.inspect_extension.programs.scripted import output


def answer(
    messages: list[ChatMessage], tools: list[ToolInfo], choice: ToolChoice, config: GenerateConfig
) -> ModelOutput:
    """Begin a command that ends only with its sandbox; announce it."""
    print("started", flush=True)
    return output(("execute_bash", {"command": "sleep 3600", "timeout": 3600}))


signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
task = Task(dataset=[Sample(input="Wait.")], sandbox="studio")
model = get_model("mockllm/model", custom_outputs=answer)
eval(task, model=model, solver=llm_in_sandbox(), display="none")
print("ended")
