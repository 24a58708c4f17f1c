"""Lifecycle of live runs: start, continue, stop, follow, shut down."""

import errno
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from agent.errors import NoRoom, RunError
from agent.events import Event
from agent.limits import Limits
from agent.models.base import Model
from agent.runs import recorder
from agent.runs.disk_usage import sandboxes_of
from agent.runs.folder import RunFolder
from agent.runs.record import close_interrupted
from agent.runs.recorder import RecordedRun, Task
from agent.runs.summary import Summary
from agent.runs.user_changes import Item
from agent.util.cancellation import Stop
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.past_files import Past
from sandbox_ui.runs.feed import Feed
from sandbox_ui.runs.live_run import LiveRun, join
from sandbox_ui.runs.maintenance import IDLE_SECONDS, Housekeeping, Rests
from sandbox_ui.runs.registry import Registry
from sandbox_ui.runs.version_cache import Pasts
from sandbox_ui.scheduling.admission import Admission

_PATIENCE = 10.0
_HANDS = 8
GRACE = 5.0
"""Seconds that steps in progress have to finish when the application shuts down."""
CLOSED = "The studio was closed meanwhile."
_log = logging.getLogger(__name__)
_Begin = Callable[[RecordedRun, Stop, recorder.Turn], Iterator[Event]]


class Computers(recorder.Computers, Rests, Protocol):
    """Provider of sandboxes and of the folders for new ones."""

    def draft(self) -> str:
        """Create a sandbox's folder with an empty workspace; return the sandbox's id."""

    def empty(self, sandbox_id: str) -> None:
        """Remove files in a sandbox's workspace that this process's user may not remove.

        Raises:
            StudioError: if they cannot be removed.
        """

    def discard(self, sandbox_id: str) -> None:
        """Remove a stopped sandbox, but keep its workspace."""


