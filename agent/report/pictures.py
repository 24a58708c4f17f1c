"""The pictures that models got, in a report: each once, within the budget."""

from collections.abc import Iterator

from agent.report.budget import Budget
from agent.report.page import data_block
from agent.report.source import Source
from agent.runs.outputs.pictures import is_picture_name
from agent.runs.state import RunState


class Pictures:
    """Pictures of one or several runs, which share a budget."""

    def __init__(self, budget: Budget) -> None:
        self._left = budget.pictures
        self._written: set[str] = set()

    def blocks(self, source: Source, state: RunState) -> Iterator[str]:
        """Yield the pictures of a run that the report does not have yet."""
        for sent in state.pictures.all:
            name, size = sent.picture.file, sent.picture.size
            if name in self._written or not is_picture_name(name):
                continue
            if size > self._left:
                return
            if (file := source.long_output(name)) is not None:
                self._left -= size
                self._written.add(name)
                with file:
                    yield from data_block(f"picture-{name}", [file.read(size)])
