"""Labels and notes of runs in the experiment's folder, and the agreement of their two raters."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from agent.errors import UsageError
from agent.util.entry_list import EntryList
from agent.util.text import without_controls

MAX_LABEL, MAX_NOTE, MAX_RATER = 40, 2_000, 60  # characters
MAX_RATERS, MAX_LABELS = 2, 30  # of an experiment
_MAX_BYTES = 64 * 1024**2
DEFINITION = (
    "Cohen’s kappa: (observed − expected) / (1 − expected). Observed is the share of the runs that "
    "both raters have labelled to which they gave the same label; expected is the share that their "
    "label frequencies give by chance. 1 is full agreement, 0 is that of chance; it is not defined "
    "where both use one and the same label only."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEntry:
    """What a rater says of a run; empty texts take it back."""

    run: str
    rater: str
    label: str = ""
    note: str = ""
    at: float = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said."""
        return not (self.label or self.note)


class RunLabels:
    """The labels and notes of an experiment. Thread-safe; one process writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: EntryList[tuple[str, str], LabelEntry] = EntryList(
            path, LabelEntry, lambda each: (each.run, each.rater), _MAX_BYTES
        )
        self._raters: tuple[str, ...] | None = None
        self._lock = Lock()

    @property
    def raters(self) -> tuple[str, ...]:
        """Those who have said something of a run, in the order in which they began."""
        if self._raters is None:
            said = (each.rater for each in self._entries.entries().values() if not each.is_empty)
            self._raters = tuple(dict.fromkeys(said))
        return self._raters

    @property
    def names(self) -> list[str]:
        """The labels that were given, in alphabetical order."""
        return sorted({each.label for each in self._entries.entries().values()} - {""})

    def of(self, run: str) -> list[LabelEntry]:
        """Return what each of the raters says of a run."""
        found = ((rater, self._entries.get((run, rater))) for rater in self.raters)
        return [entry or LabelEntry(run=run, rater=rater) for rater, entry in found]

    def add(self, entry: LabelEntry) -> None:
        """Record what a rater says of a run now. Raises ``OSError``, ``UsageError`` (too many)."""
        with self._lock:
            self._check(entry)
            self._entries.add(entry)
            self._raters = None

    def read_further(self) -> list[LabelEntry]:
        """Read and return what another process has added since."""
        self._raters = None
        return self._entries.read_further()

    def _check(self, entry: LabelEntry) -> None:
        if entry.is_empty:
            return
        raters = self.raters
        if entry.rater not in raters and len(raters) >= MAX_RATERS:
            raise UsageError(
                f"{' and '.join(raters)} have labelled these runs; there are at most {MAX_RATERS} "
                "raters. Enter one of these names, or remove all labels and notes of one of them."
            )
        names = self.names
        if entry.label and entry.label not in names and len(names) >= MAX_LABELS:
            raise UsageError(f"There are {MAX_LABELS} different labels. Choose one of them.")
        if self._path.exists() and self._path.stat().st_size > _MAX_BYTES - 100_000:
            raise UsageError("The labels and notes of this experiment take too much space.")


def label_of(run: str, rater: str, label: str, note: str, at: float) -> LabelEntry:
    """Return what a rater says of a run, without control characters. Raises ``UsageError``."""
    entry = LabelEntry(
        run=run, rater=_line(rater), label=_line(label), note=without_controls(note).strip(), at=at
    )
    if not entry.rater:
        raise UsageError("Enter the rater’s name.")
    for name, text, most in (
        ("A rater’s name", entry.rater, MAX_RATER), ("A label", entry.label, MAX_LABEL),
        ("A note", entry.note, MAX_NOTE),
    ):  # fmt: skip
        if len(text) > most:
            raise UsageError(f"{name} has at most {most:,} characters, not {len(text):,}.")
    return entry


def _line(text: str) -> str:
    return without_controls(" ".join(text.split()))


def agreement(raters: Sequence[str], pairs: Iterable[tuple[str, str]]) -> dict[str, Any] | None:
    """Return Cohen's kappa (Cohen 1960) of two raters; None if no run has labels of both.

    ``pairs`` are their labels of each run; one with an empty label does not count.
    """
    counts = Counter((one, other) for one, other in pairs if one and other)
    n = counts.total()
    if len(raters) != 2 or not n:
        return None
    first, second = Counter[str](), Counter[str]()
    for (one, other), count in counts.items():
        first[one] += count
        second[other] += count
    labels = sorted(first | second)
    agreed = sum(counts[label, label] for label in labels)
    by_chance = sum(first[label] * second[label] for label in labels)
    observed, expected = agreed / n, by_chance / n**2
    defined = by_chance < n**2
    return {
        "raters": list(raters),
        "n": n,
        "agreed": agreed,
        "observed": observed,
        "expected": expected,
        "kappa": (observed - expected) / (1 - expected) if defined else None,
        "labels": labels,
        "counts": [[counts[one, other] for other in labels] for one in labels],
        "definition": DEFINITION,
    }
