"""The runs that this process knows, by their ids, and those that are being deleted."""

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent import clock, recorder
from agent.errors import RunAtWork, RunError
from agent.folder import RunFolder
from agent.news import News
from sandbox_ui.feed import Feed
from sandbox_ui.live import LiveRun


class Registry:
    """The runs of one data folder that are in use. Safe to use from many threads.

    Attributes:
        lock: Held by whoever needs the runs to stay as they are for a moment.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._runs: dict[str, LiveRun] = {}
        self._withdrawn: set[str] = set()
        self.lock = threading.RLock()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._runs

    def all(self) -> list[LiveRun]:
        """Those that are known at this moment."""
        with self.lock:
            return list(self._runs.values())

    def known(self, run_id: str) -> LiveRun:
        """A run, which counts as used by that.

        Raises:
            RunError: there is no such run, or it is being deleted.
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
        """A run's folder, to be read only: the run does not count as used.

        Raises:
            RunError: there is no such run.
        """
        with self.lock:
            run = self._runs.get(run_id)
        return run.folder if run else RunFolder.open(self._data, run_id)

    def forget(self, run_id: str) -> None:
        """Know a run no more; it is read again when it is used."""
        with self.lock:
            self._runs.pop(run_id, None)

    def withdraw(self, run_ids: Sequence[str], *, unseen: bool) -> Sequence[LiveRun]:
        """Forget runs, and know them no more until ``restore``; those of them that were known.

        Args:
            run_ids: Their ids.
            unseen: Only if nobody looks at them.

        Raises:
            RunAtWork: one of them is at work, or is looked at and must not be.
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
        """Let runs be known again, as far as they are still there."""
        with self.lock:
            self._withdrawn.difference_update(run_ids)
