"""The comparisons and evaluations of a data folder."""

import threading
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from agent.data_folder import existing_folders
from agent.errors import RunError, StorageFull
from agent.experiments.experiment import Experiment
from agent.experiments.folder import KINDS, Document, ExperimentFolder, record_path
from agent.experiments.suite import Suite
from agent.history.index import History
from sandbox_ui.experiments.live_experiment import Listener, LiveExperiment
from sandbox_ui.experiments.observed import ObservedRuns


class ExperimentRegistry:
    """The experiments of a data folder; those in subfolders are other processes'. Thread-safe."""

    def __init__(self, data: Path, history: History) -> None:
        self._data = data
        self._history = history
        self._known: dict[str, LiveExperiment] = {}
        self._listed: dict[Path, int] = {}
        self._lock = threading.RLock()

    def create(
        self,
        definition: Experiment,
        suites: Sequence[Suite] = (),
        title: str = "",
        documents: Iterable[Document] = (),
    ) -> LiveExperiment:
        """Create an experiment; its id and time are set here. Raises ``StorageFull``."""
        try:
            folder = ExperimentFolder.create(self._data, definition, suites, title, documents)
            return self._add(folder)
        except OSError as error:
            kind = "evaluation" if suites else "comparison"
            raise StorageFull(
                f"The {kind} cannot be created: {error.strerror}. "
                "Free some space on the studio's disk."
            ) from error

    def get(self, experiment: str) -> LiveExperiment:
        """Return the experiment with an id. Raises ``RunError`` if it does not exist."""
        with self._lock:
            known = self._known.get(experiment)
            if known is None or (known.observed is not None and not known.folder.path.is_dir()):
                # not seen yet, or it was moved to the data folder
                found = ExperimentFolder.find(existing_folders(self._data), experiment)
                known = self._add(found, known.listeners if known else None)
            return known

    def folder(self, experiment: str) -> ExperimentFolder:
        """Return the folder with an id. Raises ``RunError`` if it does not exist."""
        return self.get(experiment).folder

    def run_ids(self, experiment: str) -> Collection[str]:
        """Return the ids of its runs. Raises ``RunError`` if it does not exist."""
        return self.get(experiment).run_ids()

    def delete(self, experiment: str) -> None:
        """Delete a folder; its runs remain. Raises ``OSError``."""
        with self._lock:
            self._known.pop(experiment, self.get(experiment)).folder.delete()

    def all(self, owner: str | None = None) -> list[LiveExperiment]:
        """Return the readable experiments of all users or of one, unordered."""
        with self._lock:
            self._look_for_others()
            found = [each for name in list(self._known) if (each := self._find(name))]
        return [each for each in found if owner is None or each.folder.owner == owner]

    def known(self) -> list[LiveExperiment]:
        """Return those that were asked for."""
        with self._lock:
            return list(self._known.values())

    def _add(
        self, folder: ExperimentFolder, listeners: list[Listener] | None = None
    ) -> LiveExperiment:
        observed = ObservedRuns(folder.data) if folder.data != self._data else None
        with self._lock:
            self._known[folder.id] = LiveExperiment(folder, self._history, observed, listeners)
            return self._known[folder.id]

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

    def _find(self, experiment: str) -> LiveExperiment | None:
        try:
            return self.get(experiment)
        except RunError:
            self._known.pop(experiment, None)
            return None
