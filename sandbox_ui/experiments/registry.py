"""The comparisons, and the evaluations, of a data folder."""

import threading
from collections.abc import Collection, Sequence
from pathlib import Path

from agent.data_folder import existing_folders
from agent.errors import RunError, StorageFull
from agent.experiments.experiment import Experiment, Kind
from agent.experiments.folder import KINDS, ExperimentFolder
from agent.experiments.suite import Suite
from sandbox_ui.experiments.cells import Cells


class ExperimentRegistry:
    """The comparisons, or the evaluations, of one data folder. Thread-safe.

    Only this process changes them, except those in other places, which other processes carry out.

    Args:
        data: The data folder; evaluations in its subfolders belong to other processes.
    """

    def __init__(self, data: Path, kind: Kind) -> None:
        self.kind = kind
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
            raise StorageFull(
                f"The {self.kind} cannot be created: {error.strerror}. "
                "Free some space on the studio's disk."
            ) from error

    def cells(self, group: str) -> Cells:
        """Return the cells of an experiment. Raises ``RunError`` if it does not exist."""
        with self._lock:
            folder = self.folder(group)
            cells = self._cells.get(group)
            if cells is None:
                cells = self._cells[group] = Cells(folder)
            return cells

    def run_ids(self, group: str) -> Collection[str]:
        """Return the ids of its runs. Raises ``RunError`` if it does not exist."""
        return self.cells(group).run_ids()

    def folder(self, group: str) -> ExperimentFolder:
        """Return the folder with an id. Raises ``RunError`` if it does not exist."""
        with self._lock:
            known = self._folders.get(group)
            if known is not None and self.is_elsewhere(known) and not known.path.is_dir():
                self._forget(group)  # it was moved to the data folder
                known = None
            return known or self._add(ExperimentFolder.find(self._places(), self.kind, group))

    def is_elsewhere(self, folder: ExperimentFolder) -> bool:
        """Return whether a folder is in another place, which another process uses."""
        return folder.data != self._data

    def delete(self, group: str) -> None:
        """Delete a folder; its runs remain. Raises ``OSError``."""
        with self._lock:
            folder = self.folder(group)
            self._forget(group)
            folder.delete()

    def all(self, owner: str | None = None) -> list[ExperimentFolder]:
        """Return the readable folders of all users or of one, unordered."""
        with self._lock:
            self._look_for_others()
            folders = [each for name in list(self._folders) if (each := self._find(name))]
        return [each for each in folders if owner is None or each.owner == owner]

    def _places(self) -> Sequence[Path]:
        """Return the data folders that are searched."""
        return existing_folders(self._data) if self.kind == "evaluation" else [self._data]

    def _add(self, folder: ExperimentFolder) -> ExperimentFolder:
        with self._lock:
            self._folders[folder.id] = folder
        return folder

    def _look_for_others(self) -> None:
        """Read folders that other processes have added, such as comparisons of the command line."""
        for data in dict.fromkeys(self._places()):
            place = data / KINDS[self.kind]
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
            if all(ExperimentFolder.exists(data, self.kind, name) for name in names):
                self._listed[place] = listed

    def _find(self, group: str) -> ExperimentFolder | None:
        try:
            return self.folder(group)
        except RunError:
            self._forget(group)
            return None

    def _forget(self, group: str) -> None:
        self._folders.pop(group, None)
        self._cells.pop(group, None)
