"""Who may be at work now, and who waits in line: so many runs at once, fair between people.

A run enters the line before it does anything, waits there for its turn, and leaves when it is
over, however it ended. Whoever has the fewest runs at work is next; among those, whoever was
let in longest ago. So a person with one run waits for one of another's twenty, not for all.
"""

import heapq
import threading
from collections import Counter, deque
from collections.abc import Generator, Sequence

from agent.errors import OverLimit
from agent.events import Event, Preparing
from agent.stop import Stop

MOST_WAITING = 1000
"""Runs that wait at most, and of one person a tenth of that: each is a thread."""

_CALM = 1.0
_WITHOUT_LIMIT = 1_000_000


class Turn:
    """One run's place in the line, or at work; made by ``Line.enter``."""

    def __init__(self, line: "Line", owner: str, number: int) -> None:
        self.owner = owner
        self.number = number
        self._line = line

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """Wait until the run may go to work.

        Yields what a person sees of it, at most once a second. Returns False where a stop
        came first; the place is then given up.
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
        """Make room for who is next. May be called again."""
        self._line.leave(self)


class Line:
    """The line of all runs. Safe to use from many threads.

    Args:
        most: Runs that may be at work at once.
        each: Of one person's at once. The operator, who has no name, may use all.
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
        """How many runs are at work."""
        return len(self._working)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def working_of(self, owner: str | None) -> int:
        """How many runs of a person's are at work; of everybody's for None."""
        return _count(self._working, owner)

    def waiting_of(self, owner: str | None) -> int:
        """How many of them wait."""
        return _count(self._waiting, owner)

    def enter(self, owner: str = "") -> Turn:
        """A run of this person's comes; it may be at work at once, or has to wait.

        Raises:
            OverLimit: too many are waiting.
        """
        with self._changed:
            theirs = sum(each.owner == owner for each in self._waiting)
            if len(self._waiting) >= MOST_WAITING or theirs >= MOST_WAITING // 10:
                raise OverLimit(
                    f"{theirs} of your runs are waiting for their turn already. "
                    "Wait until some of them have ended, or stop some."
                )
            self._entered += 1
            turn = Turn(self, owner, self._entered)
            self._waiting.append(turn)
            self._move_on()
        return turn

    def leave(self, turn: Turn) -> None:
        """A run is over, or is not waited for any more."""
        with self._changed:
            for turns in (self._working, self._waiting):
                if turn in turns:
                    turns.remove(turn)
                    self._move_on()

    def place(self, turn: Turn, said: str, stop: Stop) -> str:
        """Wait for another place than ``said``; empty once it is the run's turn."""
        with self._changed:
            if said:  # what moves fast is told in larger steps
                self._changed.wait_for(lambda: self._is_over(turn, stop), _CALM)
            self._changed.wait_for(lambda: self._is_over(turn, stop) or self._words(turn) != said)
            return self._words(turn)

    def close(self) -> None:
        """Let nobody in any more; those who wait give their places up."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Let those who wait look whether they are still to wait."""
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
        """Let in who may come in, and number those who stay."""
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
        """Those who wait, as they would be let in if nobody's share were used up."""
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
            if left[owner]:  # after all who are there already and have as few at work
                later = (count + 1, self._last + len(order), left[owner][0].number, owner)
                heapq.heapreplace(heads, later)
            else:
                heapq.heappop(heads)
        return order


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"


def _count(turns: Sequence[Turn], owner: str | None) -> int:
    return sum(owner is None or turn.owner == owner for turn in list(turns))


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"
