"""A studio with process sandboxes, and scripted models."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import Run, Settings, Studio, load_settings
from agent.events import Event
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from tests.support.models.scripted import bash, call, script

__all__ = ["bash", "call", "script"]


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
