"""The runs that are alive: begin, go on, stop, be followed, come to an end."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from agent import recorder
from agent.errors import RunError
from agent.events import Event
from agent.folder import RunFolder
from agent.meter import Limits
from agent.models.base import Model
from agent.news import Item
from agent.record import close_interrupted
from agent.recorder import RecordedRun, Task
from agent.removal import sandboxes_of
from agent.stop import Stop
from agent.summary import Summary
from agent.workspace.files import Workspace
from agent.workspace.past import Past
from agent.workspace.paths import RelPath
from sandbox_ui.admission import Admission
from sandbox_ui.feed import Feed
from sandbox_ui.housekeeping import IDLE_SECONDS, Housekeeping, Rests
from sandbox_ui.live import LiveRun, join
from sandbox_ui.pasts import Pasts
from sandbox_ui.registry import Registry

_PATIENCE = 10.0
_HANDS = 8
GRACE = 5.0
"""Seconds that steps under way have to end when the application is told to."""
CLOSED = "The studio was closed meanwhile."
_log = logging.getLogger(__name__)
_Begin = Callable[[RecordedRun, Stop, recorder.Turn], Iterator[Event]]


class Computers(recorder.Computers, Rests, Protocol):
    """Where sandboxes come from, and the folders of those to come."""

    def draft(self) -> str:
        """Make a sandbox's folder with an empty workspace; returns the sandbox's id."""

    def empty(self, sandbox_id: str) -> None:
        """Remove what is in a sandbox's workspace and this process's user may not remove.

        Raises:
            StudioError: it cannot be done.
        """

    def discard(self, sandbox_id: str) -> None:
        """Remove what is kept of a sandbox that rests, but for its workspace."""


class Runs:
    """The runs of one data folder, which this process holds the lock of.

    Args:
        data: The data folder.
        computers: Where sandboxes come from.
        admission: What limits how many may be at work; by default nothing does.
        idle: Seconds after which the sandbox of a run that nobody uses is stopped.
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
        """Close what an earlier process left alive, and begin to keep house."""
        close_interrupted(self._data)
        self._house.open()

    def close(self) -> None:
        """Let the steps under way end, for a moment, and stop the sandboxes; then it returns.

        Runs that this cuts off end as stopped, with the reason; a message goes on with them.
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
        """A run that has not begun, with a workspace to put files into; returns its id.

        It goes by itself when it is not used for a day.

        Args:
            owner: The id of the person whose it is; empty for the operator.

        Raises:
            OverLimit: the person has no room for another.
            RunError: the disk has none.
        """
        self.admission.check_draft(owner)
        try:
            folder = RunFolder.create(self._data, self._computers.draft(), owner)
        except OSError as error:
            why = error.strerror or error
            raise RunError(f"No run can be made: {why}. Make room on the studio's disk.") from error
        self.admission.made(folder)
        return self._registry.known(folder.id).folder.id

    def start(self, run_id: str, task: Task, model: Model, limits: Limits) -> None:
        """Begin a draft's first round, in a thread of its own.

        Raises:
            OverLimit: the person may begin no more.
            RunError: there is no such run, or it has begun already.
        """
        self._begin(
            run_id, task.text, lambda run, stop, turn: run.start(task, model, limits, stop, turn)
        )

    def follow_up(self, run_id: str, text: str, model: Model, limits: Limits) -> None:
        """Another round after a message, in the same sandbox and conversation.

        Raises:
            OverLimit: the person may begin no more.
            RunError: there is no such run, or a round of it is going on.
        """
        self._begin(
            run_id, text, lambda run, stop, turn: run.follow_up(text, model, limits, stop, turn)
        )

    def stop(self, run_id: str) -> None:
        """Ask a run to stop; one that is not at work is left as it is.

        Raises:
            RunError: there is no such run.
        """
        self._registry.known(run_id).stop.set()

    def begun(self, run_id: str) -> bool:
        """Whether the run has had its task.

        Raises:
            RunError: there is no such run.
        """
        journal = self._registry.known(run_id).folder.journal
        return journal.exists() and journal.stat().st_size > 0

    def at_work(self) -> dict[str, Summary | None]:
        """The runs that a round goes on in; None for one just about to begin."""
        working = [run for run in self._registry.all() if run.working]
        return {run.folder.id: run.summary() for run in working}

    def in_use(self) -> set[str]:
        """The runs that somebody works in or looks at."""
        known = self._registry.all()
        return {run.folder.id for run in known if run.working or run.feed.followed}

    @contextmanager
    def withdrawn(self, run_ids: Sequence[str], *, unseen: bool = False) -> Iterator[Sequence[str]]:
        """Runs that are to be deleted in the block: nobody begins, finds or follows them.

        Args:
            run_ids: Their ids.
            unseen: Only those that nobody looks at.

        Raises:
            RunAtWork: one of them is at work, or is looked at and must not be.
            SandboxError: the sandbox of one cannot be ended.
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
        """What a follower of the run reads.

        Raises:
            RunError: there is no such run.
        """
        return self._registry.known(run_id).feed

    def folder(self, run_id: str) -> RunFolder:
        """The run's folder.

        Raises:
            RunError: there is no such run.
        """
        return self._registry.known(run_id).folder

    def record(self, run_id: str) -> RunFolder:
        """The run's folder, to be read only: the run does not count as used.

        Raises:
            RunError: there is no such run.
        """
        return self._registry.record(run_id)

    def workspace(self, run_id: str) -> Workspace:
        """The run's files.

        Raises:
            RunError: there is no such run.
        """
        run = self._registry.known(run_id)
        return run.recorded.workspace if run.recorded else Workspace(run.folder.workspace)

    @contextmanager
    def settled(self, run_id: str) -> Iterator[Workspace]:
        """The run's files for the block, in which no sandbox takes them over.

        Raises:
            RunError: there is no such run.
        """
        with self._registry.known(run_id).folder.settling:
            yield self.workspace(run_id)

    def tell(self, run_id: str, items: Iterable[Item]) -> None:
        """Let the model know what a person did to the files; a draft's are listed anyway.

        Raises:
            RunError: there is no such run.
        """
        run = self._registry.known(run_id)
        if run.recorded is not None or self.begun(run_id):
            run.news.put(items)

    def past(self, run_id: str) -> Past:
        """The run's files as they were after its steps.

        Raises:
            RunError: there is no such run.
        """
        return self._pasts.of(self.folder(run_id))

    def open_file(self, run_id: str, path: RelPath, step: int | None = None) -> BinaryIO:
        """A file of the run, as it is now or as it was after a step.

        Raises:
            RunError: there is no such run.
            WorkspaceError: the file is not there, or was not kept.
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
        """The runs that could give their sandbox up for this one; none where it needs none."""
        if run.recorded is None or run.recorded.picture.mode == "plain":
            return []
        known = sorted(self._registry.all(), key=lambda run: run.used)
        return [run for run in known if run.idle]

    def tidy(self, now: float | None = None) -> None:
        """Stop idle sandboxes, remove what nobody used for long; see ``Housekeeping.tidy``."""
        self._house.tidy(now)
