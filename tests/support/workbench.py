"""The tools at work in a sandbox, as tests use them."""

import json
from pathlib import Path
from typing import Any

from agent.models.base import ToolCall
from agent.sandbox.base import OutputChunk, Sandbox
from agent.tools.actions import InvalidCall
from agent.tools.toolbox import Toolbox, ToolOutcome
from agent.util.cancellation import Stop


class ToolRunner:
    """A toolbox over a sandbox.

    Args:
        sandbox: Where it works.
        root: The folder that it works in, as the sandbox knows it.
        folder: The same folder on the host.
    """

    def __init__(self, sandbox: Sandbox, root: str, folder: Path) -> None:
        self.sandbox = sandbox
        self.folder = folder
        self.root = root
        self.toolbox = Toolbox(sandbox)
        self.output: list[OutputChunk] = []

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def call(self, name: str, **arguments: Any) -> ToolOutcome:
        found = self.toolbox.parse(ToolCall("call-1", name, json.dumps(arguments)))
        if isinstance(found, InvalidCall):
            return ToolOutcome.failed(found.text)
        *output, outcome = self.toolbox.run(found, Stop())
        self.output = [item for item in output if isinstance(item, OutputChunk)]
        assert isinstance(outcome, ToolOutcome)
        return outcome

    def bash(self, command: str, **more: Any) -> ToolOutcome:
        return self.call("execute_bash", command=command, **more)

    def edit(self, command: str, name: str, **more: Any) -> ToolOutcome:
        return self.call("str_replace_editor", command=command, path=self.path(name), **more)
