"""How the runs of a comparison ended, with their answers and scores."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agent.compare.folder import ComparisonFolder, RunEntry, ScoreEntry
from agent.compare.scoring import grade_of
from agent.errors import JournalError
from agent.events import RunEnded
from agent.grading.checks import Grade
from agent.grading.grade import is_right
from agent.grading.texts import normalized
from agent.runs import journal
from agent.runs.event_recorder import INTERRUPTED
from agent.runs.metrics.run_metrics import RunMetrics
from agent.runs.summary import Summary

_NO_METRICS = RunMetrics(rounds=0, prompt="", network="")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of a comparison that exists.

    Attributes:
        entry: Which repetition of which member it is.
        summary: Its summary; None if it has not begun.
        answer: Its whole answer.
        grade: The answer's grade; None if it is unknown or no answer is expected.
        right: Whether the score means right; None if that is not defined.
    """

    entry: RunEntry
    summary: Summary | None
    answer: str = ""
    grade: Grade | None = None
    right: bool | None = None

    @property
    def score(self) -> float | None:
        """The answer's score; None if it is unknown or no answer is expected."""
        return self.grade.score if self.grade else None

    @property
    def metrics(self) -> RunMetrics:
        """The run's figures; all unknown for a run that has none."""
        return (self.summary and self.summary.metrics) or _NO_METRICS

    @property
    def counts(self) -> bool:
        """Whether it has a result: it ended, and was not stopped or interrupted."""
        return self.summary is not None and not self.summary.running and not is_unfinished(
            self.summary
        )  # fmt: skip


def is_unfinished(summary: Summary | None) -> bool:
    """Whether a run ended without a result of its own: stopped, interrupted, or not begun."""
    if summary is None:
        return True
    return not summary.running and (
        summary.state == "stopped" or (summary.state, summary.reason) == ("failed", INTERRUPTED)
    )


def outcomes_of(
    folder: ComparisonFolder, summaries: Mapping[str, Summary | None]
) -> list[list[Outcome]]:
    """Return the runs of each member that were not deleted, by repetition."""
    scores = folder.scores()
    found: list[list[Outcome]] = [[] for _ in folder.definition.members]
    for entry in folder.runs():
        if entry.run in summaries and entry.member < len(found):
            summary = summaries[entry.run]
            found[entry.member].append(_outcome(folder, entry, summary, scores.get(entry.run)))
    return found


def most_frequent_answer(outcomes: Sequence[Outcome]) -> tuple[str, int]:
    """Return the answer that most runs gave, ignoring case and markup, and their number."""
    answers = [each.answer for each in outcomes if each.counts and each.answer.strip()]
    if not answers:
        return "", 0
    (key, count), *_ = Counter(map(normalized, answers)).most_common(1)
    return next(answer for answer in answers if normalized(answer) == key), count


def _outcome(
    folder: ComparisonFolder,
    entry: RunEntry,
    summary: Summary | None,
    stored: ScoreEntry | None,
) -> Outcome:
    if summary is None or summary.running or is_unfinished(summary):
        return Outcome(entry, summary)
    answer = whole_answer(folder.data, entry.run, summary)
    grade, expected = grade_of(folder.definition, answer, stored), folder.definition.expected
    right = is_right(expected.kind, grade.score) if grade and expected else None
    return Outcome(entry, summary, answer, grade, right)


def whole_answer(data: Path, run: str, summary: Summary) -> str:
    """Return a run's answer, of which the summary has the beginning only."""
    metrics = summary.metrics
    if metrics is None or metrics.answer_characters <= len(summary.answer):
        return summary.answer
    return _answer_in_journal(data / "runs" / run / "journal.jsonl", summary.at) or summary.answer


@lru_cache(maxsize=256)
def _answer_in_journal(path: Path, _at: float) -> str:
    """Return the answer at the end of a journal; ``_at`` tells a later end from this one."""
    try:
        event = journal.last_event(path)
    except (OSError, JournalError):
        return ""
    return event.answer if isinstance(event, RunEnded) else ""
