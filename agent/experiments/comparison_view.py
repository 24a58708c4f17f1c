"""A comparison's part of the JSON: inputs, the members' runs, the table and the verdict."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from agent.experiments.documents import documents_to_json
from agent.experiments.experiment import ExpectedAnswer, Experiment, varying_fields
from agent.experiments.figures.table import build_table, unequal_limits
from agent.experiments.figures.verdict import verdict_of
from agent.experiments.folder import ExperimentFolder, RunEntry
from agent.experiments.outcomes import Outcome, Summaries, outcomes_of
from agent.grading.checks import CHECKS, Grade
from agent.grading.grade import is_right
from agent.models.parameters import camel_case

MAX_SHOWN_ANSWER = 20_000


def columns(folder: ExperimentFolder, summaries: Summaries, *, running: bool) -> dict[str, Any]:
    """Return what a comparison shows besides what all experiments show."""
    comparison, entries = folder.definition, folder.runs()
    members = outcomes_of(folder, summaries)
    inputs = documents_to_json(folder, members)
    unequal = unequal_limits(comparison, members)
    return {
        "task": comparison.task,
        "inputs": inputs,
        "varying": [camel_case(each) for each in varying_fields(comparison.members)],
        "expected": comparison.expected and _expected_to_json(comparison.expected),
        "members": [
            _member_to_json(
                comparison, [each for each in entries if each.member == index], outcomes,
                running=running,
            ) | {"unequal": unequal[index]}
            for index, outcomes in enumerate(members)
        ],
        "verdict": verdict_of(comparison, members),
        "table": build_table(comparison, members, _characters(inputs)),
    }  # fmt: skip


def _characters(inputs: list[dict[str, Any]]) -> int | None:
    """Return the characters of all documents; None if those of any are unknown."""
    known = [each.get("characters") for each in inputs]
    return sum(each or 0 for each in known) if known and None not in known else None


def _expected_to_json(expected: ExpectedAnswer) -> dict[str, Any]:
    judge = expected.judge
    return {
        **asdict(expected),
        "check": CHECKS[expected.kind].title,
        "judge": judge and {camel_case(name): each for name, each in asdict(judge).items()},
    }


def _member_to_json(
    comparison: Experiment,
    entries: Sequence[RunEntry],
    outcomes: Collection[Outcome],
    *,
    running: bool,
) -> dict[str, Any]:
    known = {each.entry.run: each for each in outcomes}
    runs = [
        _run_to_json(comparison, entry, known.get(entry.run), running=running) for entry in entries
    ]
    last = str(runs[-1]["state"]) if runs else "queued"
    return {
        "state": next((each["state"] for each in runs if each["running"]), last),
        "runs": runs,
    }


def _run_to_json(
    comparison: Experiment, entry: RunEntry, outcome: Outcome | None, *, running: bool
) -> dict[str, Any]:
    """Return one run; ``outcome`` is None if it was deleted."""
    summary, expected = outcome.summary if outcome else None, comparison.expected
    state = "deleted" if outcome is None else "queued" if running else "interrupted"
    return {
        "run": entry.run,
        "repetition": entry.repetition,
        "state": summary.state if summary else state,
        "running": summary.running if summary else state == "queued",
        "status": summary.state if summary and not summary.running else "",
        "reason": summary.reason if summary else "",
        "answer": outcome.answer[:MAX_SHOWN_ANSWER] if outcome else "",
        "score": outcome.score if outcome else None,
        "right": expected and outcome and is_right(expected.kind, outcome.score),
        "judge": _judged_to_json(outcome.grade) if outcome else None,
        "extracted": outcome.grade.extracted if outcome and outcome.grade else "",
        "grader": outcome.grade.grader if outcome and outcome.grade else "",
        "deleted": outcome is None,
    }


def _judged_to_json(judged: Grade | None) -> dict[str, Any] | None:
    if judged is None or not (judged.votes or judged.score is None):
        return None
    return {"votes": judged.votes, "texts": judged.texts, "reason": judged.reason}
