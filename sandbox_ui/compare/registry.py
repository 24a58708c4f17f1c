"""The comparisons of a data folder, and which runs belong to them."""

import threading
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.compare.comparison import Comparison
from agent.compare.folder import ComparisonFolder, RunEntry
from agent.errors import RunError


@dataclass(slots=True)
class _Known:
    """A comparison in memory, with its runs as read from its folder."""

    folder: ComparisonFolder
    runs: list[RunEntry]


class ComparisonRegistry:
    """The comparisons of one data folder; only this process changes them. Thread-safe.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._place = data / "comparisons"
        self._known: dict[str, _Known] = {}
        self._listed = -1
        self._lock = threading.RLock()

    def create(self, definition: Comparison, title: str = "") -> ComparisonFolder:
        """Create a comparison; its id and time are set here. Raises ``OSError``."""
        folder = ComparisonFolder.create(self._data, definition, title)
        with self._lock:
            self._known[folder.id] = _Known(folder, [])
        return folder

    def folder(self, comparison: str) -> ComparisonFolder:
        """Return a comparison's folder.

        Raises:
            RunError: if the comparison does not exist.
        """
        return self._get(comparison).folder

    def runs(self, comparison: str) -> list[RunEntry]:
        """Return a comparison's runs, by member and repetition.

        Raises:
            RunError: if the comparison does not exist.
        """
        return self._get(comparison).runs

    def run_ids(self, comparison: str) -> Collection[str]:
        """Return the ids of a comparison's runs.

        Raises:
            RunError: if the comparison does not exist.
        """
        return {entry.run for entry in self.runs(comparison)}

    def add_run(self, comparison: str, member: int, repetition: int, run: str) -> None:
        """Record that a run is a repetition of a member. Raises ``OSError``."""
        with self._lock:
            known = self._get(comparison)
            known.folder.add_run(member, repetition, run)
            known.runs = known.folder.runs()

    def delete(self, comparison: str) -> None:
        """Delete a comparison; its runs remain. Raises ``OSError``."""
        with self._lock:
            folder = self._get(comparison).folder
            del self._known[comparison]
            folder.delete()

    def all(self, owner: str | None = None) -> list[ComparisonFolder]:
        """Return all comparisons, or one user's, except unreadable ones, in no order."""
        with self._lock:
            self._look_for_others()
            folders = [known.folder for known in self._known.values()]
        return [each for each in folders if owner is None or each.owner == owner]

    def _get(self, comparison: str) -> _Known:
        with self._lock:
            known = self._known.get(comparison)
            if known is None:
                folder = ComparisonFolder.open(self._data, comparison)
                known = self._known[comparison] = _Known(folder, folder.runs())
            return known

    def _look_for_others(self) -> None:
        """Read comparisons that appeared in the folder, such as those of the command line."""
        try:
            listed = self._place.stat().st_mtime_ns
        except FileNotFoundError:
            return
        if listed == self._listed:
            return
        self._listed = listed
        for path in self._place.iterdir():
            if path.name not in self._known:
                with suppress(RunError):
                    self._get(path.name)
