"""The comparisons and evaluations of a data folder."""

import threading
from collections.abc import Collection, Sequence
from pathlib import Path

from agent.data_folder import existing_folders
from agent.errors import RunError, StorageFull
from agent.experiments.experiment import Experiment
from agent.experiments.folder import KINDS, ExperimentFolder, record_path
from agent.experiments.suite import Suite
from sandbox_ui.experiments.cells import Cells


class ExperimentRegistry:
    """The experiments of one data folder; those in its subfolders belong to other processes.

    Thread-safe. Only this process changes the others.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._folders: dict[str, ExperimentFolder] = {}
        self._cells: dict[str, Cells] = {}
        self._listed: dict[Path, int] = {}
        self._lock = threading.RLock()

    def create(
        self, definition: Experiment, suites: Sequence[Suite] = (), title: str = ""
    ) -> ExperimentFolder:
        """Create an experiment; its id and time are set here. Raises ``StorageFull``."""
        try:
            return self._add(ExperimentFolder.create(self._data, definition, suites, title))
        except OSError as error:
            kind = "evaluation" if suites else "comparison"
            raise StorageFull(
                f"The {kind} cannot be created: {error.strerror}. "
                "Free some space on the studio's disk."
            ) from error

    def cells(self, experiment: str) -> Cells:
        """Return the cells of an experiment. Raises ``RunError`` if it does not exist."""
        with self._lock:
            folder = self.folder(experiment)
            if experiment not in self._cells:
                self._cells[experiment] = Cells(folder)
            return self._cells[experiment]

    def run_ids(self, experiment: str) -> Collection[str]:
        """Return the ids of its runs. Raises ``RunError`` if it does not exist."""
        return self.cells(experiment).run_ids()

    def folder(self, experiment: str) -> ExperimentFolder:
        """Return the folder with an id. Raises ``RunError`` if it does not exist."""
        with self._lock:
            known = self._folders.get(experiment)
            if known is not None and self.is_elsewhere(known) and not known.path.is_dir():
                self._forget(experiment)  # it was moved to the data folder
                known = None
            return known or self._add(
                ExperimentFolder.find(existing_folders(self._data), experiment)
            )

    def is_elsewhere(self, folder: ExperimentFolder) -> bool:
        """Return whether a folder is in another place, which another process uses."""
        return folder.data != self._data

    def delete(self, experiment: str) -> None:
        """Delete a folder; its runs remain. Raises ``OSError``."""
        with self._lock:
            folder = self.folder(experiment)
            self._forget(experiment)
            folder.delete()

    def all(self, owner: str | None = None) -> list[ExperimentFolder]:
        """Return the readable folders of all users or of one, unordered."""
        with self._lock:
            self._look_for_others()
            folders = [each for name in list(self._folders) if (each := self._find(name))]
        return [each for each in folders if owner is None or each.owner == owner]

    def _add(self, folder: ExperimentFolder) -> ExperimentFolder:
        with self._lock:
            self._folders[folder.id] = folder
        return folder

    def _look_for_others(self) -> None:
        """Read folders that other processes have added, such as those of the command line."""
        places = dict.fromkeys(existing_folders(self._data))
        for data, place in [(data, data / name) for data in places for name in KINDS.values()]:
            try:
                listed = place.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            if listed == self._listed.get(place):
                continue
            names = [path.name for path in place.iterdir() if not path.name.startswith(".")]
            for name in names:
                self._find(name)
            # A folder that is being created has no record yet, so that it is looked for again.
            if all(record_path(data, name) for name in names):
                self._listed[place] = listed

    def _find(self, experiment: str) -> ExperimentFolder | None:
        try:
            return self.folder(experiment)
        except RunError:
            self._forget(experiment)
            return None

    def _forget(self, experiment: str) -> None:
        self._folders.pop(experiment, None)
        self._cells.pop(experiment, None)
