"""How the runs of an experiment ended: what is counted, and what is still to do."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from agent.errors import JournalError
from agent.events import RunEnded
from agent.experiments.experiment import Experiment
from agent.experiments.folder import ExperimentFolder, Key, RunEntry
from agent.experiments.reading.labels import LabelEntry
from agent.experiments.scan.records import Answer
from agent.experiments.scoring import is_stored, known_grade
from agent.grading.checks import Grade
from agent.grading.texts import normalized
from agent.loop.failures import is_models_failure
from agent.runs import journal
from agent.runs.event_recorder import INTERRUPTED
from agent.runs.metrics.run_metrics import RunMetrics
from agent.runs.summary import Summary

OutcomeName = Literal[
    "right", "wrong", "partial", "unscored", "infrastructure", "running", "waiting", "stopped"
]
OUTCOMES: tuple[OutcomeName, ...] = get_args(OutcomeName)
SCORED: frozenset[OutcomeName] = frozenset(("right", "wrong", "partial"))
DONE: frozenset[OutcomeName] = SCORED | {"unscored", "infrastructure"}
"""The outcomes of runs that are not carried out again, unless the user retries them."""

# What a cell with several runs shows, unless all of them are scored.
_FIRST: tuple[OutcomeName, ...] = ("running", "waiting", "stopped", "infrastructure", "unscored")
Summaries = Mapping[str, Summary | None]
"""Summaries by run: None for one that is queued or starting; a missing run was deleted."""

_NO_METRICS = RunMetrics(rounds=0, prompt="", network="")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of an experiment, as it counts; only a comparison's has its whole ``answer``.

    ``infrastructure`` never counts as wrong: the engine, the endpoint or the studio failed.
    ``reason`` is why it failed, or why there is no score.
    """

    entry: RunEntry
    outcome: OutcomeName
    reason: str = ""
    summary: Summary | None = None
    grade: Grade | None = None
    answer: str = ""
    labels: Sequence[LabelEntry] = ()
    answers: Sequence[Answer] = ()

    @property
    def score(self) -> float | None:
        """The answer's score; None if there is none."""
        return self.grade.score if self.grade else None

    @property
    def metrics(self) -> RunMetrics:
        """The run's figures; all unknown for a run that has none."""
        return (self.summary and self.summary.metrics) or _NO_METRICS

    @property
    def deleted(self) -> bool:
        """Whether the run was deleted."""
        return self.summary is None and self.outcome != "waiting"

    @property
    def counts(self) -> bool:
        """Whether it has a result: it ended, and was not stopped or interrupted."""
        return has_ended(self.summary)


@dataclass(frozen=True, slots=True)
class Cell:
    """All repetitions of a task by a member; ``score`` is the mean of the known scores."""

    outcome: OutcomeName
    score: float | None
    runs: tuple[Outcome, ...]


def is_unfinished(summary: Summary | None) -> bool:
    """Whether a run ended without a result of its own: stopped, interrupted, or not begun."""
    if summary is None:
        return True
    return not summary.running and (
        summary.state == "stopped" or (summary.state, summary.reason) == ("failed", INTERRUPTED)
    )


def has_ended(summary: Summary | None) -> bool:
    """Whether a run ended with a result of its own."""
    return summary is not None and not summary.running and not is_unfinished(summary)


def is_infrastructure(summary: Summary) -> bool:
    """Whether a run failed for a reason that is not the model's: engine, endpoint, queue."""
    return not is_unfinished(summary) and is_infrastructure_failure(summary.state, summary.reason)


def is_infrastructure_failure(status: str, reason: str) -> bool:
    """Whether a run with this status and reason failed for a reason that is not the model's."""
    return status == "failed" and not is_models_failure(reason)


def has_answer(summary: Summary) -> bool:
    """Whether a run has ended with a result that can be scored."""
    return has_ended(summary) and not is_infrastructure(summary)


def outcome_of(
    folder: ExperimentFolder, entry: RunEntry, summaries: Summaries, *, running: bool
) -> Outcome:
    """Return how a run counts; one of a comparison has its whole answer."""
    summary, stored, answer = summaries.get(entry.run), folder.score(entry.run), ""
    deleted = entry.run not in summaries
    if summary is None and not deleted:
        return Outcome(entry, "waiting")
    if summary is not None:
        if summary.running:
            return Outcome(entry, "running", summary=summary)
        if is_unfinished(summary):
            return Outcome(entry, "stopped", summary.reason, summary)
        if folder.kind == "comparison":
            answer = whole_answer(folder.data, entry.run, summary)
        if is_infrastructure(summary):
            return Outcome(entry, "infrastructure", summary.reason, summary, answer=answer)
    if folder.kind == "comparison":
        grade = None if deleted else known_grade(folder, entry.task, answer, stored)
    else:
        grade = stored.grade if stored else None
    if grade is not None and grade.score is not None:
        outcome = outcome_of_score(grade.score)
        return Outcome(entry, outcome, grade.reason, summary, grade, answer)
    scored = folder.expected(entry.task) is not None
    if grade is None and running and scored and not deleted:  # its answer is being scored
        return Outcome(entry, "running", summary=summary, answer=answer)
    unknown = "The run was deleted." if deleted else "It is not scored yet."
    return Outcome(entry, "unscored", grade.reason if grade else unknown, summary, grade, answer)


