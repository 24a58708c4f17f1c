"""Registry of the runs that this process uses, and of those being deleted."""

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent.data_folder import existing_folders
from agent.errors import RunActive, RunError
from agent.loop.steering import Steering
from agent.runs import recorded_run
from agent.runs.folder import RunFolder
from agent.runs.user_changes import UserChanges
from agent.util import clock
from sandbox_ui.runs.feed import Feed
from sandbox_ui.runs.live_run import LiveRun


class Registry:
    """Runs in use, and other processes' for viewing; hold ``lock`` while they must not change."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._runs: dict[str, LiveRun] = {}
        self._active: dict[str, LiveRun] = {}  # and some whose round has just ended
        self._blocked: set[str] = set()
        self.lock = threading.RLock()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._runs

    def all(self) -> list[LiveRun]:
        """Return the runs that are registered now."""
        with self.lock:
            return list(self._runs.values())

    def add_active(self, run: LiveRun) -> None:
        """Note that a round of a run begins."""
        with self.lock:
            self._active[run.folder.id] = run

    def active(self) -> list[LiveRun]:
        """Return the runs with a round in progress; forget ended runs that are not in use."""
        with self.lock:
            for run_id, run in list(self._active.items()):
                if not run.active:
                    del self._active[run_id]
                    if run.unused:
                        self.forget(run_id)
            return list(self._active.values())

    def get(self, run_id: str) -> LiveRun:
        """Return a run that is not being deleted, and count this as use of it."""
        with self.lock:
            run = self._known(run_id)
            if run is None:
                if run_id in self._blocked:
                    raise RunError("This run is being deleted.")
                folder = RunFolder.find(existing_folders(self._data), run_id)
                user_changes = UserChanges(folder.path / recorded_run.USER_CHANGES_FILE)
                steering = Steering(folder.path / recorded_run.STEERING_FILE)
                feed = Feed(folder, steering, polled=folder.data != self._data)
                steering.on_change(feed.notify)
                run = self._runs[run_id] = LiveRun(folder, feed, user_changes, steering)
            run.last_used = clock.steady_time()
            run.uses += 1
            return run

    def peek_folder(self, run_id: str) -> RunFolder:
        """Return a run's folder for reading only: this does not count as use of the run."""
        with self.lock:
            run = self._known(run_id)
        return run.folder if run else RunFolder.find(existing_folders(self._data), run_id)

    def _known(self, run_id: str) -> LiveRun | None:
        """Return a registered run, unless another process may have changed or moved it."""
        run = self._runs.get(run_id)
        if run is None or run.folder.data == self._data:
            return run
        if run.feed.has_followers and run.folder.path.is_dir():
            return run
        del self._runs[run_id]
        return None

    def forget(self, run_id: str) -> None:
        """Remove a run from memory; its next use reads it again."""
        with self.lock:
            self._runs.pop(run_id, None)

    def block(self, run_ids: Sequence[str], *, refuse_followed: bool) -> Sequence[LiveRun]:
        """Block the use of inactive runs until ``unblock``; return the registered ones."""
        with self.lock:
            live_runs = [self._runs[each] for each in run_ids if each in self._runs]
        for run in live_runs:
            run.wait_for_exit()
        with self.lock:
            if any(run.active for run in live_runs):
                raise RunActive("A run in progress cannot be deleted. Stop it first.")
            if refuse_followed and any(run.feed.has_followers for run in live_runs):
                raise RunActive("This run is open on a page.")
            self._blocked.update(run_ids)
            for run in live_runs:
                self._runs.pop(run.folder.id, None)
        return live_runs

    def unblock(self, run_ids: Iterable[str]) -> None:
        """Unblock runs; those that still exist can be used again."""
        with self.lock:
            self._blocked.difference_update(run_ids)
