"""One run in this process: its folder, its followers, its sandbox and its worker."""

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

from agent.errors import StudioError
from agent.events import Event, SandboxReady
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun
from agent.runs.summary import Summary, summarize
from agent.runs.user_changes import UserChanges
from agent.util import clock
from agent.util.cancellation import Stop
from sandbox_ui.runs.feed import Feed
from sandbox_ui.scheduling.admission import AdmissionTicket

_EXIT_TIMEOUT_SECONDS = 60.0
"""Seconds that a worker may take after a round's end, to write the summary."""

_log = logging.getLogger(__name__)


@dataclass
class LiveRun:
    """One run in this process; ``recorded`` while it has or may get a sandbox."""

    folder: RunFolder
    feed: Feed
    user_changes: UserChanges
    recorded: RecordedRun | None = None
    stop: Stop = field(default_factory=Stop)
    worker: threading.Thread | None = None
    last_used: float = field(default_factory=clock.steady_time)
    sandbox_lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def active(self) -> bool:
        """Whether a round is in progress."""
        return self.worker is not None and self.worker.is_alive()

    @property
    def idle(self) -> bool:
        """Whether the sandbox is running without a round in progress."""
        recorded = self.recorded
        return not self.active and recorded is not None and recorded.has_sandbox

    def summary(self) -> Summary | None:
        """Return the list entry during a round; None until the round has started."""
        assert self.recorded is not None
        with self.recorded.lock:
            state = self.recorded.state
            return summarize(state) if state.rounds else None

    def stop_sandbox(self) -> None:
        """Stop the sandbox, if there is one and no worker uses it."""
        with self.sandbox_lock:
            recorded = None if self.active else self.recorded
            if recorded is None:
                return
            if not recorded.has_pending_end:
                self.recorded = None
            try:
                recorded.stop_sandbox()
            except StudioError as error:
                _log.warning(
                    "The sandbox of run %s could not be stopped: %s", self.folder.id, error
                )

    def start_worker(self, events: Iterator[Event], ticket: AdmissionTicket) -> "Future[None]":
        """Run a round in its own thread.

        Returns:
            A future that is done once the round has started, or holds the error that prevented it.
        """
        started: Future[None] = Future()
        self.worker = threading.Thread(
            target=self._run_round,
            args=(events, ticket, started),
            name=f"run {self.folder.id}",
            daemon=True,
        )
        self.worker.start()
        return started

    def _run_round(
        self, events: Iterator[Event], ticket: AdmissionTicket, started: "Future[None]"
    ) -> None:
        try:
            for event in events:
                if not started.done():
                    started.set_result(None)
                if isinstance(event, SandboxReady):
                    self.feed.update_watcher()
        except Exception as error:  # raised to the caller that requested the round
            if started.done():
                raise
            started.set_exception(error)
        finally:
            ticket.leave()
            self.last_used = clock.steady_time()

    def wait_for_exit(self) -> None:
        """Wait for a worker that has recorded the end of its round and is about to exit."""
        if self.recorded is None or self.worker is None:
            return
        with self.recorded.lock:
            ended = not self.recorded.state.is_running
        if ended:
            self.worker.join(_EXIT_TIMEOUT_SECONDS)


def join_workers(runs: Iterable[LiveRun], seconds: float) -> None:
    """Wait for the workers of runs, for at most this many seconds in total."""
    end = time.monotonic() + seconds
    for run in runs:
        if run.worker is not None:
            run.worker.join(max(0.0, end - time.monotonic()))
