"""The evaluations of a data folder, with their cells and what changed in them."""

from collections.abc import Collection, Sequence
from pathlib import Path

from agent.data_folder import existing_folders
from agent.experiments.experiment import Experiment
from agent.experiments.folder import ExperimentFolder
from agent.experiments.suite import Suite
from sandbox_ui.compare.registry import GroupRegistry
from sandbox_ui.evals.cells import Cells


class EvaluationRegistry(GroupRegistry[ExperimentFolder]):
    """The evaluations of one data folder and of its subfolders. Thread-safe."""

    kind = "evaluation"

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        self._cells: dict[str, Cells] = {}

    def create(
        self, definition: Experiment, suites: Sequence[Suite], title: str = ""
    ) -> ExperimentFolder:
        """Create an evaluation; its id and time are set here. Raises ``OSError``."""
        return self._add(ExperimentFolder.create(self._data, definition, suites, title))

    def cells(self, evaluation: str) -> Cells:
        """Return the cells of an evaluation. Raises ``RunError`` if it does not exist."""
        with self._lock:
            folder = self.folder(evaluation)
            cells = self._cells.get(evaluation)
            if cells is None:
                cells = self._cells[evaluation] = Cells(folder)
            return cells

    def run_ids(self, group: str) -> Collection[str]:
        """Return the ids of its runs. Raises ``RunError`` if it does not exist."""
        return self.cells(group).run_ids()

    def _places(self) -> Sequence[Path]:
        return existing_folders(self._data)

    def _forget(self, group: str) -> None:
        super()._forget(group)
        self._cells.pop(group, None)
