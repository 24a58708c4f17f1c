"""Tasks to begin with: the demonstrations, and others that need a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from agent.models import demonstration

_FILE = Path(__file__).parent / "examples.yaml"


@dataclass(frozen=True, slots=True)
class Example:
    """A task to try.

    Attributes:
        title: A few words for a button.
        about: One line: what it is, or what to watch for.
        task: Its text, exactly as a person would type it.
        prompt: The prompt that suits it.
        inputs: Files that belong into ``input/``.
        seconds: About how long its demonstration plays; None where it needs a model.
        demonstration: The demonstration's name; empty where it needs a model.
    """

    title: str
    about: str
    task: str
    prompt: str = "general"
    inputs: tuple[Path, ...] = ()
    seconds: int | None = None
    demonstration: str = ""


@cache
def examples() -> Sequence[Example]:
    """All of them, those that play without a model first."""
    scripted = [
        Example(each.title, each.watch, each.task, "general", each.inputs, each.seconds, each.name)
        for each in demonstration.demonstrations()
    ]
    return (*scripted, *(Example(**fields) for fields in yaml.safe_load(_FILE.read_text())))


def find(task: str) -> Example | None:
    """The example whose task is this text, white space at its ends aside."""
    wanted = task.replace("\r\n", "\n").strip()
    return next((each for each in examples() if each.task == wanted), None)
