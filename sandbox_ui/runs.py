"""The runs that are alive: begin, go on, stop, be followed, come to an end."""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from agent import recorder
from agent.errors import RunAtWork, RunError, StudioError
from agent.events import Event, SandboxReady
from agent.folder import RunFolder
from agent.meter import Limits
from agent.models.base import Model
from agent.news import Item, News
from agent.recorder import RecordedRun, Task, close_interrupted
from agent.stop import Stop
from agent.summary import Summary, summarize
from agent.workspace.files import Workspace
from agent.workspace.past import Past
from agent.workspace.paths import RelPath
from sandbox_ui.feed import Feed
from sandbox_ui.pasts import Pasts

DRAFT_SECONDS = 24 * 3600.0
IDLE_SECONDS = 30 * 60.0
_PAUSE = 60.0
_PATIENCE = 10.0
_LEAVING = 1.0
_log = logging.getLogger(__name__)
_Begin = Callable[[RecordedRun, Stop], Iterator[Event]]


class Computers(recorder.Computers, Protocol):
    """Where sandboxes come from, and the folders of those to come."""

    def draft(self) -> str:
        """Make a sandbox's folder with an empty workspace; returns the sandbox's id."""

    def empty(self, sandbox_id: str) -> None:
        """Remove what is in a sandbox's workspace and this process's user may not remove.

        Raises:
            StudioError: it cannot be done.
        """


@dataclass
class _Run:
    """What is known of one run here; ``recorded`` while it has a sandbox or could have one."""

    folder: RunFolder
    feed: Feed
    news: News
    recorded: RecordedRun | None = None
    stop: Stop = field(default_factory=Stop)
    worker: threading.Thread | None = None
    used: float = field(default_factory=time.time)

    @property
    def working(self) -> bool:
        return self.worker is not None and self.worker.is_alive()

    def summary(self) -> Summary | None:
        """What a list says of it, while a round of it goes on; None just before the first."""
        assert self.recorded is not None
        with self.recorded.lock:
            picture = self.recorded.picture
            return summarize(picture) if picture.rounds else None

    def let_leave(self) -> None:
        """Wait for a worker that has told the end of its round, which it does just before."""
        if self.recorded is None or self.worker is None:
            return
        with self.recorded.lock:
            ended = not self.recorded.picture.alive
        if ended:
            self.worker.join(_LEAVING)


