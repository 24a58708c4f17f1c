"""An experiment as its followers see it; each asks for the cells that changed since a number."""

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agent.experiments.combine.extend import Grown, add
from agent.experiments.description import cell_to_json, describe
from agent.experiments.folder import ExperimentFolder, RunEntry
from agent.experiments.outcomes import Cell, OutcomeName, Summaries, cell_of, counts_of
from agent.experiments.scan.scanner import Scanner
from agent.grading.checks import JudgeAccess
from agent.history.index import History
from sandbox_ui.experiments.observed import ObservedRuns

_MAX_LOG = 50_000
_UNSETTLED = ("running", "waiting", "stopped")
_SECONDS = 0.5
_SHARE = 20.0
"""Results are computed again after half a second, and at least this many times the
seconds that they took."""
Place = tuple[int, int]  # task and member, from 0
Listener = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Changes:
    """The cells that have changed since a cursor, as task, member and cell."""

    cursor: str
    cells: list[tuple[int, int, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class _Overview:
    """The experiment without tasks and cells, as of a cursor of its cells."""

    cursor: str
    running: bool
    at: float
    took: float
    described: dict[str, Any]


class LiveExperiment:
    """An experiment. Thread-safe.

    ``history`` has the summaries of its runs, or ``observed`` if another process carries them out;
    ``started`` is how many runs were done when it was started or continued, and when; ``judge`` has
    its key while votes are needed; ``scanners`` are by question; ``listeners`` are called, from any
    thread, when it has changed.
    """

    def __init__(
        self,
        folder: ExperimentFolder,
        history: History,
        observed: ObservedRuns | None = None,
        listeners: list[Listener] | None = None,
    ) -> None:
        self.folder = folder
        self._history = history
        self.observed = observed
        self.reason = ""
        self.started = 0, 0.0
        self.judge: JudgeAccess | None = None
        self.scanners: dict[str, Scanner] = {}
        self._by_run = {entry.run: entry for entry in folder.runs()}
        self._open = set(self._by_run)  # runs of another process that had not ended
        self._seen_running = False
        self._shown: dict[Place, Cell] = {}
        self._counts: Counter[OutcomeName] = Counter()
        self._loaded = False
        self._epoch = secrets.token_hex(4)
        self._log: list[Place] = []
        self._trimmed = 0
        self._overview: _Overview | None = None
        self.listeners: list[Listener] = [] if listeners is None else listeners
        # Held until the summaries read are taken in: no older ones replace newer ones. Whether runs
        # are in progress is asked within it, too.
        self.summaries_lock = threading.RLock()
        self._lock = threading.RLock()

    @property
    def latest(self) -> float:
        """When the last run was created, or else the experiment."""
        with self._lock:
            times = (entry.at for entry in self._by_run.values())
            return max(times, default=self.folder.definition.created)

    @property
    def cursor(self) -> str:
        """Where a follower continues who knows the cells as they are now."""
        with self._lock:
            return f"{self._epoch}-{self._trimmed + len(self._log)}"

    def follow(self, listener: Listener) -> Listener:
        """Call a function, from any thread, whenever it changes; return what ends that."""
        self.listeners.append(listener)

        def unfollow() -> None:
            with suppress(ValueError):
                self.listeners.remove(listener)

        return unfollow

    def notify(self) -> None:
        """Tell the followers that it has changed."""
        for listener in list(self.listeners):
            listener()

    def changed(self) -> None:
        """Describe it anew, and tell the followers."""
        self.forget_overview()
        self.notify()

    @property
    def asked(self) -> list[str]:
        """The questions that are being asked."""
        return [id for id, scanner in list(self.scanners.items()) if not scanner.is_over]

    def run_ids(self) -> Collection[str]:
        """Return the ids of the runs."""
        with self._lock:
            return set(self._by_run)

    def entry(self, run: str) -> RunEntry | None:
        """Return which run it is; None if it does not belong to the experiment."""
        return self._by_run.get(run)

    def places_of(self, runs: Iterable[str]) -> set[Place]:
        """Return the cells that runs are in."""
        entries = map(self._by_run.get, runs)
        return {(entry.task, entry.member) for entry in entries if entry is not None}

    def runs_at(self, places: Iterable[Place]) -> set[str]:
        """Return the runs in some cells."""
        return {each.run for place in places for each in self.folder.runs_at(*place)}

    def add_run(self, task: int, member: int, repetition: int, run: str) -> None:
        """Record a run. Raises ``OSError``."""
        with self._lock:
            earlier = self.folder.run_at((task, member, repetition))
            self._by_run[run] = self.folder.add_run(task, member, repetition, run)
            if earlier is not None:
                self._by_run.pop(earlier.run, None)

    def extend(self, found: Grown) -> tuple[int, int]:
        """Add members and tasks; see ``agent.experiments.combine.extend``. Followers reload."""
        with self._lock:
            added = add(self.folder, found)
            self._epoch, self._overview = secrets.token_hex(4), None
            return added

    def summaries(self, runs: Collection[str] | None = None) -> Summaries:
        """Return the summaries of some of its runs, by default of all."""
        source = self.observed or self._history
        return source.summaries(self.run_ids() if runs is None else runs)

    def read_further(self, *, running: bool) -> None:
        """Read what another process has added, and compute the cells that may have changed."""
        if self.observed is None:
            return
        with self._lock:
            runs, scores = self.folder.read_further()
            if runs:
                self._by_run = {entry.run: entry for entry in self.folder.runs()}
            changed = {entry.run for entry in runs} | self._open
            self.observed.summaries(changed)
            self._open = {run for run in changed if not self.observed.has_ended(run)}
            places = self.places_of(changed | {score.run for score in scores})
            if running != self._seen_running:
                places.update(self.unsettled())
                self.forget_overview()
            self._seen_running = running
        self.refresh(places, running=running)

    def load(self, *, running: bool) -> Summaries:
        """Compute all cells, also those of runs that were deleted; return the runs' summaries."""
        with self.summaries_lock:
            summaries = self.summaries()
            with self._lock:
                self._loaded = True
                places = {(each.task, each.member) for each in self._by_run.values()}
                self._refresh(sorted(places), summaries, running=running)
            return summaries

    def refresh(self, places: Collection[Place], *, running: bool) -> None:
        """Compute some cells again."""
        with self.summaries_lock:
            summaries = self.summaries(self.runs_at(places))
            with self._lock:
                if self._loaded:
                    self._refresh(places, summaries, running=running)

    def unscored(self) -> list[RunEntry]:
        """Return the runs that ended without a score."""
        with self._lock:
            runs = [each for cell in self._shown.values() for each in cell.runs]
        return [each.entry for each in runs if each.outcome == "unscored"]

    def unsettled(self) -> list[Place]:
        """Return the cells with runs that are in progress, waiting or stopped."""
        with self._lock:
            return [place for place, cell in self._shown.items() if cell.outcome in _UNSETTLED]

    def counts(self) -> dict[str, int]:
        """Return the number of runs by outcome; see ``counts_of``."""
        with self._lock:
            return counts_of(self.folder.definition, self._counts)

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

    def describe(self, *, running: bool) -> dict[str, Any]:
        """Return it as JSON values, with all tasks and cells; all of it is computed anew."""
        began = time.monotonic()
        summaries = self.load(running=running)
        cursor = self.cursor
        continued = not self.folder.definition.suites and any(
            each is not None and each.running for each in summaries.values()
        )
        described = describe(self.folder, summaries, running=running or continued)
        if self.folder.definition.suites:
            described["cursor"] = cursor
        now = time.monotonic()
        self._overview = _Overview(cursor, running, now, now - began, _without_cells(described))
        return described

    def overview(self, *, running: bool, fresh: bool, listed: bool) -> dict[str, Any]:
        """Return it without tasks and cells, as it was described last if that is not too old.

        ``fresh`` wants it as it is now; ``listed`` only its state and the results of ended runs.
        """
        if known := self._overview:
            unchanged = (known.cursor, known.running) == (self.cursor, running)
            # A comparison also shows figures of runs in progress, and what continues them.
            if unchanged and (listed or self.folder.definition.suites):
                return known.described
            recent = time.monotonic() - known.at < max(_SECONDS, _SHARE * known.took)
            # The end may be the last change: an older description would hide it for good.
            if recent and not fresh and running == known.running:
                return known.described
        return _without_cells(self.describe(running=running))

    def forget_overview(self) -> None:
        """Describe it anew: its title has changed, or a run was deleted."""
        self._overview = None

    def _refresh(self, places: Iterable[Place], summaries: Summaries, *, running: bool) -> None:
        for place in places:
            cell = cell_of(self.folder, *place, summaries, running=running)
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


def _without_cells(described: dict[str, Any]) -> dict[str, Any]:
    """Return a description without its tasks and cells."""
    return {
        name: each for name, each in described.items() if name not in ("tasks", "cells", "columns")
    }
