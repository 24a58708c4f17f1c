"""How the runs of an evaluation ended: what is counted, and what is still to do."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from agent.compare.outcomes import is_unfinished
from agent.evals.folder import EvaluationFolder, Key, RunEntry, ScoreEntry
from agent.loop.failures import is_models_failure
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


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """One run of an evaluation, as it counts.

    Attributes:
        entry: Which run it is.
        outcome: ``right``, ``wrong`` or ``partial`` if it has a score; ``unscored`` if it ended
            without one; ``infrastructure`` if the engine, the endpoint or the studio failed:
            this never counts as wrong.
        score: The score; None if there is none.
        reason: Why there is no score, or why it failed.
        summary: The run's summary, if it is known.
        grade: The stored grade, if it has a score.
    """

    entry: RunEntry
    outcome: OutcomeName
    score: float | None = None
    reason: str = ""
    summary: Summary | None = None
    grade: ScoreEntry | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """All repetitions of a task by a member.

    Attributes:
        outcome: The outcome of all; while any is not done, that of the others.
        score: The mean of the known scores; None without any.
        runs: The runs that were begun, by repetition.
    """

    outcome: OutcomeName
    score: float | None
    runs: tuple[RunOutcome, ...]


def is_infrastructure(summary: Summary) -> bool:
    """Whether a run failed for a reason that is not the model's: engine, endpoint, queue."""
    return not is_unfinished(summary) and is_infrastructure_failure(summary.state, summary.reason)


def is_infrastructure_failure(status: str, reason: str) -> bool:
    """Whether a run with this status and reason failed for a reason that is not the model's."""
    return status == "failed" and not is_models_failure(reason)


def run_outcome(
    entry: RunEntry, summaries: Summaries, scores: Mapping[str, ScoreEntry], *, running: bool
) -> RunOutcome:
    """Return how a run counts.

    Args:
        entry: The run.
        summaries: The summaries of the runs.
        scores: The stored scores by run.
        running: Whether the evaluation's runs are being carried out.
    """
    score, deleted = scores.get(entry.run), entry.run not in summaries
    summary = summaries.get(entry.run)
    if summary is None and not deleted:
        return RunOutcome(entry, "waiting")
    if summary is not None:
        if summary.running:
            return RunOutcome(entry, "running", summary=summary)
        if is_unfinished(summary):
            return RunOutcome(entry, "stopped", None, summary.reason, summary)
        if is_infrastructure(summary):
            return RunOutcome(entry, "infrastructure", None, summary.reason, summary)
    if score is None and running and not deleted:
        return RunOutcome(entry, "running", summary=summary)  # its answer is being scored
    if score is None or score.value is None:
        unknown = "The run was deleted." if deleted else "It is not scored yet."
        return RunOutcome(entry, "unscored", None, score.reason if score else unknown, summary)
    outcome = outcome_of_score(score.value)
    return RunOutcome(entry, outcome, score.value, score.reason, summary, score)


def outcome_of_score(value: float) -> OutcomeName:
    """Return the outcome of a score from 0 to 1."""
    return "right" if value >= 1 else "wrong" if value <= 0 else "partial"


def cell_outcome(
    entries: Sequence[RunEntry],
    summaries: Summaries,
    scores: Mapping[str, ScoreEntry],
    *,
    repetitions: int = 1,
    running: bool = False,
) -> Cell:
    """Return the cell of a task and a member.

    Args:
        entries: The entries of the cell.
        summaries: The summaries of its runs, at least.
        scores: The scores of its runs, at least.
        repetitions: How many runs the cell has in the end.
        running: Whether the evaluation's runs are being carried out.
    """
    runs = tuple(run_outcome(each, summaries, scores, running=running) for each in entries)
    found = {each.outcome for each in runs}
    if len(runs) < repetitions:
        found.add("waiting")
    known = [each.score for each in runs if each.score is not None]
    mean = sum(known) / len(known) if known else None
    if mean is not None and found <= SCORED:
        return Cell(outcome_of_score(mean), mean, runs)
    return Cell(next(name for name in _FIRST if name in found), mean, runs)


def cells_of(
    folder: EvaluationFolder, summaries: Summaries, *, running: bool = False
) -> list[list[Cell]]:
    """Return the cells of all tasks and members."""
    definition, scores = folder.definition, folder.scores()
    entries: dict[tuple[int, int], list[RunEntry]] = {}
    for each in folder.runs():
        entries.setdefault((each.task, each.member), []).append(each)
    return [
        [
            cell_outcome(
                entries.get((task, member), ()), summaries, scores,
                repetitions=definition.repetitions, running=running,
            )
            for member in range(len(definition.members))
        ]
        for task in range(definition.task_count)
    ]  # fmt: skip


def missing(folder: EvaluationFolder, summaries: Summaries) -> list[Key]:
    """Return the (task, member, repetition) that are still to do, in their order.

    A run that was stopped or interrupted is done again; one that ended, or that was deleted, is
    not. The members take turns at each task, so that an evaluation that ends early has as many
    pairs as possible.
    """
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


def infrastructure(folder: EvaluationFolder, summaries: Summaries) -> list[Key]:
    """Return the (task, member, repetition) whose run failed by an infrastructure error."""
    return [
        each.key
        for each in folder.runs()
        if (summary := summaries.get(each.run)) is not None and not summary.running
        if is_infrastructure(summary)
    ]


def unscored(folder: EvaluationFolder, summaries: Summaries) -> list[RunEntry]:
    """Return the runs that ended with a result and have no score."""
    scores = folder.scores()
    return [
        each
        for each in folder.runs()
        if summaries.get(each.run) is not None
        if run_outcome(each, summaries, scores, running=False).outcome == "unscored"
    ]


def is_complete(entries: Collection[Cell]) -> bool:
    """Whether nothing of some cells is still to do."""
    return all(cell.outcome not in ("running", "waiting", "stopped") for cell in entries)


def _keys(folder: EvaluationFolder) -> Iterator[Key]:
    definition = folder.definition
    for repetition in range(1, definition.repetitions + 1):
        for task in range(definition.task_count):
            for member in range(len(definition.members)):
                yield task, member, repetition
