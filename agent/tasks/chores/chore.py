"""A small job with a way to do it, and how it is told whether it was done."""

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
    """A chore before it is put into words.

    Attributes:
        ways: The commands that do it, one after the other.
        test: Whether the content of the file that was asked for is right.
        shown: What the commands write to stdout; nothing for those that are missing.
        several: Instead of ``test``: whether the files below ``output/`` are right.
    """

    ways: tuple[str, ...]
    test: Test | None = None
    shown: tuple[str, ...] = ()
    several: Callable[[Files], bool] | None = None


@dataclass(frozen=True, slots=True)
class Chore:
    """One chore.

    Attributes:
        id: Its name, which says how it was made.
        family: The family, as in ``families()``.
        kind: Which of the family's kinds; chores of one kind are done in one way.
        text: What the person types.
        input_files: Path below ``input/`` → content.
        ways: Commands that do it in the workspace; none where it is to be refused.
        shown: What each of them writes to stdout, without the last line end.
        said: What is said along with submit, or instead of a call where it is to be refused.
        check: Whether the files of a workspace (path → content) are what was asked for.
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
        """Whether it was done: the files are right, and a refusal was said where one is due."""
        return self.check(files) and (bool(self.ways) or "connect a model" in said.lower())


def outputs(files: Files) -> dict[str, bytes]:
    """What lies below ``output/``."""
    return {path: data for path, data in files.items() if path.startswith(OUTPUT)}
