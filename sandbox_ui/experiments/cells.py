"""The cells of one experiment, task by member, kept up to date one by one.

Each change of a cell gets a number. A follower asks for the cells that have changed since the
number that it knows; the cost of an event does not depend on how many cells there are.
"""

import secrets
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.experiments.description import cell_to_json
from agent.experiments.folder import ExperimentFolder, RunEntry, ScoreEntry
from agent.experiments.outcomes import Cell, OutcomeName, cell_outcome, counts_of
from agent.runs.summary import Summary

_MAX_LOG = 50_000
_UNSETTLED = ("running", "waiting", "stopped")
Place = tuple[int, int]
"""Task and member, from 0."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The cells that have changed since a cursor, as task, member and cell."""

    cursor: str
    cells: list[tuple[int, int, dict[str, Any]]]


class Cells:
    """The cells of one experiment. Thread-safe."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self._folder = folder
        self._entries: dict[Place, dict[int, RunEntry]] = {}
        self._by_run: dict[str, RunEntry] = {}
        for entry in folder.runs():
            self._add(entry)
        self._scores = folder.scores()
        self._shown: dict[Place, Cell] = {}
        self._counts: Counter[OutcomeName] = Counter()
        self._loaded = False
        self._epoch = secrets.token_hex(4)
        self._log: list[Place] = []
        self._trimmed = 0
        self._lock = threading.RLock()

    @property
    def latest(self) -> float:
        """When the last run was created, or else the experiment."""
        with self._lock:
            times = (entry.at for entry in self._by_run.values())
            return max(times, default=self._folder.definition.created)

    @property
    def cursor(self) -> str:
        """Where a follower continues who knows the cells as they are now."""
        with self._lock:
            return f"{self._epoch}-{self._trimmed + len(self._log)}"

    def run_ids(self) -> Collection[str]:
        """Return the ids of the runs."""
        with self._lock:
            return set(self._by_run)

    def entry(self, run: str) -> RunEntry | None:
        """Return which run it is; None if it does not belong to the experiment."""
        return self._by_run.get(run)

    def add_run(self, task: int, member: int, repetition: int, run: str) -> None:
        """Record a run. Raises ``OSError``."""
        entry = self._folder.add_run(task, member, repetition, run)
        with self._lock:
            self._add(entry)

    def take_over(self, runs: Iterable[RunEntry], scores: Iterable[ScoreEntry]) -> None:
        """Take over runs and scores that another process has stored."""
        with self._lock:
            for entry in runs:
                self._add(entry)
            self._scores |= {score.run: score for score in scores}

    def add_score(self, score: ScoreEntry) -> None:
        """Take over a score that was stored."""
        with self._lock:
            self._scores[score.run] = score

    def load(self, summaries: Mapping[str, Summary | None], *, running: bool) -> None:
        """Compute all cells, or all of them again: a run may have been deleted or continued."""
        with self._lock:
            self._loaded = True
            self._refresh(list(self._entries), summaries, running=running)

    def unscored(self) -> list[str]:
        """Return the runs that ended without a score."""
        with self._lock:
            return [
                each.entry.run
                for cell in self._shown.values()
                for each in cell.runs
                if each.outcome == "unscored"
            ]

    def runs_at(self, places: Iterable[Place]) -> set[str]:
        """Return the runs in some cells."""
        with self._lock:
            return {
                entry.run for place in places for entry in self._entries.get(place, {}).values()
            }

    def unsettled(self) -> list[Place]:
        """Return the cells with runs that are in progress, waiting or stopped."""
        with self._lock:
            return [place for place, cell in self._shown.items() if cell.outcome in _UNSETTLED]

    def refresh(
        self, places: Iterable[Place], summaries: Mapping[str, Summary | None], *, running: bool
    ) -> None:
        """Compute some cells again, with the summaries of their runs."""
        with self._lock:
            if self._loaded:
                self._refresh(places, summaries, running=running)

    def counts(self) -> dict[str, int]:
        """Return the number of runs by outcome; see ``counts_of``."""
        with self._lock:
            return counts_of(self._folder.definition, self._counts)

    def changes(self, cursor: str) -> Changes | None:
        """Return what has changed since a cursor; None if that is not known any more."""
        epoch, _, number = cursor.partition("-")
        with self._lock:
            known = int(number) - self._trimmed if number.isdecimal() and len(number) < 16 else -1
            if epoch != self._epoch or not 0 <= known <= len(self._log):
                return None
            places = dict.fromkeys(self._log[known:])
            cells = [(*place, cell_to_json(self._shown[place])) for place in places]
            return Changes(self.cursor, cells)

    def _refresh(
        self, places: Iterable[Place], summaries: Mapping[str, Summary | None], *, running: bool
    ) -> None:
        for place in places:
            entries = [entry for _, entry in sorted(self._entries.get(place, {}).items())]
            cell = cell_outcome(
                entries,
                summaries,
                self._scores,
                repetitions=self._folder.definition.repetitions,
                running=running,
            )
            before = self._shown.get(place)
            if before is not None and cell_to_json(before) == cell_to_json(cell):
                continue
            self._counts.subtract(each.outcome for each in (before.runs if before else ()))
            self._counts.update(each.outcome for each in cell.runs)
            self._shown[place] = cell
            self._log.append(place)
        if len(self._log) > 2 * _MAX_LOG:
            self._trimmed += len(self._log) - _MAX_LOG
            del self._log[:-_MAX_LOG]

    def _add(self, entry: RunEntry) -> None:
        repetitions = self._entries.setdefault((entry.task, entry.member), {})
        earlier = repetitions.get(entry.repetition)
        if earlier is not None:
            self._by_run.pop(earlier.run, None)
        repetitions[entry.repetition] = self._by_run[entry.run] = entry
