"""Runs tool calls in a sandbox."""

import json
from pathlib import Path
from typing import Any

from agent.models.base import ToolCall
from agent.sandbox.base import OutputChunk, Sandbox
from agent.tools.actions import InvalidCall
from agent.tools.toolbox import Toolbox, ToolOutcome
from agent.util.stop import Stop


class ToolRunner:
    """Runs calls of the built-in tools in a sandbox, whose ``root`` is ``folder`` on the host."""

    def __init__(self, sandbox: Sandbox, root: str, folder: Path) -> None:
        self.sandbox = sandbox
        self.folder = folder
        self.root = root
        self.toolbox = Toolbox(sandbox)
        self.output: list[OutputChunk] = []

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def call(self, name: str, **arguments: Any) -> ToolOutcome:
        action = self.toolbox.parse(ToolCall("call-1", name, json.dumps(arguments)))
        if isinstance(action, InvalidCall):
            return ToolOutcome.failed(action.text)
        *output, outcome = self.toolbox.run(action, Stop())
        self.output = [item for item in output if isinstance(item, OutputChunk)]
        assert isinstance(outcome, ToolOutcome)
        return outcome

    def bash(self, command: str, **options: Any) -> ToolOutcome:
        return self.call("execute_bash", command=command, **options)

    def edit(self, command: str, name: str, **options: Any) -> ToolOutcome:
        return self.call("str_replace_editor", command=command, path=self.path(name), **options)
