"""Whether a run may be made, be begun, and be at work now."""

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.errors import OverLimit
from agent.events import Event
from agent.folder import RunFolder
from agent.stop import Stop
from sandbox_ui.line import Line, Turn

MAX_DRAFTS = 50
"""Drafts of one person that may wait for their task."""

MAX_TEXT = 1_000_000
"""Characters of a task or message; what is longer is no prompt but a file."""


class Idle(Protocol):
    """A run whose sandbox runs, and nobody works in it."""

    def rest(self) -> None:
        """Stop its sandbox, if still nobody works in it."""


class Admission:
    """The limits that a run meets before it does anything. Safe to use from many threads.

    Args:
        line: Who may be at work now; by default everybody.
        allow: Told whose run is to be made or begun; raises ``OverLimit`` where it may not.
        sandboxes: How many may run at once; for those at work, others, which are idle, are stopped.
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
        """Go on where a person may make another draft; ``made`` is to be told of it.

        Raises:
            OverLimit: the person has no room for it, or left too many without a task.
        """
        self._allow(owner)
        with self._lock:
            left = [each for each in self._drafts.get(owner, ()) if _is_draft(each)]
            self._drafts[owner] = left
        if len(left) >= MAX_DRAFTS:
            raise OverLimit(
                f"{MAX_DRAFTS} of your runs have no task yet. They go after a day; "
                "until then begin one of them, or wait."
            )

    def made(self, folder: RunFolder) -> None:
        """A draft was made."""
        with self._lock:
            self._drafts.setdefault(folder.owner, []).append(folder)

    def check(self, owner: str, text: str) -> None:
        """Go on where a person may begin a run, or go on with one, with this task or message.

        Raises:
            OverLimit: the text is too long, or the person has no room for more.
        """
        if len(text) > MAX_TEXT:
            raise OverLimit(
                f"A task or message has at most {MAX_TEXT:,} characters, and this has "
                f"{len(text):,}. Give the longer part as a file."
            )
        self._allow(owner)

    def enter(self, owner: str, idle: Callable[[], Sequence[Idle]]) -> "Place":
        """A run's place in the line; it is to be left when the run's round is over.

        Args:
            owner: Whose run it is.
            idle: The runs with idle sandboxes, that which is idle for the longest first.

        Raises:
            OverLimit: too many are waiting.
        """
        return Place(self.line.enter(owner), lambda: self._make_room(idle))

    def _make_room(self, idle: Callable[[], Sequence[Idle]]) -> None:
        """Stop idle sandboxes where too many would run."""
        with self._room:
            runs = idle()
            excess = len(runs) + self.line.working - self._sandboxes
            for run in runs[: max(0, excess)]:
                run.rest()


@dataclass(frozen=True)
class Place:
    """A run's turn, and room for its sandbox once that has come."""

    turn: Turn
    make_room: Callable[[], None]

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """See ``agent.recorder.Turn``."""
        came = yield from self.turn.wait(stop)
        if came:
            self.make_room()
        return came

    def leave(self) -> None:
        """Make room for who is next. May be called again."""
        self.turn.leave()


def _is_draft(folder: RunFolder) -> bool:
    return folder.path.is_dir() and not folder.journal.exists()
