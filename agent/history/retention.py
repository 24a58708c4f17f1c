"""Retention of runs: pure functions that select the runs to delete.

Runs that are pinned, active, open on a page or ended within the last hour are kept. Of the
others, runs past the age limit are deleted, then the oldest runs of the heaviest user, until the
total is within the size limit.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from agent.history.index import SizedRun
from agent.util.text import format_size

GRACE_SECONDS = 3600.0
"""Seconds after its end during which no run is deleted."""

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits: ``days`` since a run's end, ``size`` bytes in all; None for no limit."""

    days: float | None = None
    size: int | None = None

    @property
    def description(self) -> str:
        """The limits as a sentence for the user."""
        old = f"{self.days:g} days after their end" if self.days else ""
        much = (
            f"when all runs together take more than {format_size(self.size)}, the oldest first"
            if self.size
            else ""
        )
        if not old and not much:
            return "Runs are kept until a user deletes them."
        when = ", or ".join(filter(None, (old, much)))
        return f"Runs that are not pinned are deleted {when}."


@dataclass(frozen=True, slots=True)
class Expired:
    """A run to delete, and the reason, worded to follow “because”."""

    run: str
    title: str
    reason: str


def select_expired(
    deletable: Iterable[SizedRun],
    retention: Retention,
    *,
    now: float,
    used: int,
    used_by_owner: Mapping[str, int],
    busy: Collection[str] = (),
) -> list[Expired]:
    """Return the runs to delete now; ``deletable`` are oldest first, ``used`` in bytes."""
    takes = Counter(used_by_owner)
    expired, left = list[Expired](), dict[str, deque[SizedRun]]()
    for entry in deletable:
        if entry.run in busy:
            continue
        if retention.days and now - entry.at > retention.days * _DAY:
            expired.append(_expired(entry, f"it ended more than {retention.days:g} days ago"))
            takes[entry.owner] -= entry.size
            used -= entry.size
        else:
            left.setdefault(entry.owner, deque()).append(entry)
    return expired + (
        list(_over_size_limit(left, takes, used, retention.size)) if retention.size else []
    )


def _over_size_limit(
    left: dict[str, deque[SizedRun]], takes: Counter[str], used: int, size: int
) -> Iterator[Expired]:
    """Yield the oldest run of the heaviest user, repeatedly, until the total fits."""
    while used > size and left:
        owner = max(left, key=lambda each: takes[each])
        entry = left[owner].popleft()
        yield _expired(entry, f"all runs together took more than {format_size(size)}")
        takes[owner] -= entry.size
        used -= entry.size
        if not left[owner]:
            del left[owner]


def _expired(entry: SizedRun, reason: str) -> Expired:
    return Expired(entry.run, entry.title, reason)
