"""Registry of the runs that this process uses, and of those being deleted."""

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent.errors import RunAtWork, RunError
from agent.runs import recorder
from agent.runs.folder import RunFolder
from agent.runs.user_changes import News
from agent.util import clock
from sandbox_ui.runs.feed import Feed
from sandbox_ui.runs.live_run import LiveRun


class Registry:
    """Runs of one data folder that are in use. Thread-safe.

    Attributes:
        lock: Hold it while the runs must not change.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._runs: dict[str, LiveRun] = {}
        self._withdrawn: set[str] = set()
        self.lock = threading.RLock()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._runs

    def all(self) -> list[LiveRun]:
        """Return the runs that are registered now."""
        with self.lock:
            return list(self._runs.values())

    def known(self, run_id: str) -> LiveRun:
        """Return a run and count this as use of it.

        Raises:
            RunError: if the run does not exist or is being deleted.
        """
        with self.lock:
            run = self._runs.get(run_id)
            if run is None:
                if run_id in self._withdrawn:
                    raise RunError("This run is being deleted.")
                folder = RunFolder.open(self._data, run_id)
                news = News(folder.path / recorder.NEWS)
                run = self._runs[run_id] = LiveRun(folder, Feed(folder), news)
            run.used = clock.steady()
            return run

    def record(self, run_id: str) -> RunFolder:
        """Return a run's folder for reading only: this does not count as use of the run.

        Raises:
            RunError: if the run does not exist.
        """
        with self.lock:
            run = self._runs.get(run_id)
        return run.folder if run else RunFolder.open(self._data, run_id)

    def forget(self, run_id: str) -> None:
        """Remove a run from memory; its next use reads it again."""
        with self.lock:
            self._runs.pop(run_id, None)

    def withdraw(self, run_ids: Sequence[str], *, unseen: bool) -> Sequence[LiveRun]:
        """Block the use of runs until ``restore``; return those that were registered.

        Args:
            run_ids: Their ids.
            unseen: Refuse if a run has followers.

        Raises:
            RunAtWork: if a run has a round in progress, or has followers and ``unseen`` is set.
        """
        with self.lock:
            taken = [self._runs[each] for each in run_ids if each in self._runs]
        for run in taken:
            run.let_leave()
        with self.lock:
            if any(run.working for run in taken):
                raise RunAtWork("A run that is at work cannot be deleted. Stop it first.")
            if unseen and any(run.feed.followed for run in taken):
                raise RunAtWork("Somebody looks at this run.")
            self._withdrawn.update(run_ids)
            for run in taken:
                self._runs.pop(run.folder.id, None)
        return taken

    def restore(self, run_ids: Iterable[str]) -> None:
        """Unblock runs; those that still exist can be used again."""
        with self.lock:
            self._withdrawn.difference_update(run_ids)
