"""The family of a run: its ancestors, and all forks and replays that were made from them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from agent.errors import RunError
from agent.history.index import History, HistoryEntry
from agent.runs.folder import Parent, RunFolder

MAX_MEMBERS = 200
_MAX_EXAMINED = 1000

MemberStatus = Literal["open", "hidden", "deleted"]


@dataclass(frozen=True, slots=True)
class Member:
    """One run of a family; only one that may be viewed (``open``) has an id, parent and entry."""

    run: str
    status: MemberStatus
    depth: int
    parent: Parent | None = None
    entry: HistoryEntry | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """A run's family, depth first; at most 200 members, always with the run's own ancestors."""

    members: tuple[Member, ...]
    more: bool


def find_family(history: History, data: Path, run: str, may_view: Callable[[str], bool]) -> Family:
    """Return the family of a run."""
    path = _path_to(data, run)
    tree = _Tree(path, may_view)
    tree.add(history.entries(path))
    level: Sequence[str] = path
    while level and len(tree.parents) < _MAX_EXAMINED:
        level = tree.add(history.made_from(level, _MAX_EXAMINED))
    return tree.family(lambda each: _exists(data, each))


def _path_to(data: Path, run: str) -> list[str]:
    """Return the ancestors of a run, oldest first, followed by the run itself."""
    path = [run]
    while len(path) < MAX_MEMBERS and (parent := _parent_of(data, path[-1])):
        if parent.run in path:
            break
        path.append(parent.run)
    return path[::-1]


def _parent_of(data: Path, run: str) -> Parent | None:
    try:
        return RunFolder.open(data, run).parent
    except RunError:
        return None


def _exists(data: Path, run: str) -> bool:
    try:
        return bool(RunFolder.open(data, run))
    except RunError:
        return False


class _Tree:
    """The members found so far, each after its parent."""

    def __init__(self, path: Sequence[str], may_view: Callable[[str], bool]) -> None:
        self._path = path
        self._may_view = may_view
        self._entries: dict[str, HistoryEntry] = {}
        self.parents: dict[str, str] = dict(zip(path, ("", *path), strict=False))

    def add(self, entries: Iterable[HistoryEntry]) -> list[str]:
        """Add members; return the ids of those that were not known."""
        new = []
        for entry in entries:
            self._entries[entry.run] = entry
            if entry.run not in self.parents and entry.parent:
                self.parents[entry.run] = entry.parent.run
                new.append(entry.run)
        return new

    def family(self, exists: Callable[[str], bool]) -> Family:
        """Return the tree of the members that may be viewed, and of those that connect them."""
        visible = {run for run in self.parents if self._may_view(run)}
        shown = self._connected(visible)
        chosen = dict.fromkeys(run for run in self._path if run in shown)
        rest = (run for run in self.parents if run in shown and run not in chosen)
        chosen |= dict.fromkeys(islice(rest, MAX_MEMBERS - len(chosen)))
        more = len(chosen) < len(shown) or len(self.parents) >= _MAX_EXAMINED
        members = tuple(
            Member(run, "open", depth, self._parent(run), self._entries.get(run))
            if run in visible
            else Member("", "hidden" if exists(run) else "deleted", depth)
            for run, depth in self._depth_first(chosen)
        )
        return Family(members, more)

    def _connected(self, visible: set[str]) -> set[str]:
        """Return some members and all between them, and what the first was made from."""
        shown = set(visible)
        for run in visible:
            while (run := self.parents[run]) and run not in shown:
                shown.add(run)
        for run, following in zip(self._path, self._path[1:], strict=False):
            if {run, following} & visible or sum(self.parents[each] == run for each in shown) > 1:
                break
            shown.discard(run)
        return shown

    def _parent(self, run: str) -> Parent | None:
        entry = self._entries.get(run)
        return entry.parent if entry else None

    def _depth_first(self, chosen: Mapping[str, None]) -> Iterable[tuple[str, int]]:
        below = defaultdict[str, list[str]](list)
        for run in chosen:
            parent = self.parents[run]
            below[parent if parent in chosen else ""].append(run)
        open_ends = [(run, 0) for run in below[""]]
        while open_ends:
            run, depth = open_ends.pop()
            yield run, depth
            last_first = sorted(below[run], key=self._place, reverse=True)
            open_ends += [(each, depth + 1) for each in last_first]

    def _place(self, run: str) -> tuple[int, float, str]:
        """Members of one parent are in the order of their steps."""
        entry, parent = self._entries.get(run), self._parent(run)
        return parent.step if parent else 0, entry.at if entry else 0.0, run
