"""Example tasks: demonstrations, tasks for the built-in and for other models, comparisons."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent.models import demonstration

_FOLDER = Path(__file__).parent
_BUILTIN_FOLDER = _FOLDER.parent / "models" / "builtin"


@dataclass(frozen=True, slots=True)
class Example:
    """A task to try.

    Attributes:
        about: One line: what it is, or what to watch for.
        inputs: Files to copy into ``input/``.
        generated: Names of further input files, which are generated (``agent.examples.generated``).
        seconds: Approximate duration of its demonstration; None if it needs a model.
        demonstration: The demonstration's name; empty if it needs a model.
        builtin: Whether the built-in model can do it.
        expected: The fields of ``ExpectedAnswer``; empty if it is not meant for a comparison.
    """

    title: str
    about: str
    task: str
    prompt: str = "general"
    inputs: tuple[Path, ...] = ()
    generated: tuple[str, ...] = ()
    seconds: int | None = None
    demonstration: str = ""
    builtin: bool = False
    expected: Mapping[str, Any] = field(default_factory=dict)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of all input files."""
        return (*(path.name for path in self.inputs), *self.generated)

    @contextmanager
    def input_files(self) -> Iterator[Sequence[Path]]:
        """Yield the paths of all input files; the generated ones exist within the block only."""
        if not self.generated:
            yield self.inputs
            return
        from agent.examples.generated import GENERATED  # only where an example needs it

        with TemporaryDirectory(prefix="studio-example-") as folder:
            written = [Path(folder) / name for name in self.generated]
            for path in written:
                path.write_bytes(GENERATED[path.name]())
            yield (*self.inputs, *written)


@cache
def examples() -> Sequence[Example]:
    """Return all examples, those that need no model first, comparisons last."""
    scripted = [
        Example(
            title=each.title,
            about=each.watch,
            task=each.task,
            inputs=each.inputs,
            seconds=each.seconds,
            demonstration=each.name,
        )
        for each in demonstration.load_all()
    ]
    builtin = _read(
        _BUILTIN_FOLDER / "offers.yaml", _BUILTIN_FOLDER / "inputs", prompt="small", builtin=True
    )
    tasks = _read(_FOLDER / "tasks.yaml", _FOLDER / "inputs")
    compared = _read(_FOLDER / "comparisons.yaml", _FOLDER / "inputs")
    return (*scripted, *builtin, *tasks, *compared)


def _read(file: Path, inputs: Path, **defaults: Any) -> Iterator[Example]:
    for fields in demonstration.load_yaml(file):
        paths = tuple(inputs / name for name in fields.pop("inputs", ()))
        generated = tuple(fields.pop("generated", ()))
        yield Example(**{**defaults, **fields}, inputs=paths, generated=generated)


def find(task: str) -> Example | None:
    """Return the example whose task is this text, ignoring surrounding white space."""
    wanted = task.replace("\r\n", "\n").strip()
    return next((each for each in examples() if each.task == wanted), None)
