"""How long runs are kept: a pure choice over what the list says of them.

Nothing goes that a person pinned, that is at work or looked at, or that ended within the last
hour. Of the others those go that are too old, and then, of whoever takes the most, the oldest,
until it is not too much any more: nobody's runs go because another hoards theirs.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from agent.history import Entry
from agent.legible import size_of

GRACE = 3600.0
"""Seconds that every run is kept after its end."""

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Retention:
    """How long: ``days`` after a run's last end, and up to ``size`` bytes in all; None for ever."""

    days: float | None = None
    size: int | None = None

    @property
    def words(self) -> str:
        """The same as a sentence for a person."""
        old = f"{self.days:g} days after their end" if self.days else ""
        much = (
            f"when all take more than {size_of(self.size)}, the oldest first" if self.size else ""
        )
        if not old and not much:
            return "Runs are kept until they are deleted."
        when = ", or ".join(filter(None, (old, much)))
        return f"Runs that are not pinned are deleted {when}."


@dataclass(frozen=True, slots=True)
class Doomed:
    """A run that is to go, and why, in words that follow “because”."""

    run: str
    title: str
    why: str


def doomed(
    entries: Iterable[Entry], rule: Retention, *, now: float, used: int, busy: Collection[str] = ()
) -> list[Doomed]:
    """The runs that are to go now, in this order.

    Args:
        entries: All runs.
        rule: How long they are kept.
        now: Seconds since the epoch.
        used: Bytes that all runs take on the disk together.
        busy: Runs that are in use, whatever is said of them.
    """
    entries = sorted(entries, key=lambda each: each.at)
    takes = Counter[str]()
    for entry in entries:
        takes[entry.owner] += _size(entry)
    chosen, left = list[Doomed](), dict[str, deque[Entry]]()
    for entry in entries:
        if not _may_go(entry, now) or entry.run in busy:
            continue
        if rule.days and now - entry.at > rule.days * _DAY:
            chosen.append(_doomed(entry, f"it ended more than {rule.days:g} days ago"))
            takes[entry.owner] -= _size(entry)
            used -= _size(entry)
        else:
            left.setdefault(entry.owner, deque()).append(entry)
    return chosen + (list(_too_much(left, takes, used, rule.size)) if rule.size else [])


def _too_much(
    left: dict[str, deque[Entry]], takes: Counter[str], used: int, size: int
) -> Iterator[Doomed]:
    """The oldest of whoever takes the most, and so on, until it fits."""
    while used > size and left:
        owner = max(left, key=lambda each: takes[each])
        entry = left[owner].popleft()
        yield _doomed(entry, f"all runs together took more than {size_of(size)}")
        takes[owner] -= _size(entry)
        used -= _size(entry)
        if not left[owner]:
            del left[owner]


def _doomed(entry: Entry, why: str) -> Doomed:
    return Doomed(entry.run, entry.title, why)


def _size(entry: Entry) -> int:
    return entry.summary.size if entry.summary else 0


def _may_go(entry: Entry, now: float) -> bool:
    """What cannot be read is left to a person; what cannot be sized yet, to the next time."""
    return (
        not entry.pinned
        and not entry.problem
        and entry.summary is not None
        and not entry.summary.alive
        and now - entry.at > GRACE
    )
