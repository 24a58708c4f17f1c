"""Comparison of the workspace after a replayed step with the recorded manifest."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from agent.errors import JournalError
from agent.events import CheckedFile, Verdict
from agent.replay.contents import MAX_BYTES, compare_contents
from agent.replay.texts import TextComparison, Times
from agent.replay.volatile import normalise
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import StoredContents
from agent.workspace.versions.manifest import Delta, Manifest, ManifestLog, Node

_MAX_LISTED = 100

MAX_COMPARED = 200
"""Maximum contents compared for a step; others only by their hash."""

_OWN_NAMES = "temporary names"
_KINDS = {"file": "a file", "folder": "a folder", "link": "a link"}


@dataclass(frozen=True, slots=True)
class FilesChecked:
    """The paths that a step changed and that are not the same; ``total`` counts all of them."""

    files: tuple[CheckedFile, ...] = ()
    total: int = 0

    @classmethod
    def of(cls, checked_files: Iterable[CheckedFile]) -> Self:
        """Return those that are not the same, the worst first."""
        found = [each for each in checked_files if each.verdict != "same"]
        found.sort(key=lambda each: (-_RANKS[each.verdict], each.path))
        return cls(tuple(found[:_MAX_LISTED]), len(found))


class ManifestReader:
    """Reads a log of manifests, which may grow meanwhile, step by step."""

    def __init__(self, log: Path) -> None:
        self.manifest = Manifest()
        self._log = ManifestLog(log)
        self._offset = 0

    def advance(self, step: int) -> tuple[set[str], bool]:
        """Apply the deltas up to a step; return the changed paths, and whether the user's, too."""
        touched: set[str] = set()
        by_user = False
        for offset, number, delta in self._log.read_from(self._offset):
            if number > step:
                break
            self._offset = offset
            self.manifest.apply(delta)
            touched.update(delta.changed, delta.removed)
            by_user = by_user or delta.by_user
        return touched, by_user

    def user_changes(self, step: int) -> Iterator[Delta]:
        """Yield the user's changes that precede a step, which come next in the log."""
        for _, number, delta in self._log.read_from(self._offset):
            if number > step or not (delta.by_user or number == 0):
                return
            yield delta


class FileChecker:
    """Compares after each step the paths that it changed in either run."""

    def __init__(
        self, recorded: Path, replayed: Path, contents: tuple[StoredContents, StoredContents]
    ) -> None:
        self.recorded = ManifestReader(recorded)
        self.ignored: set[str] = set()
        """Paths that could not be restored."""
        self._replayed = ManifestReader(replayed)
        self._contents = contents

    def check(self, step: int, times: Times) -> tuple[FilesChecked, bool]:
        """Compare a step's changed paths; return differences, and if a user changed files."""
        touched, by_user = self.recorded.advance(step)
        touched |= self._replayed.advance(step)[0]
        return FilesChecked.of(self._compare(sorted(touched - self.ignored), times)), by_user

    def _compare(self, paths: list[str], times: Times) -> list[CheckedFile]:
        before, now = self.recorded.manifest.nodes, self._replayed.manifest.nodes
        found: list[CheckedFile] = []
        missing: list[str] = []
        extra: list[str] = []
        compared = 0
        for path in paths:
            one, other = before.get(path), now.get(path)
            if one == other:
                continue
            if one is None or other is None:
                (extra if one is None else missing).append(path)
                continue
            compared += 1
            found.append(self._compare_nodes(path, one, other, times, compared <= MAX_COMPARED))
        return [*found, *pair_names(missing, extra, times)]

    def _compare_nodes(
        self, path: str, one: Node, other: Node, times: Times, compare: bool
    ) -> CheckedFile:
        if one.kind != other.kind:
            what = f"It is {describe_kind(other)} instead of {describe_kind(one)}."
            return checked(path, "differs", what)
        if one.mode != other.mode:
            return checked(path, "differs", f"Its mode is {other.mode:o} instead of {one.mode:o}.")
        if one.kind == "link":
            if not (one.stored and other.stored):
                return checked(path, "unverified", "Its target was not read.")
            equal = one.target == other.target
            return checked(path, "same" if equal else "differs", "It points to another target.")
        if one.kind != "file":
            return checked(path, "same" if one.stored == other.stored else "unverified")
        return self._compare_files(path, one, other, times, compare)

    def _compare_files(
        self, path: str, one: Node, other: Node, times: Times, compare: bool
    ) -> CheckedFile:
        if one.hash is not None and one.hash == other.hash:
            return checked(path, "same")
        sizes = describe_sizes(one.size, other.size)
        if one.hash is None or other.hash is None:
            if one.size != other.size:
                return checked(path, "differs", sizes)
            why = one.reason or other.reason or "its content was not read"
            return checked(path, "unverified", f"It cannot be compared: {why}.")
        if not compare or max(one.size, other.size) > MAX_BYTES:
            return checked(path, "differs", f"Its content is another one; {sizes}")
        try:
            with (
                closing(self._contents[0].open(one.hash)) as recorded,
                closing(self._contents[1].open(other.hash)) as replayed,
            ):
                result = compare_contents(path, recorded, replayed, times)
        except JournalError:
            return checked(
                path, "differs", "Its content is another one, and one of the two was not kept."
            )
        return from_comparison(path, result, sizes)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of some verdicts; ``same`` if there is none."""
    return max(verdicts, key=_RANKS.__getitem__, default="same")


_RANKS: dict[Verdict, int] = {"same": 0, "volatile": 1, "unverified": 2, "differs": 3}


def pair_names(missing: list[str], extra: list[str], times: Times) -> Iterator[CheckedFile]:
    """Yield the paths of one run only; names that differ in volatile parts belong together."""
    waiting: dict[str, list[str]] = {}
    for path in extra:
        waiting.setdefault(_name(path, times.replayed), []).append(path)
    for path in missing:
        alike = waiting.get(_name(path, times.recorded), [])
        if alike:
            yield checked(alike.pop(), "volatile", rules=(_OWN_NAMES,))
        else:
            yield checked(path, "differs", "It was not made again, or was removed.")
    for path in (each for paths in waiting.values() for each in paths):
        yield checked(path, "differs", "The recorded run has no such path after this step.")


def _name(path: str, at: float) -> str:
    return normalise(path, at).text


def from_comparison(path: str, result: TextComparison, sizes: str) -> CheckedFile:
    """Return how a file compares whose contents were compared."""
    reason = f"Its content is another one; {sizes}" if result.verdict == "differs" else ""
    return checked(path, result.verdict, reason, result.rules, result.diff)


def checked(
    path: str, verdict: Verdict, reason: str = "", rules: tuple[str, ...] = (), diff: str = ""
) -> CheckedFile:
    """Return how a path of the manifests compares."""
    return CheckedFile(RelPath.trusted(path).to_url(), verdict, rules, reason, diff)


def describe_kind(node: Node) -> str:
    """Return what a node is, for a sentence."""
    return _KINDS.get(node.kind, f"a {node.kind}")


def describe_sizes(one: int, other: int) -> str:
    """Return a sentence on the sizes of a recorded and a replayed file."""
    return f"{other:,} bytes instead of {one:,}."
