"""File tasks: a text, a known solution, and a check of the result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Split = Literal["train", "parameters", "wording"]
SPLITS: tuple[Split, ...] = ("train", "parameters", "wording")
Files = Mapping[str, bytes]
Test = Callable[[bytes], bool]

REFUSAL = (
    "I am the built-in model and know only small file, text, table, chart and document tasks. "
    "Connect a model for this one."
)
FAILED = "That did not work: the command failed, and its error says why."
INPUT, OUTPUT = "input/", "output/"


@dataclass(frozen=True, slots=True)
class Draft:
    """A file task before it is worded.

    Attributes:
        ways: Commands that solve it, in order.
        test: Whether the content of the requested file is correct.
        shown: Stdout of the commands, in order; missing entries are empty.
        several: Used instead of ``test``: whether the files in ``output/`` are correct.
    """

    ways: tuple[str, ...]
    test: Test | None = None
    shown: tuple[str, ...] = ()
    several: Callable[[Files], bool] | None = None


@dataclass(frozen=True, slots=True)
class Chore:
    """A file task.

    Attributes:
        id: Unique id, derived from the generator's arguments.
        family: The family, as in ``families()``.
        kind: One of the family's kinds; all tasks of a kind have the same solution method.
        text: The user's message.
        input_files: Path below ``input/`` → content.
        ways: Commands that solve it in the workspace; empty if the model must refuse.
        shown: Stdout of each command, without the final newline.
        said: The assistant's text with ``submit``, or its refusal.
        check: Whether the files of a workspace (path → content) are correct.
    """

    id: str
    family: str
    kind: str
    text: str
    input_files: Mapping[str, str | bytes]
    ways: tuple[str, ...]
    shown: tuple[str, ...]
    said: str
    check: Callable[[Files], bool]

    def done(self, files: Files, said: str) -> bool:
        """Return whether the files are correct and the model refused if it must."""
        return self.check(files) and (bool(self.ways) or "connect a model" in said.lower())


def outputs(files: Files) -> dict[str, bytes]:
    """Return the files in ``output/``."""
    return {path: data for path, data in files.items() if path.startswith(OUTPUT)}
