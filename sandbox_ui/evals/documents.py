"""Evaluations as JSON: whole, or without tasks and cells; computed again only if they changed."""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from agent.experiments.description import describe
from agent.runs.summary import Summary
from sandbox_ui.compare.registry import ExperimentRegistry

_MAX_KNOWN = 32
_SHARE = 20.0
"""Results are computed again after at least this many times the seconds that they took."""


@dataclass(frozen=True, slots=True)
class _Known:
    """An evaluation without tasks and cells, as of a cursor of its cells."""

    cursor: str
    at: float
    took: float
    described: dict[str, Any]


class Documents:
    """Evaluations as JSON values, for their owners. Thread-safe.

    Args:
        summaries: Returns the summaries of runs of an evaluation.
    """

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

    def whole(self, evaluation: str) -> dict[str, Any]:
        """Return an evaluation with its tasks, cells and the cells' cursor."""
        return self._describe(evaluation)

    def overview(self, evaluation: str, *, fresh: bool) -> dict[str, Any]:
        """Return an evaluation without its tasks and cells.

        Args:
            fresh: Whether to compute it as it is now, even if that takes long.
        """
        known = self._known.get(evaluation)
        if known is not None:
            if known.cursor == self._registry.cells(evaluation).cursor:
                return known.described
            if not fresh and time.monotonic() - known.at < _SHARE * known.took:
                return known.described
        described = self._describe(evaluation)
        return {name: each for name, each in described.items() if name not in ("tasks", "cells")}

    def forget(self, evaluation: str) -> None:
        """Describe an evaluation anew: its title has changed, or it was deleted."""
        with self._lock:
            self._known.pop(evaluation, None)

    def _describe(self, evaluation: str) -> dict[str, Any]:
        began = time.monotonic()
        folder, cells = self._registry.folder(evaluation), self._registry.cells(evaluation)
        summaries = self._summaries(evaluation, cells.run_ids())
        running = self._is_running(evaluation)
        cells.load(summaries, running=running)
        cursor = cells.cursor
        described = describe(folder, summaries, running=running)
        described["cursor"] = cursor
        short = {name: each for name, each in described.items() if name not in ("tasks", "cells")}
        now = time.monotonic()
        with self._lock:
            self._known[evaluation] = _Known(cursor, now, now - began, short)
            while len(self._known) > _MAX_KNOWN:
                self._known.pop(next(iter(self._known)))
        return described
