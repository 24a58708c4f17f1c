"""Admission control: whether a run may be created, started, and executed now."""

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.errors import QuotaExceeded
from agent.events import Event
from agent.runs.folder import RunFolder
from agent.util.stop import Stop
from sandbox_ui.scheduling.queue import QueueEntry, RunQueue

MAX_DRAFTS = 50
"""Maximum number of drafts of one user that have no task yet."""

MAX_TEXT = 1_000_000
"""Maximum length of a task or message in characters; beyond it, use a file."""


class IdleRun(Protocol):
    """A run whose sandbox is running without a round in progress."""

    @property
    def owner(self) -> str:
        """The run's owner."""

    def stop_sandbox(self) -> None:
        """Stop the sandbox, unless a round has started in the meantime."""


class Admission:
    """Limits that a run must meet before it does anything. Thread-safe.

    ``check_quota`` gets the owner and the bytes about to be stored, and raises ``QuotaExceeded``.
    At ``max_sandboxes``, idle ones are stopped; a user may have as many as active runs, by default
    half of them.
    """

    def __init__(
        self,
        queue: RunQueue | None = None,
        check_quota: Callable[[str, int], None] = lambda _owner, _size: None,
        max_sandboxes: int = 1_000,
        max_sandboxes_per_user: int | None = None,
    ) -> None:
        self.queue = queue or RunQueue()
        self._check_quota = check_quota
        self.max_sandboxes = max_sandboxes
        self._max_sandboxes_per_user = max_sandboxes_per_user
        self._drafts: dict[str, list[RunFolder]] = {}
        self._lock = threading.Lock()
        self._stop_lock = threading.Lock()

    def check_draft(self, owner: str) -> None:
        """Check that a user may create another draft; call ``record_draft`` after creating it."""
        self._check_quota(owner, 0)
        with self._lock:
            drafts = [each for each in self._drafts.get(owner, ()) if _is_draft(each)]
            self._drafts[owner] = drafts
        if len(drafts) >= MAX_DRAFTS:
            raise QuotaExceeded(
                f"You already have {MAX_DRAFTS} drafts. Give one of them a task, "
                "or delete some under History."
            )

    def record_draft(self, folder: RunFolder) -> None:
        """Record a new draft."""
        with self._lock:
            self._drafts.setdefault(folder.owner, []).append(folder)

    def check_start(self, owner: str, text: str) -> None:
        """Check that a user may start or continue a run with this task or message."""
        self.check_text(text)
        self._check_quota(owner, 0)

    def check_space(self, owner: str, size: int) -> None:
        """Check that a user may store this many bytes more."""
        self._check_quota(owner, size)

    def check_text(self, text: str) -> None:
        """Check the length of a task or message."""
        if len(text) > MAX_TEXT:
            raise QuotaExceeded(
                f"A task or message may have at most {MAX_TEXT:,} characters; this one has "
                f"{len(text):,}. Upload the text as a file."
            )

    def enter(self, owner: str, idle_runs: Callable[[], Sequence[IdleRun]]) -> "AdmissionTicket":
        """Enter a run into the queue; it must ``leave`` when its round ends.

        ``idle_runs`` returns the runs with idle sandboxes, longest idle first.
        """
        return AdmissionTicket(
            self.queue.enter(owner), lambda: self._stop_idle_sandboxes(owner, idle_runs)
        )

    def max_sandboxes_of(self, owner: str) -> int:
        """Return how many running sandboxes a user may have."""
        limit = self._max_sandboxes_per_user or -(-self.max_sandboxes // 2)
        return max(limit, self.queue.max_active_of(owner))

    def _stop_idle_sandboxes(self, owner: str, idle_runs: Callable[[], Sequence[IdleRun]]) -> None:
        """Stop idle sandboxes if a limit would be exceeded: the user's own first."""
        with self._stop_lock:
            own = [run for run in idle_runs() if run.owner == owner]
            excess = len(own) + self.queue.count_active(owner) - self.max_sandboxes_of(owner)
            for run in own[: max(0, excess)]:
                run.stop_sandbox()
            runs = idle_runs()
            excess = len(runs) + self.queue.active_count - self.max_sandboxes
            for run in runs[: max(0, excess)]:
                run.stop_sandbox()


@dataclass(frozen=True)
class AdmissionTicket:
    """A run's place in the queue; makes a sandbox slot available once its turn comes."""

    entry: QueueEntry
    free_sandbox_slot: Callable[[], None]

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """See ``agent.runs.recorded_run.Ticket``."""
        admitted = yield from self.entry.wait(stop)
        if admitted:
            self.free_sandbox_slot()
        return admitted

    def leave(self) -> None:
        """Release the slot to the next run. Idempotent."""
        self.entry.leave()


def _is_draft(folder: RunFolder) -> bool:
    return folder.path.is_dir() and not folder.journal.exists()
