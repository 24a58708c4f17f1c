"""Fair queue for runs: a limit on concurrent runs, in total and per user.

The user with the fewest active runs is next; among equals, the one who was served longest ago.
"""

import heapq
import threading
from collections import Counter, deque
from collections.abc import Generator, Sequence

from agent.errors import QueueFull
from agent.events import Event, Preparing
from agent.util.stop import Stop
from agent.util.text import plural

MAX_WAITING = 1000
"""Maximum number of waiting runs, a tenth of it per user: each occupies a thread."""

_UPDATE_INTERVAL_SECONDS = 1.0
_UNLIMITED = 1_000_000


class QueueEntry:
    """One run's place in the queue, waiting or active; created by ``RunQueue.enter``."""

    def __init__(self, queue: "RunQueue", owner: str, number: int) -> None:
        self.owner = owner
        self.number = number
        self._queue = queue

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """Wait until the run may start; yield progress, at most once a second; False if stopped."""
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
    """Queue of all runs. Thread-safe. The operator, whose id is empty, may use all slots."""

    def __init__(self, max_active: int = _UNLIMITED, max_active_per_user: int = _UNLIMITED) -> None:
        self.max_active = max_active
        self.max_active_per_user = min(max_active_per_user, max_active)
        self._changed = threading.Condition()
        self._active: list[QueueEntry] = []
        self._waiting: list[QueueEntry] = []
        self._positions: dict[QueueEntry, int] = {}
        self._last_served: dict[str, int] = {}
        self._served_count = self._entered_count = 0
        self.closed = False

    def resize(self, max_active: int, max_active_per_user: int) -> None:
        """Change the limits, which active runs may exceed until they end."""
        with self._changed:
            self.max_active = max_active
            self.max_active_per_user = min(max_active_per_user, max_active)
            self._activate_next()

    def max_active_of(self, owner: str) -> int:
        """How many runs of a user may be active; the operator, whose id is empty, may use all."""
        return self.max_active_per_user if owner else self.max_active

    @property
    def active_count(self) -> int:
        """Number of active runs."""
        return len(self._active)

    def count_active(self, owner: str | None) -> int:
        """Return the number of a user's active runs; of all users' for None."""
        return _count(self._active, owner)

    def count_waiting(self, owner: str | None) -> int:
        """Return the number of a user's waiting runs; of all users' for None."""
        return _count(self._waiting, owner)

    def enter(self, owner: str = "") -> QueueEntry:
        """Enter a run, active at once or waiting; raise ``QueueFull`` if too many are waiting."""
        with self._changed:
            owner_waiting = sum(each.owner == owner for each in self._waiting)
            if owner_waiting >= MAX_WAITING // 10:
                raise QueueFull(
                    f"{owner_waiting:,} of your runs are already waiting. "
                    "Wait until some have ended, or stop some."
                )
            if len(self._waiting) >= MAX_WAITING:
                raise QueueFull(
                    f"The queue is full: {len(self._waiting):,} runs are waiting. Try again later."
                )
            self._entered_count += 1
            entry = QueueEntry(self, owner, self._entered_count)
            self._waiting.append(entry)
            self._activate_next()
        return entry

    def leave(self, entry: QueueEntry) -> None:
        """Remove a run that has ended or no longer waits."""
        with self._changed:
            for entries in (self._active, self._waiting):
                if entry in entries:
                    entries.remove(entry)
                    self._activate_next()

    def wait_for_status(self, entry: QueueEntry, known_status: str, stop: Stop) -> str:
        """Wait for a status other than ``known_status``; return it, empty at the run's turn."""
        with self._changed:
            if known_status:  # limit the rate of updates
                self._changed.wait_for(
                    lambda: self._is_done_waiting(entry, stop), _UPDATE_INTERVAL_SECONDS
                )
            self._changed.wait_for(
                lambda: self._is_done_waiting(entry, stop) or self._status(entry) != known_status
            )
            return self._status(entry)

    def close(self) -> None:
        """Start no more runs; waiting runs give up their places."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake the waiting threads to check for a stop."""
        with self._changed:
            self._changed.notify_all()

    def _is_done_waiting(self, entry: QueueEntry, stop: Stop) -> bool:
        return entry not in self._positions or stop.is_set or self.closed

    def _status(self, entry: QueueEntry) -> str:
        position = self._positions.get(entry)
        if position is None:
            return ""
        owner_active = sum(each.owner == entry.owner for each in self._active)
        status = f"{ordinal(position)} in the queue"
        if owner_active < self.max_active_of(entry.owner) or len(self._active) >= self.max_active:
            return status
        return f"{status}; each user may have {plural(owner_active, 'run')} in progress"

    def _activate_next(self) -> None:
        """Activate the runs that may start, and number the rest."""
        while (entry := self._next()) is not None:
            self._waiting.remove(entry)
            self._active.append(entry)
            self._served_count += 1
            self._last_served[entry.owner] = self._served_count
        owners = {entry.owner for entry in (*self._active, *self._waiting)}
        self._last_served = {
            owner: at for owner, at in self._last_served.items() if owner in owners
        }
        self._positions = {entry: at for at, entry in enumerate(self._in_order(), 1)}
        self._changed.notify_all()

    def _next(self) -> QueueEntry | None:
        if self.closed or len(self._active) >= self.max_active:
            return None
        active = Counter(entry.owner for entry in self._active)
        waiting = (
            entry
            for entry in self._in_order()
            if active[entry.owner] < self.max_active_of(entry.owner)
        )
        return next(waiting, None)

    def _in_order(self) -> list[QueueEntry]:
        """Return the waiting runs in order, ignoring the limit per user."""
        active = Counter(entry.owner for entry in self._active)
        by_owner: dict[str, deque[QueueEntry]] = {}
        for entry in self._waiting:
            by_owner.setdefault(entry.owner, deque()).append(entry)
        heads = [
            (active[owner], self._last_served.get(owner, 0), entries[0].number, owner)
            for owner, entries in by_owner.items()
        ]
        heapq.heapify(heads)
        order: list[QueueEntry] = []
        while heads:
            count, _, _, owner = heads[0]
            order.append(by_owner[owner].popleft())
            if by_owner[owner]:  # after all queued owners with as few active runs
                later = (
                    count + 1,
                    self._served_count + len(order),
                    by_owner[owner][0].number,
                    owner,
                )
                heapq.heapreplace(heads, later)
            else:
                heapq.heappop(heads)
        return order


def ordinal(number: int) -> str:
    """Format a number as ``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"


def _count(entries: Sequence[QueueEntry], owner: str | None) -> int:
    return sum(owner is None or entry.owner == owner for entry in list(entries))
