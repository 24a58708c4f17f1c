"""The evaluations of a data folder, with their cells and what changed in them."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from agent.data_folder import existing_folders
from agent.errors import RunError
from agent.evals.evaluation import Evaluation
from agent.evals.folder import EvaluationFolder
from agent.evals.suite import Suite
from agent.runs.summary import Summary
from sandbox_ui.evals.cells import Cells

Summaries = Callable[[Collection[str]], Mapping[str, Summary | None]]


class EvaluationRegistry:
    """The evaluations of one data folder. Thread-safe.

    Only this process changes them, except those in subfolders, which another process carries out.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._folders: dict[str, EvaluationFolder] = {}
        self._cells: dict[str, Cells] = {}
        self._listed: dict[Path, int] = {}
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
            if known is not None and self.is_elsewhere(known) and not known.path.is_dir():
                self._forget(evaluation)  # it was moved to the data folder
                known = None
            if known is None:
                places = existing_folders(self._data)
                known = self._folders[evaluation] = EvaluationFolder.find(places, evaluation)
            return known

    def is_elsewhere(self, folder: EvaluationFolder) -> bool:
        """Return whether an evaluation is in a subfolder, which another process uses."""
        return folder.data != self._data

    def cells(self, evaluation: str) -> Cells:
        """Return the cells of an evaluation. Raises ``RunError`` if it does not exist."""
        with self._lock:
            folder = self.folder(evaluation)
            cells = self._cells.get(evaluation)
            if cells is None:
                cells = self._cells[evaluation] = Cells(folder)
            return cells

    def run_ids(self, evaluation: str) -> Collection[str]:
        """Return the ids of its runs. Raises ``RunError`` if it does not exist."""
        return self.cells(evaluation).run_ids()

    def delete(self, evaluation: str) -> None:
        """Delete an evaluation; its runs remain. Raises ``OSError``."""
        with self._lock:
            folder = self.folder(evaluation)
            self._forget(evaluation)
            folder.delete()

    def all(self, owner: str | None = None) -> list[EvaluationFolder]:
        """Return all evaluations, or one user's, except unreadable ones, in no order."""
        with self._lock:
            self._look_for_others()
            folders = [each for name in list(self._folders) if (each := self._find(name))]
        return [each for each in folders if owner is None or each.owner == owner]

    def _look_for_others(self) -> None:
        """Read evaluations that appeared in a folder, such as those of the command line."""
        for data in dict.fromkeys(existing_folders(self._data)):
            place = data / "evaluations"
            try:
                listed = place.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            if listed == self._listed.get(place):
                continue
            found = [self._find(path.name) for path in place.iterdir()]
            if None not in found:  # one that is being created has no record yet
                self._listed[place] = listed

    def _find(self, evaluation: str) -> EvaluationFolder | None:
        try:
            return self.folder(evaluation)
        except RunError:
            self._forget(evaluation)
            return None

    def _forget(self, evaluation: str) -> None:
        self._folders.pop(evaluation, None)
        self._cells.pop(evaluation, None)