def outcome_of_score(value: float) -> OutcomeName:
    """Return the outcome of a score from 0 to 1."""
    return "right" if value >= 1 else "wrong" if value <= 0 else "partial"


def cell_of(
    folder: ExperimentFolder, task: int, member: int, summaries: Summaries, *, running: bool
) -> Cell:
    """Return the cell of a task and a member; what is not done goes before scores."""
    entries = folder.runs_at(task, member)
    runs = tuple(
        replace(
            outcome_of(folder, each, summaries, running=running),
            labels=folder.labels.of(each.run),
            answers=folder.scans.of(each.run),
        )
        for each in entries
    )
    found = {each.outcome for each in runs}
    if len(runs) < folder.repetitions_of(task):
        found.add("waiting")
    known = [each.score for each in runs if each.score is not None]
    mean = sum(known) / len(known) if known else None
    if mean is not None and found <= SCORED:
        return Cell(outcome_of_score(mean), mean, runs)
    return Cell(next(name for name in _FIRST if name in found), mean, runs)


def cells_of(
    folder: ExperimentFolder, summaries: Summaries, *, running: bool = False
) -> list[list[Cell]]:
    """Return the cells of all tasks and members."""
    members = range(len(folder.definition.members))
    return [
        [cell_of(folder, task, member, summaries, running=running) for member in members]
        for task in range(folder.definition.task_count)
    ]


def counts_of(experiment: Experiment, known: Mapping[OutcomeName, int]) -> dict[str, int]:
    """Return the number of runs by outcome, ``done`` and the ``total``; others are waiting."""
    total = sum(known.values()) if experiment.from_runs else experiment.run_count
    found: dict[str, int] = {name: known.get(name, 0) for name in OUTCOMES}
    found["waiting"] += total - sum(found.values())
    return {**found, "done": sum(found[name] for name in DONE), "total": total}


def most_frequent_answer(outcomes: Sequence[Outcome]) -> tuple[str, int]:
    """Return the answer that most runs gave, ignoring case and markup, and their number."""
    answers = [each.answer for each in outcomes if each.counts and each.answer.strip()]
    if not answers:
        return "", 0
    (key, count), *_ = Counter(map(normalized, answers)).most_common(1)
    return next(answer for answer in answers if normalized(answer) == key), count


def whole_answer(data: Path, run: str, summary: Summary) -> str:
    """Return a run's answer, of which the summary has the beginning only."""
    metrics = summary.metrics
    if metrics is None or metrics.answer_characters <= len(summary.answer):
        return summary.answer
    return _answer_in_journal(journal.path_of(data, run), summary.at) or summary.answer


@lru_cache(maxsize=256)
def _answer_in_journal(path: Path, _at: float) -> str:
    """Return the answer at the end of a journal; ``_at`` tells a later end from this one."""
    try:
        event = journal.last_event(path)
    except (OSError, JournalError):
        return ""
    return event.answer if isinstance(event, RunEnded) else ""


def missing(folder: ExperimentFolder, summaries: Summaries) -> list[Key]:
    """Return the (task, member, repetition) that are still to do, in their order.

    Stopped and interrupted runs are done again, deleted ones are not. Members take turns at each
    task, so that an experiment that ends early has as many pairs as possible.
    """
    if folder.definition.from_runs:
        return []
    known = {each.key: each.run for each in folder.runs()}
    return [
        key
        for key in _keys(folder)
        if (run := known.get(key)) is None or (run in summaries and is_unfinished(summaries[run]))
    ]


def in_turn(key: Key) -> Key:
    """Return what sorts keys into the order in which they are carried out."""
    task, member, repetition = key
    return repetition, task, member


def infrastructure(folder: ExperimentFolder, summaries: Summaries) -> list[Key]:
    """Return the (task, member, repetition) whose run failed by an infrastructure error."""
    if folder.definition.from_runs:
        return []
    return [
        each.key
        for each in folder.runs()
        if (summary := summaries.get(each.run)) is not None and not summary.running
        if is_infrastructure(summary)
    ]


def unscored(folder: ExperimentFolder, summaries: Summaries) -> list[tuple[RunEntry, str]]:
    """Return the runs that ended with a result whose score is to be stored, and their answers."""
    return [
        (each, whole_answer(folder.data, each.run, summary))
        for each in folder.runs()
        if (summary := summaries.get(each.run)) is not None
        if outcome_of(folder, each, summaries, running=False).outcome == "unscored"
        if is_stored(folder, folder.expected(each.task))
    ]


def _keys(folder: ExperimentFolder) -> Iterator[Key]:
    definition = folder.definition
    times = [folder.repetitions_of(task) for task in range(definition.task_count)]
    for repetition in range(1, max(times) + 1):
        for task, most in enumerate(times):
            if repetition <= most:
                yield from ((task, member, repetition) for member in range(len(definition.members)))
