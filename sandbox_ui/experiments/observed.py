"""Runs that another process carries out, as their files say: for viewing only."""

import threading
from collections.abc import Collection
from pathlib import Path

from agent.events import RunEnded
from agent.history import records
from agent.runs import journal
from agent.runs.summary import Summary


class ObservedRuns:
    """Summaries of runs of another process; each look costs the same. Thread-safe."""

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
        path = journal.path_of(self._data, run)
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
