"""The evaluations of a data folder, with their cells and what changed in them."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agent.errors import RunError
from agent.evals.evaluation import Evaluation
from agent.evals.folder import EvaluationFolder
from agent.evals.suite import Suite
from agent.runs.summary import Summary
from sandbox_ui.evals.cells import Cells

Summaries = Callable[[Collection[str]], Mapping[str, Summary | None]]


class EvaluationRegistry:
    """The evaluations of one data folder; only this process changes them. Thread-safe.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._place = data / "evaluations"
        self._folders: dict[str, EvaluationFolder] = {}
        self._cells: dict[str, Cells] = {}
        self._listed = -1
        self._lock = threading.RLock()

    def create(
        self, definition: Evaluation, suites: Sequence[Suite], title: str = ""
    ) -> EvaluationFolder:
        """Create an evaluation; its id and time are set here. Raises ``OSError``."""
        folder = EvaluationFolder.create(self._data, definition, suites, title)
        with self._lock:
            self._folders[folder.id] = folder
        return folder

    def folder(self, evaluation: str) -> EvaluationFolder:
        """Return an evaluation's folder. Raises ``RunError`` if it does not exist."""
        with self._lock:
            known = self._folders.get(evaluation)
            if known is None:
                known = self._folders[evaluation] = EvaluationFolder.open(self._data, evaluation)
            return known

    def cells(self, evaluation: str) -> Cells:
        """Return the cells of an evaluation. Raises ``RunError`` if it does not exist."""
        with self._lock:
            cells = self._cells.get(evaluation)
            if cells is None:
                cells = self._cells[evaluation] = Cells(self.folder(evaluation))
            return cells

    def run_ids(self, evaluation: str) -> Collection[str]:
        """Return the ids of its runs. Raises ``RunError`` if it does not exist."""
        return self.cells(evaluation).run_ids()

    def delete(self, evaluation: str) -> None:
        """Delete an evaluation; its runs remain. Raises ``OSError``."""
        with self._lock:
            folder = self.folder(evaluation)
            self._folders.pop(evaluation, None)
            self._cells.pop(evaluation, None)
            folder.delete()

    def all(self, owner: str | None = None) -> list[EvaluationFolder]:
        """Return all evaluations, or one user's, except unreadable ones, in no order."""
        with self._lock:
            self._look_for_others()
            folders = list(self._folders.values())
        return [each for each in folders if owner is None or each.owner == owner]

    def _look_for_others(self) -> None:
        """Read evaluations that appeared in the folder, such as those of the command line."""
        try:
            listed = self._place.stat().st_mtime_ns
        except FileNotFoundError:
            return
        if listed == self._listed:
            return
        self._listed = listed
        for path in self._place.iterdir():
            if path.name not in self._folders:
                with suppress(RunError):
                    self.folder(path.name)
