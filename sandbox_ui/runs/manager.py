"""Lifecycle of live runs: start, continue, stop, follow, shut down."""

import errno
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from agent.errors import RunActive, RunError, SteeringRefused, StorageFull, UsageError
from agent.events import Annotation, Event
from agent.fork.describe import ForkDescription, describe_fork
from agent.fork.fork import fork_run
from agent.history.indexing import OwnChanges
from agent.limits import Limits
from agent.loop.steering import NOT_WORKING, Steering
from agent.models.base import Model
from agent.run_fields import Pdfs
from agent.runs import recorded_run
from agent.runs.disk_usage import run_sandbox_ids
from agent.runs.event_recorder import EventRecorder, end_interrupted_rounds
from agent.runs.folder import Parent, RunFolder
from agent.runs.journal import Journal
from agent.runs.recorded_run import RecordedRun, Task
from agent.runs.state import MAX_ANNOTATION_CHARS, MAX_ANNOTATIONS
from agent.runs.summary import Summary
from agent.runs.user_changes import UserChange
from agent.sandbox.disk import volume
from agent.util.stop import Stop
from agent.util.text import replace_surrogates
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.past_files import FileVersions
from sandbox_ui.runs.drafts import DraftList
from sandbox_ui.runs.feed import Feed
from sandbox_ui.runs.live_run import LiveRun, join_workers
from sandbox_ui.runs.maintenance import IDLE_SECONDS, Maintenance
from sandbox_ui.runs.registry import Registry
from sandbox_ui.runs.version_cache import VersionCache
from sandbox_ui.sandbox_provider import StudioSandboxProvider
from sandbox_ui.scheduling.admission import Admission

_JOIN_TIMEOUT_SECONDS = 10.0
_CLOSE_THREADS = 8
GRACE_SECONDS = 5.0
"""Seconds that steps in progress have to finish when the application shuts down."""
CLOSED_MESSAGE = "The studio was closed before the run started."
_log = logging.getLogger(__name__)
RoundStarter = Callable[[RecordedRun, Stop, recorded_run.Ticket], Iterator[Event]]


