"""Fair queue for runs: a limit on concurrent runs, in total and per user.

A run enters the queue before it does anything, waits for its turn, and leaves when it ends for
any reason. The user with the fewest active runs is next; among equals, the one who was served
longest ago. So a user with one run waits for one of another user's twenty, not for all.
"""

import heapq
import threading
from collections import Counter, deque
from collections.abc import Generator, Sequence

from agent.errors import OverLimit
from agent.events import Event, Preparing
from agent.util.cancellation import Stop

MOST_WAITING = 1000
"""Maximum number of waiting runs, a tenth of it per user: each occupies a thread."""

_CALM = 1.0
_WITHOUT_LIMIT = 1_000_000


class Turn:
    """One run's place in the queue, waiting or active; created by ``Line.enter``."""

    def __init__(self, line: "Line", owner: str, number: int) -> None:
        self.owner = owner
        self.number = number
        self._line = line

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """Wait until the run may start.

        Yields progress events for the user, at most one a second. Returns False if a stop came
        first; the caller then gives up the place.
        """
        said = ""
        with stop.calling(self._line.wake):
            while True:
                place = self._line.place(self, said, stop)
                if not place:
                    return True
                if stop.is_set or self._line.closed:
                    self.leave()
                    return False
                said = place
                yield Preparing(state="in_line", detail=said)

    def leave(self) -> None:
        """Release the slot to the next run. Idempotent."""
        self._line.leave(self)


class Line:
    """Queue of all runs. Thread-safe.

    Args:
        most: Maximum number of active runs.
        each: Maximum number of active runs per user. The operator, whose id is empty, may use
            all slots.
    """

    def __init__(self, most: int = _WITHOUT_LIMIT, each: int = _WITHOUT_LIMIT) -> None:
        self.most = most
        self.each = min(each, most)
        self._changed = threading.Condition()
        self._working: list[Turn] = []
        self._waiting: list[Turn] = []
        self._places: dict[Turn, int] = {}
        self._served: dict[str, int] = {}
        self._last = self._entered = 0
        self.closed = False

    @property
    def working(self) -> int:
        """Number of active runs."""
        return len(self._working)

    @property
    def waiting(self) -> int:
        """Number of waiting runs."""
        return len(self._waiting)

    def working_of(self, owner: str | None) -> int:
        """Return the number of a user's active runs; of all users' for None."""
        return _count(self._working, owner)

    def waiting_of(self, owner: str | None) -> int:
        """Return the number of a user's waiting runs; of all users' for None."""
        return _count(self._waiting, owner)

    def enter(self, owner: str = "") -> Turn:
        """Enter a run of this user; it becomes active at once or waits.

        Raises:
            OverLimit: if too many runs are waiting.
        """
        with self._changed:
            theirs = sum(each.owner == owner for each in self._waiting)
            if theirs >= MOST_WAITING // 10:
                raise OverLimit(
                    f"{theirs} of your runs are waiting for their turn already. "
                    "Wait until some of them have ended, or stop some."
                )
            if len(self._waiting) >= MOST_WAITING:
                raise OverLimit(
                    f"The queue is full: {len(self._waiting)} runs are waiting for their turn. "
                    "Try again when some of them have ended."
                )
            self._entered += 1
            turn = Turn(self, owner, self._entered)
            self._waiting.append(turn)
            self._move_on()
        return turn

    def leave(self, turn: Turn) -> None:
        """Remove a run that has ended or no longer waits."""
        with self._changed:
            for turns in (self._working, self._waiting):
                if turn in turns:
                    turns.remove(turn)
                    self._move_on()

    def place(self, turn: Turn, said: str, stop: Stop) -> str:
        """Wait for a status other than ``said``; return it, empty at the run's turn."""
        with self._changed:
            if said:  # limit the rate of updates
                self._changed.wait_for(lambda: self._is_over(turn, stop), _CALM)
            self._changed.wait_for(lambda: self._is_over(turn, stop) or self._words(turn) != said)
            return self._words(turn)

    def close(self) -> None:
        """Start no more runs; waiting runs give up their places."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake the waiting threads to check for a stop."""
        with self._changed:
            self._changed.notify_all()

    def _is_over(self, turn: Turn, stop: Stop) -> bool:
        return turn not in self._places or stop.is_set or self.closed

    def _words(self, turn: Turn) -> str:
        place = self._places.get(turn)
        if place is None:
            return ""
        own = sum(each.owner == turn.owner for each in self._working)
        words = f"{ordinal(place)} in line"
        if own < self._share(turn.owner) or len(self._working) >= self.most:
            return words
        return f"{words}; one person may have {_runs(own)} at work at once"

    def _share(self, owner: str) -> int:
        return self.each if owner else self.most

    def _move_on(self) -> None:
        """Activate the runs that may start, and number the rest."""
        while (turn := self._next()) is not None:
            self._waiting.remove(turn)
            self._working.append(turn)
            self._last += 1
            self._served[turn.owner] = self._last
        here = {turn.owner for turn in (*self._working, *self._waiting)}
        self._served = {owner: at for owner, at in self._served.items() if owner in here}
        self._places = {turn: at for at, turn in enumerate(self._in_order(), 1)}
        self._changed.notify_all()

    def _next(self) -> Turn | None:
        if self.closed or len(self._working) >= self.most:
            return None
        own = Counter(turn.owner for turn in self._working)
        waiting = (turn for turn in self._in_order() if own[turn.owner] < self._share(turn.owner))
        return next(waiting, None)

    def _in_order(self) -> list[Turn]:
        """Return the waiting runs in order, ignoring the limit per user."""
        own = Counter(turn.owner for turn in self._working)
        left: dict[str, deque[Turn]] = {}
        for turn in self._waiting:
            left.setdefault(turn.owner, deque()).append(turn)
        heads = [
            (own[owner], self._served.get(owner, 0), turns[0].number, owner)
            for owner, turns in left.items()
        ]
        heapq.heapify(heads)
        order: list[Turn] = []
        while heads:
            count, _, _, owner = heads[0]
            order.append(left[owner].popleft())
            if left[owner]:  # after all queued owners with as few active runs
                later = (count + 1, self._last + len(order), left[owner][0].number, owner)
                heapq.heapreplace(heads, later)
            else:
                heapq.heappop(heads)
        return order


def ordinal(number: int) -> str:
    """Format a number as ``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"


def _count(turns: Sequence[Turn], owner: str | None) -> int:
    return sum(owner is None or turn.owner == owner for turn in list(turns))


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"
