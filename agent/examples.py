"""Example tasks: demonstrations, tasks for the built-in and for other models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from agent.models import demonstration

_FILE = Path(__file__).parent / "examples.yaml"
_BUILTIN_FILE = Path(__file__).parent / "models" / "builtin" / "offers.yaml"


@dataclass(frozen=True, slots=True)
class Example:
    """A task to try.

    Attributes:
        title: A few words for a button.
        about: One line: what it is, or what to watch for.
        task: Its text, exactly as a user would type it.
        prompt: The name of the suitable prompt.
        inputs: Files to copy into ``input/``.
        seconds: Approximate duration of its demonstration; None if it needs a model.
        demonstration: The demonstration's name; empty if it needs a model.
        builtin: Whether the built-in model can do it.
    """

    title: str
    about: str
    task: str
    prompt: str = "general"
    inputs: tuple[Path, ...] = ()
    seconds: int | None = None
    demonstration: str = ""
    builtin: bool = False


@cache
def examples() -> Sequence[Example]:
    """Return all examples, those that need no model first."""
    scripted = [
        Example(each.title, each.watch, each.task, "general", each.inputs, each.seconds, each.name)
        for each in demonstration.load_all()
    ]
    return (
        *scripted,
        *_builtin_examples(),
        *(Example(**fields) for fields in yaml.safe_load(_FILE.read_text())),
    )


def _builtin_examples() -> Iterator[Example]:
    for fields in yaml.safe_load(_BUILTIN_FILE.read_text()):
        inputs = tuple(_BUILTIN_FILE.parent / "inputs" / name for name in fields.pop("inputs", ()))
        yield Example(**fields, prompt="small", inputs=inputs, builtin=True)


def find(task: str) -> Example | None:
    """Return the example whose task is this text, ignoring surrounding white space."""
    wanted = task.replace("\r\n", "\n").strip()
    return next((each for each in examples() if each.task == wanted), None)
