"""Turns of a scripted model."""

import json
from typing import Any

from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn


def call(name: str, **arguments: Any) -> ScriptedTurn:
    return ScriptedTurn(calls=(ToolCall("", name, json.dumps(arguments)),))


def bash(command: str) -> ScriptedTurn:
    return call("execute_bash", command=command)


SUBMIT = call("submit")


def script(*turns: ScriptedTurn) -> ScriptedModel:
    return ScriptedModel([*turns, SUBMIT])