class Runs:
    """The runs of one data folder, which this process holds the lock of.

    Args:
        data: The data folder.
        computers: Where sandboxes come from.
    """

    def __init__(self, data: Path, computers: Computers) -> None:
        self._data = data
        self._computers = computers
        self._pasts = Pasts(computers.blobs)
        self._runs: dict[str, _Run] = {}
        self._lock = threading.Lock()
        self._withdrawn: set[str] = set()
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep_house, name="housekeeping", daemon=True)

    def open(self) -> None:
        """Close what an earlier process left alive, and begin to keep house."""
        close_interrupted(self._data, self._computers)
        self._keeper.start()

    def close(self) -> None:
        """Stop all runs and end their sandboxes; returns when that is done."""
        self._closing.set()
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.stop.set()
        for run in runs:
            if run.worker is not None:
                run.worker.join(_PATIENCE)
            if run.recorded is not None:
                run.recorded.close()

    def create_draft(self) -> str:
        """A run that has not begun, with a workspace to put files into; returns its id.

        It goes by itself when it is not used for a day.
        """
        return RunFolder.create(self._data, self._computers.draft()).id

    def start(self, run_id: str, task: Task, model: Model, limits: Limits) -> None:
        """Begin a draft's first round, in a thread of its own.

        Raises:
            RunError: there is no such run, or it has begun already.
        """
        self._begin(run_id, lambda run, stop: run.start(task, model, limits, stop))

    def follow_up(self, run_id: str, text: str, model: Model, limits: Limits) -> None:
        """Another round after a message, in the same sandbox and conversation.

        Raises:
            RunError: there is no such run, or a round of it is going on.
        """
        self._begin(run_id, lambda run, stop: run.follow_up(text, model, limits, stop))

    def stop(self, run_id: str) -> None:
        """Ask a run to stop; one that is not at work is left as it is.

        Raises:
            RunError: there is no such run.
        """
        self._known(run_id).stop.set()

    def begun(self, run_id: str) -> bool:
        """Whether the run has had its task.

        Raises:
            RunError: there is no such run.
        """
        journal = self._known(run_id).folder.journal
        return journal.exists() and journal.stat().st_size > 0

    def at_work(self) -> dict[str, Summary | None]:
        """The runs that a round goes on in; None for one just about to begin."""
        with self._lock:
            working = {key: run for key, run in self._runs.items() if run.working}
        return {key: run.summary() for key, run in working.items()}

    @contextmanager
    def withdrawn(self, run_ids: Sequence[str]) -> Iterator[Sequence[str]]:
        """Runs that are to be deleted in the block: nobody begins, finds or follows them.

        Raises:
            RunAtWork: one of them is at work.
            SandboxError: the sandbox of one cannot be ended.
        """
        taken = self._take_out(run_ids)
        try:
            for run in taken:
                if run.recorded is not None:
                    run.recorded.close()
            yield run_ids
        finally:
            with self._lock:
                self._withdrawn.difference_update(run_ids)
            for run in taken:
                run.feed.wake()

    def feed(self, run_id: str) -> Feed:
        """What a follower of the run reads.

        Raises:
            RunError: there is no such run.
        """
        return self._known(run_id).feed

    def folder(self, run_id: str) -> RunFolder:
        """The run's folder.

        Raises:
            RunError: there is no such run.
        """
        return self._known(run_id).folder

    def workspace(self, run_id: str) -> Workspace:
        """The run's files.

        Raises:
            RunError: there is no such run.
        """
        run = self._known(run_id)
        return run.recorded.workspace if run.recorded else Workspace(run.folder.workspace)

    @contextmanager
    def settled(self, run_id: str) -> Iterator[Workspace]:
        """The run's files for the block, in which no sandbox takes them over.

        Raises:
            RunError: there is no such run.
        """
        with self._known(run_id).folder.settling:
            yield self.workspace(run_id)

    def tell(self, run_id: str, items: Iterable[Item]) -> None:
        """Let the model know what a person did to the files; a draft's are listed anyway.

        Raises:
            RunError: there is no such run.
        """
        run = self._known(run_id)
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

    def _known(self, run_id: str) -> _Run:
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                if run_id in self._withdrawn:
                    raise RunError("This run is being deleted.")
                folder = RunFolder.open(self._data, run_id)
                news = News(folder.path / recorder.NEWS)
                run = self._runs[run_id] = _Run(folder, Feed(folder), news)
            run.used = time.time()
            return run

    def _take_out(self, run_ids: Sequence[str]) -> Sequence[_Run]:
        """Forget runs that nobody works in; those of them that were known."""
        with self._lock:
            taken = [self._runs[each] for each in run_ids if each in self._runs]
        for run in taken:
            run.let_leave()
        with self._lock:
            if any(run.working for run in taken):
                raise RunAtWork("A run that is at work cannot be deleted. Stop it first.")
            self._withdrawn.update(run_ids)
            for run in taken:
                self._runs.pop(run.folder.id, None)
        return taken

    def _begin(self, run_id: str, begin: _Begin) -> None:
        run = self._known(run_id)
        run.let_leave()
        with self._lock:
            if self._closing.is_set():
                raise RunError("The studio is being closed.")
            if run.working:
                raise RunError("This run is at work. Stop it, or wait for its end.")
            if run.recorded is None:
                run.recorded = RecordedRun(run.folder, self._computers, run.news)
                run.recorded.journal.follow(run.feed.wake)
            run.stop = Stop()
            events = begin(run.recorded, run.stop)
            run.worker = threading.Thread(
                target=self._drive, args=(run, events), name=f"run {run_id}", daemon=True
            )
            run.worker.start()

    def _drive(self, run: _Run, events: Iterator[Event]) -> None:
        for event in events:
            if isinstance(event, SandboxReady):
                run.feed.watch()
        run.used = time.time()

    def _keep_house(self) -> None:
        while not self._closing.wait(_PAUSE):
            try:
                self.tidy()
            except (OSError, StudioError):
                _log.exception("Tidying up failed; it is tried again in a minute.")

    def tidy(self, now: float | None = None) -> None:
        """End the sandboxes of runs that rest, and remove drafts that nobody used.

        Args:
            now: Seconds since the epoch; the present by default.
        """
        now = time.time() if now is None else now
        with self._lock:
            for run in list(self._runs.values()):
                self._rest(run, now)
        for folder in RunFolder.all(self._data):
            with suppress(OSError):
                Workspace(folder.workspace).staging.tidy(now, alone=False)
            if now - folder.created > DRAFT_SECONDS and not folder.journal.exists():
                self._remove(folder)

    def _rest(self, run: _Run, now: float) -> None:
        if now - run.used <= IDLE_SECONDS or run.working:
            return
        if run.recorded is not None:
            run.recorded.close()
            run.recorded = None
        if not run.feed.followed:
            del self._runs[run.folder.id]

    def _remove(self, folder: RunFolder) -> None:
        with self._lock:
            self._runs.pop(folder.id, None)
        shutil.rmtree(folder.sandbox_folder, ignore_errors=True)
        shutil.rmtree(folder.path, ignore_errors=True)
