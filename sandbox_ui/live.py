"""One run as this process knows it: its folder, its followers, its sandbox, its worker."""

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

from agent import clock
from agent.errors import StudioError
from agent.events import Event, SandboxReady
from agent.folder import RunFolder
from agent.news import News
from agent.recorder import RecordedRun
from agent.stop import Stop
from agent.summary import Summary, summarize
from sandbox_ui.admission import Place
from sandbox_ui.feed import Feed

_LEAVING = 60.0
"""Seconds for what a worker does when the end is told: what a list says of the run is made."""

_log = logging.getLogger(__name__)


@dataclass
class LiveRun:
    """What is known of one run here; ``recorded`` while it has a sandbox or could have one."""

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
        """Whether a round of it goes on."""
        return self.worker is not None and self.worker.is_alive()

    @property
    def idle(self) -> bool:
        """Whether its sandbox runs, and nobody works in it."""
        recorded = self.recorded
        return not self.working and recorded is not None and recorded.has_sandbox

    def summary(self) -> Summary | None:
        """What a list says of it, while a round of it goes on; None just before the first."""
        assert self.recorded is not None
        with self.recorded.lock:
            picture = self.recorded.picture
            return summarize(picture) if picture.rounds else None

    def rest(self) -> None:
        """Stop its sandbox, if it has one, where no worker is at work in it."""
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
        """Play a round in a thread of its own.

        Returns:
            What is done when the round has begun, or holds why it could not begin.
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
        except Exception as error:  # told to whoever asked for the round
            if opened.done():
                raise
            opened.set_exception(error)
        finally:
            turn.leave()
            self.used = clock.steady()

    def let_leave(self) -> None:
        """Wait for a worker that has told the end of its round, which it does just before."""
        if self.recorded is None or self.worker is None:
            return
        with self.recorded.lock:
            ended = not self.recorded.picture.alive
        if ended:
            self.worker.join(_LEAVING)


def join(runs: Iterable[LiveRun], seconds: float) -> None:
    """Wait for the workers of runs, for so long in all."""
    end = time.monotonic() + seconds
    for run in runs:
        if run.worker is not None:
            run.worker.join(max(0.0, end - time.monotonic()))
