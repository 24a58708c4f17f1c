"""An experiment that another process carries out, as its files say: for viewing only."""

import threading
from collections.abc import Collection
from pathlib import Path

from agent.events import RunEnded
from agent.experiments.folder import ExperimentFolder
from agent.history import records
from agent.runs import journal
from agent.runs.summary import Summary
from sandbox_ui.experiments.cells import Cells, Place


class ObservedRuns:
    """Summaries of runs that another process carries out; an ended one is read once.

    A look at a run in progress costs the same however long it is. Thread-safe.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._ended: dict[str, Summary] = {}
        self._running: dict[str, Summary] = {}
        self._lock = threading.Lock()

    def summaries(self, runs: Collection[str]) -> dict[str, Summary | None]:
        """Return the summaries of runs; None for one that has not begun."""
        with self._lock:
            found = {run: self._summary(run) for run in runs}
        return {
            run: summary
            for run, summary in found.items()
            if summary is not None or (self._data / "runs" / run / "run.json").is_file()
        }

    def has_ended(self, run: str) -> bool:
        """Return whether the end of a run was seen."""
        return run in self._ended

    def _summary(self, run: str) -> Summary | None:
        if run in self._ended:
            return self._ended[run]
        path = self._data / "runs" / run / "journal.jsonl"
        known = self._running.pop(run, None)
        try:
            if known is None or journal.ends_with(path, RunEnded):
                record = records.read(self._data, run, None)
                known = record.summary if record else None
        except FileNotFoundError:  # it starts again on another node
            return None
        if known is not None:
            (self._running if known.running else self._ended)[run] = known
        return known


class ObservedExperiment:
    """Reads the progress of an experiment that another process carries out. Thread-safe."""

    def __init__(self, folder: ExperimentFolder, cells: Cells) -> None:
        self.folder = folder
        self.runs = ObservedRuns(folder.data)
        self._cells = cells
        self._open = set(cells.run_ids())
        self.running = False
        self._lock = threading.Lock()

    def changed_places(self, *, running: bool) -> list[Place]:
        """Read what was added since the last call; return the cells that may have changed."""
        with self._lock:
            runs, scores = self.folder.read_further()
            self._cells.take_over(runs, scores)
            looked_at = {entry.run for entry in runs} | self._open
            self.runs.summaries(looked_at)
            self._open = {run for run in looked_at if not self.runs.has_ended(run)}
            changed = looked_at | {score.run for score in scores}
            entries = (self._cells.entry(run) for run in changed)
            places = {(entry.task, entry.member) for entry in entries if entry is not None}
            if running != self.running:
                places.update(self._cells.unsettled())
            self.running = running
        return list(places)