class RunManager:
    """Runs of one data folder; this process holds the folder's lock."""

    def __init__(
        self,
        data: Path,
        provider: StudioSandboxProvider,
        admission: Admission | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._data = data
        self.admission = admission or Admission()
        self._provider = provider
        self._version_cache = VersionCache(data, provider.blobs)
        self._registry = Registry(data)
        self.own_changes = OwnChanges(data)
        self.draft_list = DraftList(data, self.own_changes)
        self._maintenance = Maintenance(
            data, self._registry, self.draft_list, provider, idle_seconds
        )
        self._closing = threading.Event()
        self._round_listeners: list[Callable[[str], None]] = []
        self._version_listeners: list[Callable[[str], None]] = []

    def on_round_ended(self, listener: Callable[[str], None]) -> None:
        """Call a function with a run's id whenever the worker of its round exits."""
        self._round_listeners.append(listener)

    def on_user_version(self, listener: Callable[[str], None]) -> None:
        """Call a function with a run's id when a version of a user's changes was recorded."""
        self._version_listeners.append(listener)

    def open(self) -> None:
        """Close rounds that an earlier process left open, and start maintenance."""
        end_interrupted_rounds(self._data)
        self._maintenance.open()

    def end_interrupted_round(self, run_id: str) -> None:
        """End a round that another process left open, unless it is this process's."""
        run = self._registry.get(run_id)
        with run.sandbox_lock:
            if not run.active and run.recorded is None:
                EventRecorder(run.folder).close()
        run.feed.notify()

    def close(self) -> None:
        """Give active steps a few seconds to finish, then stop the sandboxes; blocks."""
        self._closing.set()
        self._maintenance.close()
        runs = self._registry.all()
        for run in runs:
            run.stop.set_after_step(CLOSED_MESSAGE)
        self.admission.queue.close()
        join_workers(runs, GRACE_SECONDS)
        for run in runs:
            run.stop.set()
        join_workers(runs, _JOIN_TIMEOUT_SECONDS)
        with ThreadPoolExecutor(_CLOSE_THREADS) as executor:
            list(executor.map(LiveRun.stop_sandbox, runs))

    def create_draft(
        self, owner: str = "", comparison: str = "", parent: Parent | None = None
    ) -> str:
        """Create a run without a task; return its id. Unused, it expires in a week."""
        self.admission.check_draft(owner)
        workspace = ""
        try:
            workspace = self._provider.create_workspace()
            with self.own_changes.made():
                folder = RunFolder.create(self._data, workspace, owner, comparison, parent=parent)
        except OSError as error:
            if workspace:
                volume.discard(self._data / "sandboxes" / workspace)
            reason = error.strerror or error
            error_type = StorageFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else RunError
            raise error_type(
                f"The run cannot be created: {reason}. Free some space on the studio's disk."
            ) from error
        self.draft_list.add(folder.id)
        self.admission.record_draft(folder)
        return self._registry.get(folder.id).folder.id

    def describe_fork(self, run_id: str, step: int) -> ForkDescription:
        """Return what a fork of a run after a step would start with, and lack."""
        return describe_fork(self._with_versions(run_id), step, self._provider.blobs)

    def fork(self, run_id: str, step: int, owner: str = "", **changes: Any) -> str:
        """Return the id of a new fork, for ``follow_up``; at step 0 a draft, for ``start``."""
        self.admission.check_draft(owner)
        parent = self._with_versions(run_id)
        self._require_own(parent)
        create = self._provider.create_workspace
        fork = fork_run(
            parent, step, self._provider.blobs, create, owner=owner,
            check_space=lambda size: self.admission.check_space(owner, size), **changes,
        )  # fmt: skip
        if not step:
            self.admission.record_draft(fork)
        return self._registry.get(fork.id).folder.id

    @contextmanager
    def next_round(self, run_id: str) -> Iterator[None]:
        """Hold a run's next round for this thread, which prepares and starts it in the block."""
        lock = self._registry.get(run_id).round_lock
        if not lock.acquire(blocking=False):
            raise RunActive("Another message to this run is being sent. Wait for its answer.")
        try:
            yield
        finally:
            lock.release()

    def start(
        self,
        run_id: str,
        task: Task,
        model: Model,
        limits: Limits,
        sandbox_seconds: float | None = None,
    ) -> None:
        """Start a draft's first round; ``sandbox_seconds`` is that of ``LiveRun``."""
        self.start_events(
            run_id,
            task.text,
            lambda run, stop, ticket: run.start(task, model, limits, stop, ticket),
            sandbox_seconds,
        )

    def follow_up(
        self,
        run_id: str,
        text: str,
        model: Model,
        limits: Limits,
        sandbox_seconds: float | None = None,
        pictures: Sequence[str] | None = None,
        pdfs: Pdfs = "auto",
    ) -> None:
        """Start another round from a message; see ``RecordedRun.follow_up``."""

        def start_round(
            run: RecordedRun, stop: Stop, ticket: recorded_run.Ticket
        ) -> Iterator[Event]:
            return run.follow_up(text, model, limits, stop, ticket, pictures=pictures, pdfs=pdfs)

        self.start_events(run_id, text, start_round, sandbox_seconds)

    def start_events(
        self,
        run_id: str,
        text: str,
        start_round: RoundStarter,
        sandbox_seconds: float | None = None,
    ) -> None:
        """Start a round whose events a function makes, such as a replay's."""
        run = self._registry.get(run_id)
        self._require_own(run.folder)
        self.admission.check_start(run.folder.owner, text)
        run.wait_for_exit()
        with self.next_round(run_id), run.sandbox_lock, self._registry.lock:
            if self._closing.is_set():
                raise RunError("The studio is shutting down.")
            if run.active or self._registry.get(run_id) is not run:
                raise RunActive("This run is in progress. Stop it or wait until it ends.")
            if run.recorded is None:
                run.recorded = RecordedRun(
                    run.folder, self._provider, run.user_changes, steering=run.steering
                )
                run.recorded.journal.subscribe(run.feed.notify)
            run.stop, run.sandbox_seconds = Stop(), sandbox_seconds
            ticket = self.admission.enter(run.folder.owner, lambda: self._idle_runs_except(run))
            with ExitStack() as on_failure:
                on_failure.callback(ticket.leave)
                events = start_round(run.recorded, run.stop, ticket)
                started = run.start_worker(events, ticket, self._report_end)
                self._registry.add_active(run)
                on_failure.pop_all()
        started.result()

    @property
    def contents(self) -> BlobStore:
        """The store of file contents."""
        return self._provider.blobs

    def stop(self, run_id: str, reason: str = "") -> None:
        """Request a run to stop; without a ``reason``, the user pressed Stop."""
        stop = self._registry.get(run_id).stop
        stop.reason = stop.reason or reason
        stop.set()

    def steering(self, run_id: str) -> Steering:
        """Return how the run is steered while it works; only its rules matter before."""
        return self._registry.get(run_id).steering

    def active_steering(self, run_id: str, message: str = "") -> Steering:
        """Return how a run with a round in progress is steered; ``message`` is to be sent."""
        run = self._registry.get(run_id)
        self.admission.check_text(message)
        if not run.active:
            raise SteeringRefused(NOT_WORKING)
        return run.steering

    def has_started(self, run_id: str) -> bool:
        """Return whether the run has received its task."""
        journal = self._registry.get(run_id).folder.journal
        return journal.exists() and journal.stat().st_size > 0

    def active_runs(self) -> dict[str, Summary | None]:
        """Return runs in progress, or about to start (None), not those whose end was reported."""
        summaries = [(run, run.summary()) for run in self._registry.active()]
        return {run.folder.id: each for run, each in summaries if each or run.recorded is not None}

    def active_ids(self) -> set[str]:
        """Return the ids of the runs with a round in progress."""
        return {run.folder.id for run in self._registry.active()}

    def in_use(self) -> set[str]:
        """Return the runs that have a round in progress or followers."""
        runs = self._registry.all()
        return {run.folder.id for run in runs if run.active or run.feed.has_followers}

    @contextmanager
    def blocked_for_deletion(
        self, run_ids: Sequence[str], *, refuse_followed: bool = False
    ) -> Iterator[Sequence[str]]:
        """Block starting, finding and following inactive runs while they are deleted."""
        live_runs = self._registry.block(run_ids, refuse_followed=refuse_followed)
        try:
            for run in live_runs:
                with run.sandbox_lock:
                    if run.recorded is not None:
                        run.recorded.close()
            for sandbox in {each for run in run_ids for each in run_sandbox_ids(self._data, run)}:
                self._provider.remove_container(sandbox)
            yield run_ids
        finally:
            self._registry.unblock(run_ids)
            for run in live_runs:
                run.feed.notify()

    def feed(self, run_id: str) -> Feed:
        """Return the stream for a follower of the run."""
        return self._registry.get(run_id).feed

    def folder(self, run_id: str) -> RunFolder:
        """Return the run's folder."""
        return self._registry.get(run_id).folder

    def peek_folder(self, run_id: str) -> RunFolder:
        """Return the run's folder for reading only, without counting as use."""
        return self._registry.peek_folder(run_id)

    def workspace(self, run_id: str) -> Workspace:
        """Return the run's files."""
        run = self._registry.get(run_id)
        return run.recorded.workspace if run.recorded else run.folder.open_workspace()

    @contextmanager
    def locked_workspace(self, run_id: str) -> Iterator[Workspace]:
        """Yield the run's files; no sandbox takes them over during the block."""
        with self._registry.get(run_id).folder.workspace_lock:
            yield self.workspace(run_id)

    def record_user_changes(self, run_id: str, changes: Sequence[UserChange]) -> None:
        """Record a user's file changes; a draft's files are listed when it starts."""
        run = self._registry.get(run_id)
        if run.recorded is not None:
            run.recorded.record_user_changes(changes)
            for listener in self._version_listeners:
                listener(run_id)
        elif self.has_started(run_id):
            run.user_changes.add(changes)

    def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Add an annotation to a run's record, during a round or after it."""
        text = replace_surrogates(annotation.text.strip())
        if not 0 < len(text) <= MAX_ANNOTATION_CHARS:
            raise UsageError(f"Enter a text of 1 to {MAX_ANNOTATION_CHARS:,} characters.")
        run = self._registry.get(run_id)
        self._require_own(run.folder)
        if len(run.feed.step(annotation.step).annotations) >= MAX_ANNOTATIONS:
            raise UsageError(f"Step {annotation.step} has {MAX_ANNOTATIONS} annotations already.")
        annotation = replace(annotation, text=text)
        with run.sandbox_lock:  # which opens and closes the record
            if run.recorded is not None:
                run.recorded.annotate(annotation)
            else:
                with closing(Journal(run.folder.journal)) as journal:
                    journal.append(annotation)
        run.feed.notify()

    def file_versions(self, run_id: str) -> FileVersions:
        """Return the run's files as they were after each step."""
        return self._version_cache.get(self._with_versions(run_id))

    def _with_versions(self, run_id: str) -> RunFolder:
        """Return the run's folder once the files of its last step are stored."""
        run = self._registry.get(run_id)
        if run.recorded is not None:
            run.recorded.wait_for_version()
        return run.folder

    def open_file(self, run_id: str, path: RelPath, step: int | None = None) -> BinaryIO:
        """Open a file of the run, as it is now or as it was after a step."""
        if step is None:
            return self.workspace(run_id).open_read(path)
        return self.file_versions(run_id).open(path, step)

    def _require_own(self, folder: RunFolder) -> None:
        if folder.data != self._data:
            raise RunActive(
                "Another process uses the folder of this run. Wait until that has ended."
            )

    def _report_end(self, run_id: str) -> None:
        for listener in self._round_listeners:
            listener(run_id)

    def _idle_runs_except(self, run: LiveRun) -> Sequence[LiveRun]:
        """Return runs whose idle sandbox may be stopped for this run; none in plain mode."""
        if run.recorded is None or run.recorded.state.mode == "plain":
            return []
        runs = sorted(self._registry.all(), key=lambda run: run.last_used)
        return [run for run in runs if run.idle]

    def run_maintenance(self, now: float | None = None) -> None:
        """Stop idle sandboxes and remove unused data; see ``Maintenance.run_once``."""
        self._maintenance.run_once(now)
