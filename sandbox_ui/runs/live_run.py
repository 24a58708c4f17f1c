"""One run in this process: its folder, its followers, its sandbox and its worker."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from agent.errors import StudioError
from agent.events import Event, SandboxReady
from agent.loop.steering import Steering
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun
from agent.runs.summary import Summary, summarize
from agent.runs.user_changes import UserChanges
from agent.util import clock
from agent.util.stop import Stop
from sandbox_ui.runs.feed import Feed
from sandbox_ui.scheduling.admission import AdmissionTicket

_EXIT_TIMEOUT_SECONDS = 60.0
"""Seconds that a worker may take after a round's end."""

_SUMMARY_SHARE = 0.02
"""Share of the time in which the summary of a run in progress may be computed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _KnownSummary:
    """A summary, the number of the round and whether it runs, and until when it will do."""

    summary: Summary
    round: tuple[int, bool]
    due: float


@dataclass
class LiveRun:
    """One run in this process; ``recorded`` while it has or may get a sandbox.

    Attributes:
        round_lock: Held by the thread that prepares and starts the next round.
        sandbox_seconds: Seconds of no use after which the sandbox is removed, 0 for the end of the
            round; None if it is stopped and kept as usual.
    """

    folder: RunFolder
    feed: Feed
    user_changes: UserChanges
    steering: Steering
    recorded: RecordedRun | None = None
    stop: Stop = field(default_factory=Stop)
    worker: threading.Thread | None = None
    sandbox_seconds: float | None = None
    last_used: float = field(default_factory=clock.steady_time)
    uses: int = 0
    round_lock: threading.RLock = field(default_factory=threading.RLock)
    sandbox_lock: threading.Lock = field(default_factory=threading.Lock)
    _summary: "_KnownSummary | None" = None
    _uses_before: int = 0

    @property
    def owner(self) -> str:
        """The run's owner."""
        return self.folder.owner

    @property
    def active(self) -> bool:
        """Whether a round is in progress."""
        return self.worker is not None and self.worker.is_alive()

    @property
    def unused(self) -> bool:
        """Whether it has no sandbox and was not requested since its last round began."""
        unchanged = self.uses == self._uses_before and not self.feed.has_followers
        return unchanged and self.recorded is None and not self.active

    @property
    def idle(self) -> bool:
        """Whether the sandbox is running without a round in progress."""
        recorded = self.recorded
        return not self.active and recorded is not None and recorded.has_sandbox

    def summary(self) -> Summary | None:
        """Return the list entry during a round, maybe some seconds old; None outside."""
        recorded = self.recorded
        if recorded is None:
            return None
        with recorded.lock:
            state = recorded.state
            if not state.rounds:
                return None
            round_ = len(state.rounds), state.is_running
            known, now = self._summary, time.monotonic()
            if known is None or known.round != round_ or now > known.due:
                summary = summarize(state)
                seconds = time.monotonic() - now
                known = _KnownSummary(summary, round_, now + seconds / _SUMMARY_SHARE)
                self._summary = known
            return replace(known.summary, state=state.state, steps=len(state.steps))

    def stop_sandbox(self) -> None:
        """Stop the sandbox, if there is one and no worker uses it, and detach the run's disk."""
        with self.sandbox_lock:
            if not self.active:
                self._release_sandbox()
                self._detach_disk()

    def detach_disk(self) -> None:
        """Detach the run's disk, unless something uses it; the next use attaches it again."""
        with self.sandbox_lock:
            if not self.active:
                self._detach_disk()

    def _detach_disk(self) -> None:
        """As ``detach_disk``; the caller holds ``sandbox_lock``, and no round can start."""
        if self.recorded is None or not self.recorded.has_sandbox:
            self.feed.detach_disk()

    def _release_sandbox(self) -> None:
        """Stop the sandbox and close the record; the caller holds ``sandbox_lock``."""
        try:
            self._stop_sandbox()
        finally:
            if self.recorded is not None and not self.recorded.has_pending_end:
                self.recorded = None

    def _stop_sandbox(self) -> None:
        """Stop the sandbox, or remove it if it is not kept; the caller holds ``sandbox_lock``."""
        if self.recorded is None:
            return
        try:
            self.recorded.stop_sandbox(keep=self.sandbox_seconds is None)
        except StudioError as error:
            _log.warning("The sandbox of run %s could not be stopped: %s", self.folder.id, error)

    def start_worker(
        self,
        events: Iterator[Event],
        ticket: AdmissionTicket,
        on_ended: Callable[[str], None],
    ) -> "Future[None]":
        """Run a round in its own thread; the result is done once it has started or failed."""
        started: Future[None] = Future()
        self._uses_before = self.uses
        self.worker = threading.Thread(
            target=self._run_round,
            args=(events, ticket, started, on_ended),
            name=f"run {self.folder.id}",
            daemon=True,
        )
        self.worker.start()
        return started

    def _run_round(
        self,
        events: Iterator[Event],
        ticket: AdmissionTicket,
        started: "Future[None]",
        on_ended: Callable[[str], None],
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
            try:
                if self.sandbox_seconds == 0:
                    with self.sandbox_lock:
                        self._stop_sandbox()
            finally:
                ticket.leave()
                on_ended(self.folder.id)
                with self.sandbox_lock:
                    recorded = self.recorded
                    followed = self.sandbox_seconds != 0 and self.feed.has_followers
                    if recorded and not recorded.has_sandbox and not followed:
                        self._release_sandbox()
                    self._detach_disk()
                self.last_used = clock.steady_time()

    def wait_for_exit(self) -> None:
        """Wait for a worker that has recorded the end of its round and is about to exit."""
        recorded, worker = self.recorded, self.worker
        if worker is None:
            return
        if recorded is not None:
            with recorded.lock:
                if recorded.state.is_running:
                    return
        worker.join(_EXIT_TIMEOUT_SECONDS)


def join_workers(runs: Iterable[LiveRun], seconds: float) -> None:
    """Wait for the workers of runs, for at most this many seconds in total."""
    end = time.monotonic() + seconds
    for run in runs:
        if run.worker is not None:
            run.worker.join(max(0.0, end - time.monotonic()))
