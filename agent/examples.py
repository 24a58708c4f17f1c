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
    """

    title: str
    about: str
    task: str
    prompt: str = "general"
    inputs: tuple[Path, ...] = ()
    seconds: int | None = None


@cache
def examples() -> Sequence[Example]:
    """All of them, those that play without a model first."""
    scripted = [
        Example(each.title, each.watch, each.task, "general", each.inputs, each.seconds)
        for each in demonstration.demonstrations()
    ]
    return (*scripted, *(Example(**fields) for fields in yaml.safe_load(_FILE.read_text())))
