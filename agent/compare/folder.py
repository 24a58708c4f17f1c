"""A comparison's folder: its definition, its runs and the judge's verdicts.

::

    <data>/comparisons/<id>/comparison.json   the definition, title, shared links
                            runs.jsonl        which run is which repetition of which member
                            scores.jsonl      verdicts of a judge

Nothing of a run is copied. The two lists are append-only (``agent.util.entry_list``).
"""

import hashlib
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from agent.compare.comparison import Comparison
from agent.compare.record_folder import Record, RecordFolder, not_found_message
from agent.util.entry_list import EntryList

COMPARISON_NOT_FOUND = not_found_message("comparison")
_MAX_LIST_BYTES = 8 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """One run of a comparison: repetition ``repetition`` (from 1) of member ``member``."""

    member: int
    repetition: int
    run: str
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreEntry:
    """The stored grade of a run's answer; see ``Grade``.

    Attributes:
        run: The run.
        score: The score; None if it is not known.
        votes: The votes: 1 for right, 0 for wrong, None for one that could not be read.
        texts: The beginnings of what the judge wrote.
        model: The judge's model.
        reason: Why there is no score.
        grader: What graded it; empty in entries of earlier versions.
        answer: The hash of the answer that was graded; another answer is graded again.
    """

    run: str
    score: float | None
    votes: tuple[float | None, ...] = ()
    texts: tuple[str, ...] = ()
    model: str = ""
    reason: str = ""
    extracted: str = ""
    grader: str = ""
    answer: str = ""
    at: float = 0.0


class ComparisonFolder(RecordFolder[Comparison]):
    """The folder of one comparison; ``create`` creates one, ``open`` opens an existing one.

    Thread-safe; one process writes.
    """

    definition_class = Comparison
    noun = "comparison"
    parent = "comparisons"

    def __init__(self, data: Path, record: Record[Comparison]) -> None:
        super().__init__(data, record)
        self._runs = EntryList(
            self.path / "runs.jsonl", RunEntry, lambda each: (each.member, each.repetition),
            _MAX_LIST_BYTES,
        )  # fmt: skip
        self._scores = EntryList(
            self.path / "scores.jsonl", ScoreEntry, lambda each: each.run, _MAX_LIST_BYTES
        )

    @classmethod
    def create(cls, data: Path, comparison: Comparison, title: str = "") -> Self:
        """Create the folder of a new comparison; its id and time are set here.

        Args:
            data: The data folder.
            comparison: The definition, checked; ``id`` and ``created`` are replaced.
            title: A title; empty for the task's first line.

        Raises:
            OSError: The folder cannot be written.
        """
        return cls.create_record(data, comparison, title)

    def runs(self) -> list[RunEntry]:
        """Return its runs by member and repetition; of one started again, the last."""
        return [entry for _, entry in sorted(self._runs.entries().items())]

    def run_of(self, member: int, repetition: int) -> str | None:
        """Return the last run of a member's repetition, or None."""
        entry = self._runs.get((member, repetition))
        return entry.run if entry else None

    def add_run(self, member: int, repetition: int, run: str) -> None:
        """Record that a run is a repetition of a member. Raises ``OSError``."""
        self._runs.add(RunEntry(member=member, repetition=repetition, run=run, at=time.time()))

    def scores(self) -> dict[str, ScoreEntry]:
        """Return the last verdict of the judge on each run."""
        return self._scores.entries()

    def add_score(self, score: ScoreEntry) -> None:
        """Record a verdict of the judge. Raises ``OSError``."""
        self._scores.add(replace(score, at=time.time()))


def digest_of(answer: str) -> str:
    """Return a short hash of an answer, which tells whether it was judged."""
    return hashlib.sha256(answer.encode("utf-8", "replace")).hexdigest()[:32]