class Runs:
    """Runs of one data folder; this process holds the folder's lock.

    Args:
        data: The data folder.
        computers: Provider of sandboxes.
        admission: Limits on concurrent runs; unlimited by default.
        idle: Seconds after which the sandbox of an unused run is stopped.
    """

    def __init__(
        self,
        data: Path,
        computers: Computers,
        admission: Admission | None = None,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self._data = data
        self.admission = admission or Admission()
        self._computers = computers
        self._pasts = Pasts(computers.blobs)
        self._registry = Registry(data)
        self._house = Housekeeping(data, self._registry, computers, idle)
        self._closing = threading.Event()

    def open(self) -> None:
        """Close rounds that an earlier process left open, and start maintenance."""
        close_interrupted(self._data)
        self._house.open()

    def close(self) -> None:
        """Give active steps a few seconds to finish, then stop the sandboxes; blocks.

        Runs that this interrupts end as stopped, with the reason; a message continues them.
        """
        self._closing.set()
        self._house.close()
        runs = self._registry.all()
        for run in runs:
            run.stop.after_step(CLOSED)
        self.admission.line.close()
        join(runs, GRACE)
        for run in runs:
            run.stop.set()
        join(runs, _PATIENCE)
        with ThreadPoolExecutor(_HANDS) as hands:
            list(hands.map(LiveRun.rest, runs))

    def create_draft(self, owner: str = "") -> str:
        """Create a run without a task and with an empty workspace; return its id.

        A draft that is unused for a week is deleted automatically.

        Args:
            owner: The owner's user id; empty for the operator.

        Raises:
            OverLimit: if the owner's quota is used up.
            NoRoom: if the disk is full.
            RunError: if the draft cannot be created.
        """
        self.admission.check_draft(owner)
        try:
            folder = RunFolder.create(self._data, self._computers.draft(), owner)
        except OSError as error:
            why = error.strerror or error
            kind = NoRoom if error.errno in (errno.ENOSPC, errno.EDQUOT) else RunError
            raise kind(f"No run can be made: {why}. Make room on the studio's disk.") from error
        self.admission.made(folder)
        return self._registry.known(folder.id).folder.id

    def start(self, run_id: str, task: Task, model: Model, limits: Limits) -> None:
        """Start a draft's first round in its own thread.

        Raises:
            OverLimit: if the owner may start no more runs.
            RunError: if the run does not exist or has already started.
        """
        self._begin(
            run_id, task.text, lambda run, stop, turn: run.start(task, model, limits, stop, turn)
        )

    def follow_up(self, run_id: str, text: str, model: Model, limits: Limits) -> None:
        """Start another round from a message, in the same sandbox and conversation.

        Raises:
            OverLimit: if the owner may start no more runs.
            RunError: if the run does not exist or has a round in progress.
        """
        self._begin(
            run_id, text, lambda run, stop, turn: run.follow_up(text, model, limits, stop, turn)
        )

    def stop(self, run_id: str) -> None:
        """Request a run to stop; do nothing if it has no round in progress.

        Raises:
            RunError: if the run does not exist.
        """
        self._registry.known(run_id).stop.set()

    def begun(self, run_id: str) -> bool:
        """Return whether the run has received its task.

        Raises:
            RunError: if the run does not exist.
        """
        journal = self._registry.known(run_id).folder.journal
        return journal.exists() and journal.stat().st_size > 0

    def at_work(self) -> dict[str, Summary | None]:
        """Return the runs with a round in progress, or just about to start (None)."""
        working = [run for run in self._registry.all() if run.working]
        return {run.folder.id: run.summary() for run in working}

    def in_use(self) -> set[str]:
        """Return the runs that have a round in progress or followers."""
        known = self._registry.all()
        return {run.folder.id for run in known if run.working or run.feed.followed}

    @contextmanager
    def withdrawn(self, run_ids: Sequence[str], *, unseen: bool = False) -> Iterator[Sequence[str]]:
        """Block starting, finding and following runs while they are deleted.

        Args:
            run_ids: Their ids.
            unseen: Refuse if a run has followers.

        Raises:
            RunAtWork: if a run has a round in progress, or has followers and ``unseen`` is set.
            SandboxError: if a sandbox cannot be removed.
        """
        taken = self._registry.withdraw(run_ids, unseen=unseen)
        try:
            for run in taken:
                with run.resting:
                    if run.recorded is not None:
                        run.recorded.close()
            for sandbox in {each for run in run_ids for each in sandboxes_of(self._data, run)}:
                self._computers.discard(sandbox)
            yield run_ids
        finally:
            self._registry.restore(run_ids)
            for run in taken:
                run.feed.wake()

    def feed(self, run_id: str) -> Feed:
        """Return the stream for a follower of the run.

        Raises:
            RunError: if the run does not exist.
        """
        return self._registry.known(run_id).feed

    def folder(self, run_id: str) -> RunFolder:
        """Return the run's folder.

        Raises:
            RunError: if the run does not exist.
        """
        return self._registry.known(run_id).folder

    def record(self, run_id: str) -> RunFolder:
        """Return the run's folder for reading only, without counting as use.

        Raises:
            RunError: if the run does not exist.
        """
        return self._registry.record(run_id)

    def workspace(self, run_id: str) -> Workspace:
        """Return the run's files.

        Raises:
            RunError: if the run does not exist.
        """
        run = self._registry.known(run_id)
        return run.recorded.workspace if run.recorded else Workspace(run.folder.workspace)

    @contextmanager
    def settled(self, run_id: str) -> Iterator[Workspace]:
        """Yield the run's files; no sandbox takes them over during the block.

        Raises:
            RunError: if the run does not exist.
        """
        with self._registry.known(run_id).folder.settling:
            yield self.workspace(run_id)

    def tell(self, run_id: str, items: Sequence[Item]) -> None:
        """Record a user's file changes; a draft's files are listed when it starts.

        Raises:
            RunError: if the run does not exist.
        """
        run = self._registry.known(run_id)
        if run.recorded is not None:
            run.recorded.edited(items)
        elif self.begun(run_id):
            run.news.put(items)

    def past(self, run_id: str) -> Past:
        """Return the run's files as they were after each step.

        Raises:
            RunError: if the run does not exist.
        """
        return self._pasts.of(self.folder(run_id))

    def open_file(self, run_id: str, path: RelPath, step: int | None = None) -> BinaryIO:
        """Open a file of the run, as it is now or as it was after a step.

        Raises:
            RunError: if the run does not exist.
            WorkspaceError: if the file does not exist, or its content was not kept.
        """
        if step is None:
            return self.workspace(run_id).open_read(path)
        return self.past(run_id).open(path, step)

    def _begin(self, run_id: str, text: str, begin: _Begin) -> None:
        run = self._registry.known(run_id)
        self.admission.check(run.folder.owner, text)
        run.let_leave()
        with run.resting, self._registry.lock:
            if self._closing.is_set():
                raise RunError("The studio is being closed.")
            if run.working:
                raise RunError("This run is at work. Stop it, or wait for its end.")
            if run.recorded is None:
                run.recorded = RecordedRun(run.folder, self._computers, run.news)
                run.recorded.journal.follow(run.feed.wake)
            run.stop = Stop()
            turn = self.admission.enter(run.folder.owner, lambda: self._idle_beside(run))
            with ExitStack() as on_failure:
                on_failure.callback(turn.leave)
                opened = run.work(begin(run.recorded, run.stop, turn), turn)
                on_failure.pop_all()
        opened.result()

    def _idle_beside(self, run: LiveRun) -> Sequence[LiveRun]:
        """Return runs whose idle sandbox may be stopped for this run; none in plain mode."""
        if run.recorded is None or run.recorded.picture.mode == "plain":
            return []
        known = sorted(self._registry.all(), key=lambda run: run.used)
        return [run for run in known if run.idle]

    def tidy(self, now: float | None = None) -> None:
        """Stop idle sandboxes and remove unused data; see ``Housekeeping.tidy``."""
        self._house.tidy(now)
