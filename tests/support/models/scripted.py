"""Turns of a scripted model."""

import json
from typing import Any

from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn


def call(name: str, **arguments: Any) -> ScriptedTurn:
    """Return a turn with one tool call."""
    return ScriptedTurn(calls=(ToolCall("", name, json.dumps(arguments)),))


def bash(command: str) -> ScriptedTurn:
    """Return a turn that runs one command."""
    return call("execute_bash", command=command)


SUBMIT = call("submit")


def script(*turns: ScriptedTurn) -> ScriptedModel:
    """Return a scripted model with these turns and a final submit."""
    return ScriptedModel([*turns, SUBMIT])
