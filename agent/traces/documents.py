"""Parts of a file, each a JSON value that can be read several times."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from agent.traces.fields import Fields
from agent.traces.import_budget import ImportBudget
from agent.traces.json_reader import JsonReader

_HEAD_NAMES = frozenset({
    "schema_version", "session_id", "agent", "final_metrics", "extra", "notes",
    "problem_statement", "metadata", "agent_answer",
    "info", "trajectory_format", "environment", "replay_config",
    "version", "status", "eval",
    "id", "epoch", "started_at", "completed_at", "model", "error", "limit", "scores", "output",
    "type", "harness", "name", "tools", "system", "role", "kind",
})  # fmt: skip
"""Small fields, which formats read before the rest, wherever they are in an object."""

_PROMPT, _MAX_PROMPT_MESSAGES = "history", 8


@dataclass(frozen=True)
class Document:
    """A JSON value of a file; ``open`` opens the part that begins with it, at ``line``."""

    open: Callable[[], BinaryIO]
    name: str
    budget: ImportBudget
    line: int = 1

    @contextmanager
    def reader(self) -> Iterator[JsonReader]:
        """Yield a reader before the value."""
        with self.budget.checked(self.open()) as file:
            reader = JsonReader(file, self.name, self.line)
            for _ in reader.documents():
                yield reader
                return
            raise reader.error("the file is empty")

    def head(self) -> tuple[Fields, frozenset[str]]:
        """Return the small fields of the value, and the names of all; empty for a list."""
        values, names = dict[str, object](), set[str]()
        with self.reader() as reader:
            place = reader.place
            if reader.kind() == "{":
                for name in reader.members():
                    names.add(name[:80] if len(names) < 1000 else "…")
                    if name in _HEAD_NAMES:
                        values[name] = reader.value()
                    elif name == _PROMPT and reader.kind() == "[":
                        values[name] = _first_messages(reader)
        return Fields(values, place), frozenset(names)


def _first_messages(reader: JsonReader) -> list[object]:
    messages = list[object]()
    for number in reader.elements():
        if number < _MAX_PROMPT_MESSAGES:
            messages.append(reader.value())
    return messages


@contextmanager
def part(reader: JsonReader, whole: Document) -> Iterator[Document]:
    """Yield the value at hand as a document of its own, copied to a temporary file."""
    with tempfile.TemporaryDirectory(dir=whole.budget.scratch) as folder:
        line, path = reader.line, Path(folder) / "part.json"
        with path.open("w", encoding="utf-8", newline="") as copy:
            reader.copy(copy)
        yield replace(whole, open=lambda: path.open("rb"), line=line)
