"""Experiments as JSON: whole, or without tasks and cells; computed again only if they changed."""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from agent.experiments.description import describe
from agent.runs.summary import Summary
from sandbox_ui.experiments.registry import ExperimentRegistry

_MAX_KNOWN = 32
_SECONDS = 0.5
_SHARE = 20.0
"""Results are computed again after half a second, and at least this many times the
seconds that they took."""


@dataclass(frozen=True, slots=True)
class _Known:
    """An experiment without tasks and cells, as of a cursor of its cells."""

    cursor: str
    running: bool
    at: float
    took: float
    described: dict[str, Any]


class Documents:
    """Experiments as JSON values, for their owners. Thread-safe."""

    def __init__(
        self,
        registry: ExperimentRegistry,
        summaries: Callable[[str, Collection[str]], Mapping[str, Summary | None]],
        is_running: Callable[[str], bool],
    ) -> None:
        self._registry = registry
        self._summaries = summaries
        self._is_running = is_running
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def whole(self, experiment: str) -> dict[str, Any]:
        """Return an experiment with its tasks, cells and the cells' cursor."""
        return self._describe(experiment)

    def overview(self, experiment: str, *, fresh: bool, listed: bool) -> dict[str, Any]:
        """Return an experiment without its tasks and cells.

        Args:
            fresh: Whether to compute it as it is now, even if that takes long.
            listed: Whether only its state and the results of ended runs are shown.
        """
        known = self._known.get(experiment)
        if known is not None:
            cursor = self._registry.cells(experiment).cursor
            unchanged = (known.cursor, known.running) == (cursor, self._is_running(experiment))
            # A comparison also shows figures of runs in progress, and what continues them.
            if unchanged and (listed or "results" in known.described):
                return known.described
            if not fresh and time.monotonic() - known.at < max(_SECONDS, _SHARE * known.took):
                return known.described
        return _without_cells(self._describe(experiment))

    def forget(self, experiment: str) -> None:
        """Describe an experiment anew: its title has changed, or it was deleted."""
        with self._lock:
            self._known.pop(experiment, None)

    def _describe(self, experiment: str) -> dict[str, Any]:
        began = time.monotonic()
        folder, cells = self._registry.folder(experiment), self._registry.cells(experiment)
        summaries = self._summaries(experiment, cells.run_ids())
        running = self._is_running(experiment)
        continued = not folder.definition.suites and any(
            each is not None and each.running for each in summaries.values()
        )
        cells.load(summaries, running=running)
        cursor = cells.cursor
        described = describe(folder, summaries, running=running or continued)
        if folder.definition.suites:
            described["cursor"] = cursor
        short, now = _without_cells(described), time.monotonic()
        with self._lock:
            self._known[experiment] = _Known(cursor, running, now, now - began, short)
            while len(self._known) > _MAX_KNOWN:
                self._known.pop(next(iter(self._known)))
        return described


def _without_cells(described: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in described.items() if name not in ("tasks", "cells")}
