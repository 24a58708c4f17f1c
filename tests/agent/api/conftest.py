"""A studio with process sandboxes, and scripted models."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import Run, Settings, Studio, load_settings
from agent.events import Event
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.train.rollouts.sandboxes import ProcessSandboxProvider


def call(name: str, **arguments: Any) -> ScriptedTurn:
    """Return a turn with one tool call."""
    return ScriptedTurn(calls=(ToolCall("", name, json.dumps(arguments)),))


def bash(command: str) -> ScriptedTurn:
    return call("execute_bash", command=command)


def script(*turns: ScriptedTurn) -> ScriptedModel:
    """Return a scripted model with these turns and a final submit."""
    return ScriptedModel([*turns, call("submit")])


def carry_out(run: Run, **reactions: Callable[[Any], object]) -> list[Event]:
    """Carry out a run and return its events; each is first given to the function of its kind."""
    events = []
    for event in run:
        events.append(event)
        reactions.get(event.kind, lambda _: None)(event)
    return events


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(load_settings({}), data=tmp_path / "data", warm_sandboxes=0)


@pytest.fixture
def studio(settings: Settings) -> Iterator[Studio]:
    with Studio(settings, ProcessSandboxProvider) as studio:
        yield studio
