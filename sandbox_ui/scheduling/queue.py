"""Fair queue for runs: a limit on concurrent runs, in total and per user.

A run enters the queue before it does anything, waits for its turn, and leaves when it ends for
any reason. The user with the fewest active runs is next; among equals, the one who was served
longest ago. So a user with one run waits for one of another user's twenty, not for all.
"""

import heapq
import threading
from collections import Counter, deque
from collections.abc import Generator, Sequence

from agent.errors import QuotaExceeded
from agent.events import Event, Preparing
from agent.util.cancellation import Stop

MAX_WAITING = 1000
"""Maximum number of waiting runs, a tenth of it per user: each occupies a thread."""

_UPDATE_INTERVAL_SECONDS = 1.0
_UNLIMITED = 1_000_000


class Ticket:
    """One run's place in the queue, waiting or active; created by ``RunQueue.enter``."""

    def __init__(self, queue: "RunQueue", owner: str, number: int) -> None:
        self.owner = owner
        self.number = number
        self._queue = queue

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """Wait until the run may start.

        Yields progress events for the user, at most one a second. Returns False if a stop came
        first; the caller then gives up the place.
        """
        last_status = ""
        with stop.on_set(self._queue.wake):
            while True:
                status = self._queue.wait_for_status(self, last_status, stop)
                if not status:
                    return True
                if stop.is_set or self._queue.closed:
                    self.leave()
                    return False
                last_status = status
                yield Preparing(state="queued", detail=last_status)

    def leave(self) -> None:
        """Release the slot to the next run. Idempotent."""
        self._queue.leave(self)


class RunQueue:
    """Queue of all runs. Thread-safe.

    Args:
        max_active: Maximum number of active runs.
        max_active_per_user: Maximum number of active runs per user. The operator, whose id is
            empty, may use all slots.
    """

    def __init__(self, max_active: int = _UNLIMITED, max_active_per_user: int = _UNLIMITED) -> None:
        self.max_active = max_active
        self.max_active_per_user = min(max_active_per_user, max_active)
        self._changed = threading.Condition()
        self._active: list[Ticket] = []
        self._waiting: list[Ticket] = []
        self._positions: dict[Ticket, int] = {}
        self._last_served: dict[str, int] = {}
        self._served_count = self._entered_count = 0
        self.closed = False

    @property
    def active_count(self) -> int:
        """Number of active runs."""
        return len(self._active)

    @property
    def waiting_count(self) -> int:
        """Number of waiting runs."""
        return len(self._waiting)

    def count_active(self, owner: str | None) -> int:
        """Return the number of a user's active runs; of all users' for None."""
        return _count(self._active, owner)

    def count_waiting(self, owner: str | None) -> int:
        """Return the number of a user's waiting runs; of all users' for None."""
        return _count(self._waiting, owner)

    def enter(self, owner: str = "") -> Ticket:
        """Enter a run of this user; it becomes active at once or waits.

        Raises:
            QuotaExceeded: if too many runs are waiting.
        """
        with self._changed:
            theirs = sum(each.owner == owner for each in self._waiting)
            if theirs >= MAX_WAITING // 10:
                raise QuotaExceeded(
                    f"{theirs} of your runs are already waiting. "
                    "Wait until some have ended, or stop some."
                )
            if len(self._waiting) >= MAX_WAITING:
                raise QuotaExceeded(
                    f"The queue is full: {len(self._waiting)} runs are waiting. Try again later."
                )
            self._entered_count += 1
            ticket = Ticket(self, owner, self._entered_count)
            self._waiting.append(ticket)
            self._activate_next()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Remove a run that has ended or no longer waits."""
        with self._changed:
            for turns in (self._active, self._waiting):
                if ticket in turns:
                    turns.remove(ticket)
                    self._activate_next()

    def wait_for_status(self, ticket: Ticket, known_status: str, stop: Stop) -> str:
        """Wait for a status other than ``known_status``; return it, empty at the run's turn."""
        with self._changed:
            if known_status:  # limit the rate of updates
                self._changed.wait_for(
                    lambda: self._is_done_waiting(ticket, stop), _UPDATE_INTERVAL_SECONDS
                )
            self._changed.wait_for(
                lambda: self._is_done_waiting(ticket, stop) or self._status(ticket) != known_status
            )
            return self._status(ticket)

    def close(self) -> None:
        """Start no more runs; waiting runs give up their places."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake the waiting threads to check for a stop."""
        with self._changed:
            self._changed.notify_all()

    def _is_done_waiting(self, ticket: Ticket, stop: Stop) -> bool:
        return ticket not in self._positions or stop.is_set or self.closed

    def _status(self, ticket: Ticket) -> str:
        position = self._positions.get(ticket)
        if position is None:
            return ""
        own = sum(each.owner == ticket.owner for each in self._active)
        words = f"{ordinal(position)} in the queue"
        if own < self._max_active_for(ticket.owner) or len(self._active) >= self.max_active:
            return words
        return f"{words}; each user may have {_runs(own)} in progress"

    def _max_active_for(self, owner: str) -> int:
        return self.max_active_per_user if owner else self.max_active

    def _activate_next(self) -> None:
        """Activate the runs that may start, and number the rest."""
        while (turn := self._next()) is not None:
            self._waiting.remove(turn)
            self._active.append(turn)
            self._served_count += 1
            self._last_served[turn.owner] = self._served_count
        here = {turn.owner for turn in (*self._active, *self._waiting)}
        self._last_served = {owner: at for owner, at in self._last_served.items() if owner in here}
        self._positions = {turn: at for at, turn in enumerate(self._in_order(), 1)}
        self._changed.notify_all()

    def _next(self) -> Ticket | None:
        if self.closed or len(self._active) >= self.max_active:
            return None
        own = Counter(turn.owner for turn in self._active)
        waiting = (
            turn for turn in self._in_order() if own[turn.owner] < self._max_active_for(turn.owner)
        )
        return next(waiting, None)

    def _in_order(self) -> list[Ticket]:
        """Return the waiting runs in order, ignoring the limit per user."""
        own = Counter(turn.owner for turn in self._active)
        left: dict[str, deque[Ticket]] = {}
        for turn in self._waiting:
            left.setdefault(turn.owner, deque()).append(turn)
        heads = [
            (own[owner], self._last_served.get(owner, 0), turns[0].number, owner)
            for owner, turns in left.items()
        ]
        heapq.heapify(heads)
        order: list[Ticket] = []
        while heads:
            count, _, _, owner = heads[0]
            order.append(left[owner].popleft())
            if left[owner]:  # after all queued owners with as few active runs
                later = (count + 1, self._served_count + len(order), left[owner][0].number, owner)
                heapq.heapreplace(heads, later)
            else:
                heapq.heappop(heads)
        return order


def ordinal(number: int) -> str:
    """Format a number as ``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"


def _count(tickets: Sequence[Ticket], owner: str | None) -> int:
    return sum(owner is None or turn.owner == owner for turn in list(tickets))


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"
