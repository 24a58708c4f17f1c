"""Admission control: whether a run may be created, started, and executed now."""

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.errors import OverLimit
from agent.events import Event
from agent.runs.folder import RunFolder
from agent.util.cancellation import Stop
from sandbox_ui.scheduling.queue import Line, Turn

MAX_DRAFTS = 50
"""Maximum number of drafts of one user that have no task yet."""

MAX_TEXT = 1_000_000
"""Maximum length of a task or message in characters; beyond it, use a file."""


class Idle(Protocol):
    """A run whose sandbox is running without a round in progress."""

    def rest(self) -> None:
        """Stop the sandbox, unless a round has started in the meantime."""


class Admission:
    """Limits that a run must meet before it does anything. Thread-safe.

    Args:
        line: Queue for the execution slots; unlimited by default.
        allow: Called with the owner before a run is created or started; raises ``OverLimit`` to
            refuse.
        sandboxes: Maximum number of running sandboxes; idle ones are stopped to free slots.
    """

    def __init__(
        self,
        line: Line | None = None,
        allow: Callable[[str], None] = lambda _: None,
        sandboxes: int = 1_000,
    ) -> None:
        self.line = line or Line()
        self._allow = allow
        self._sandboxes = sandboxes
        self._drafts: dict[str, list[RunFolder]] = {}
        self._lock = threading.Lock()
        self._room = threading.Lock()

    def check_draft(self, owner: str) -> None:
        """Check that a user may create another draft; call ``made`` after creating it.

        Raises:
            OverLimit: if the quota is used up, or the user has too many drafts without a task.
        """
        self._allow(owner)
        with self._lock:
            left = [each for each in self._drafts.get(owner, ()) if _is_draft(each)]
            self._drafts[owner] = left
        if len(left) >= MAX_DRAFTS:
            raise OverLimit(
                f"{MAX_DRAFTS} of your runs have no task yet. Give one of these drafts a task, "
                "or delete some: History lists them."
            )

    def made(self, folder: RunFolder) -> None:
        """Record a new draft."""
        with self._lock:
            self._drafts.setdefault(folder.owner, []).append(folder)

    def check(self, owner: str, text: str) -> None:
        """Check that a user may start or continue a run with this task or message.

        Raises:
            OverLimit: if the text is too long, or the user's quota is used up.
        """
        if len(text) > MAX_TEXT:
            raise OverLimit(
                f"A task or message has at most {MAX_TEXT:,} characters, and this has "
                f"{len(text):,}. Give the longer part as a file."
            )
        self._allow(owner)

    def enter(self, owner: str, idle: Callable[[], Sequence[Idle]]) -> "Place":
        """Enter a run into the queue; it must ``leave`` when its round ends.

        Args:
            owner: The run's owner.
            idle: Returns the runs with idle sandboxes, longest idle first.

        Raises:
            OverLimit: if too many runs are waiting.
        """
        return Place(self.line.enter(owner), lambda: self._make_room(idle))

    def _make_room(self, idle: Callable[[], Sequence[Idle]]) -> None:
        """Stop idle sandboxes if the limit would be exceeded."""
        with self._room:
            runs = idle()
            excess = len(runs) + self.line.working - self._sandboxes
            for run in runs[: max(0, excess)]:
                run.rest()


@dataclass(frozen=True)
class Place:
    """A run's place in the queue; makes a sandbox slot available once its turn comes."""

    turn: Turn
    make_room: Callable[[], None]

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """See ``agent.runs.recorder.Turn``."""
        came = yield from self.turn.wait(stop)
        if came:
            self.make_room()
        return came

    def leave(self) -> None:
        """Release the slot to the next run. Idempotent."""
        self.turn.leave()


def _is_draft(folder: RunFolder) -> bool:
    return folder.path.is_dir() and not folder.journal.exists()
