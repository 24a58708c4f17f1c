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
from agent.runs.recorder import RecordedRun
from agent.runs.summary import Summary, summarize
from agent.runs.user_changes import News
from agent.util import clock
from agent.util.cancellation import Stop
from sandbox_ui.runs.feed import Feed
from sandbox_ui.scheduling.admission import Place

_LEAVING = 60.0
"""Seconds that a worker may take after a round's end, to write the summary."""

_log = logging.getLogger(__name__)


@dataclass
class LiveRun:
    """One run in this process; ``recorded`` while it has or may get a sandbox."""

    folder: RunFolder
    feed: Feed
    news: News
    recorded: RecordedRun | None = None
    stop: Stop = field(default_factory=Stop)
    worker: threading.Thread | None = None
    used: float = field(default_factory=clock.steady)
    resting: threading.Lock = field(default_factory=threading.Lock)

    @property
    def working(self) -> bool:
        """Whether a round is in progress."""
        return self.worker is not None and self.worker.is_alive()

    @property
    def idle(self) -> bool:
        """Whether the sandbox is running without a round in progress."""
        recorded = self.recorded
        return not self.working and recorded is not None and recorded.has_sandbox

    def summary(self) -> Summary | None:
        """Return the list entry during a round; None until the round has started."""
        assert self.recorded is not None
        with self.recorded.lock:
            picture = self.recorded.picture
            return summarize(picture) if picture.rounds else None

    def rest(self) -> None:
        """Stop the sandbox, if there is one and no worker uses it."""
        with self.resting:
            recorded = None if self.working else self.recorded
            if recorded is None:
                return
            if not recorded.owing:
                self.recorded = None
            try:
                recorded.rest()
            except StudioError as error:
                _log.warning("The sandbox of run %s: %s", self.folder.id, error)

    def work(self, events: Iterator[Event], turn: Place) -> "Future[None]":
        """Run a round in its own thread.

        Returns:
            A future that is done once the round has started, or holds the error that prevented it.
        """
        opened: Future[None] = Future()
        self.worker = threading.Thread(
            target=self._play,
            args=(events, turn, opened),
            name=f"run {self.folder.id}",
            daemon=True,
        )
        self.worker.start()
        return opened

    def _play(self, events: Iterator[Event], turn: Place, opened: "Future[None]") -> None:
        try:
            for event in events:
                if not opened.done():
                    opened.set_result(None)
                if isinstance(event, SandboxReady):
                    self.feed.watch()
        except Exception as error:  # raised to the caller that requested the round
            if opened.done():
                raise
            opened.set_exception(error)
        finally:
            turn.leave()
            self.used = clock.steady()

    def let_leave(self) -> None:
        """Wait for a worker that has recorded the end of its round and is about to exit."""
        if self.recorded is None or self.worker is None:
            return
        with self.recorded.lock:
            ended = not self.recorded.picture.alive
        if ended:
            self.worker.join(_LEAVING)


def join(runs: Iterable[LiveRun], seconds: float) -> None:
    """Wait for the workers of runs, for at most this many seconds in total."""
    end = time.monotonic() + seconds
    for run in runs:
        if run.worker is not None:
            run.worker.join(max(0.0, end - time.monotonic()))
