"""File tasks: a text, a known solution, and a check of the result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Split = Literal["train", "parameters", "wording"]
SPLITS: tuple[Split, ...] = ("train", "parameters", "wording")
Files = Mapping[str, bytes]
ContentCheck = Callable[[bytes], bool]

REFUSAL = (
    "I am the built-in model and know only small file, text, table, chart and document tasks. "
    "Connect a model for this one."
)
FAILURE_REPLY = "That did not work: the command failed, and its error says why."
INPUT, OUTPUT = "input/", "output/"


@dataclass(frozen=True, slots=True)
class FileTaskDraft:
    """A file task without its wording; ``content_check`` checks only the requested file."""

    commands: tuple[str, ...]
    content_check: ContentCheck | None = None
    stdout: tuple[str, ...] = ()
    files_check: Callable[[Files], bool] | None = None


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file task with commands that solve it, or to refuse; ``reply`` comes with ``submit``."""

    id: str
    family: str
    kind: str
    text: str
    input_files: Mapping[str, str | bytes]
    commands: tuple[str, ...]
    stdout: tuple[str, ...]
    reply: str
    check: Callable[[Files], bool]

    def is_solved(self, files: Files, reply: str) -> bool:
        """Return whether the files are correct and the model refused if it must."""
        return self.check(files) and (bool(self.commands) or "connect a model" in reply.lower())


def output_files(files: Files) -> dict[str, bytes]:
    """Return the files in ``output/``."""
    return {path: data for path, data in files.items() if path.startswith(OUTPUT)}
