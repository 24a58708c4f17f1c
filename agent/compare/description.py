"""A comparison as JSON: what the page, the API and the exports read."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, Literal

from agent.compare.comparison import Comparison, ExpectedAnswer, Member
from agent.compare.documents import documents_to_json
from agent.compare.figures.table import build_table, unequal_limits
from agent.compare.figures.verdict import verdict_of
from agent.compare.folder import ComparisonFolder, RunEntry
from agent.compare.outcomes import Outcome, is_unfinished, outcomes_of
from agent.grading.checks import CHECKS, Grade
from agent.models.builtin.install import BUILTIN_ID, BUILTIN_NAME
from agent.models.parameters import camel_case
from agent.runs.metrics.provenance import provenance_of
from agent.runs.summary import Summary
from agent.titles import title_for_task

State = Literal["running", "finished", "stopped", "interrupted"]
MAX_SHOWN_ANSWER = 20_000
MODE_DETAILS = {"plain": "documents in the prompt", "sandbox": "documents as files"}


def describe(
    folder: ComparisonFolder,
    summaries: Mapping[str, Summary | None],
    *,
    running: bool = False,
    can_edit: bool = True,
) -> dict[str, Any]:
    """Return a comparison with its table, as the page reads it.

    Args:
        folder: The comparison's folder.
        summaries: The summaries of its runs by id: None for one that is queued or starting; a
            run that is missing here was deleted.
        running: Whether its runs are being carried out, or are to be.
        can_edit: Whether the reader may stop, continue and delete it.
    """
    comparison, entries = folder.definition, folder.runs()
    members = outcomes_of(folder, summaries)
    inputs = documents_to_json(folder, members)
    unequal = unequal_limits(comparison, members)
    return {
        "id": comparison.id,
        "task": comparison.task,
        "title": folder.title or title_for_task(comparison.task),
        "created": comparison.created,
        "canEdit": can_edit,
        "pinned": folder.pinned,
        "state": state_of(folder, summaries, running=running),
        "inputs": inputs,
        "baseline": comparison.baseline,
        "varying": [camel_case(each) for each in comparison.varying],
        "repetitions": comparison.repetitions,
        "expected": expected_to_json(comparison.expected),
        "members": [
            _member_to_json(comparison, index, entries, outcomes, running=running)
            | {"unequal": unequal[index]}
            for index, outcomes in enumerate(members)
        ],
        "verdict": verdict_of(comparison, members),
        "table": build_table(comparison, members, _characters(inputs)),
    }


def _characters(inputs: list[dict[str, Any]]) -> int | None:
    """Return the characters of all documents; None if those of any are unknown."""
    known = [each.get("characters") for each in inputs]
    return sum(each or 0 for each in known) if known and None not in known else None


def state_of(
    folder: ComparisonFolder, summaries: Mapping[str, Summary | None], *, running: bool
) -> State:
    """Return what a comparison as a whole is doing."""
    if running:
        return "running"
    if folder.definition.from_runs or not missing_repetitions(folder, summaries):
        return "finished"
    return "stopped" if folder.stopped else "interrupted"


def missing_repetitions(
    folder: ComparisonFolder, summaries: Mapping[str, Summary | None]
) -> list[tuple[int, int]]:
    """Return the (member, repetition) pairs still to do, in the order in which they are started.

    A run that was stopped or interrupted is done again; one that failed, or that was deleted, is
    not. The members take turns, so that a comparison that ends early compares as many
    repetitions of each as possible.
    """
    comparison = folder.definition
    known = {(each.member, each.repetition): each.run for each in folder.runs()}
    return [
        (member, repetition)
        for repetition in range(1, comparison.repetitions + 1)
        for member in range(len(comparison.members))
        if (run := known.get((member, repetition))) is None
        or (run in summaries and is_unfinished(summaries[run]))
    ]


def expected_to_json(expected: ExpectedAnswer | None) -> dict[str, Any] | None:
    """Return the expected answer."""
    if expected is None:
        return None
    judge = expected.judge
    return {
        "kind": expected.kind,
        "check": CHECKS[expected.kind].title,
        "answer": expected.answer,
        "tolerance": expected.tolerance,
        "relative": expected.relative,
        "judge": judge
        and {
            "model": judge.model,
            "baseUrl": judge.base_url,
            "prompt": judge.prompt,
            "votes": judge.votes,
        },
    }


def _member_to_json(
    comparison: Comparison,
    index: int,
    entries: Collection[RunEntry],
    outcomes: Collection[Outcome],
    *,
    running: bool,
) -> dict[str, Any]:
    member, known = comparison.members[index], {each.entry.run: each for each in outcomes}
    runs = [
        _run_to_json(entry, known.get(entry.run), running=running)
        for entry in entries
        if entry.member == index
    ]
    return {
        "index": index,
        "label": member.label,
        "detail": MODE_DETAILS[member.mode],
        "model": _model_name(member, outcomes),
        "mode": member.mode,
        "settings": settings_of(member),
        **provenance_of(each.summary.metrics for each in outcomes if each.summary),
        "state": next((each["state"] for each in runs if each["running"]), _last_state(runs)),
        "runs": runs,
    }


def _model_name(member: Member, outcomes: Collection[Outcome]) -> str:
    """Return the name of the model that answered; before, the one that is asked for."""
    for outcome in outcomes:
        if outcome.summary is not None:
            return outcome.summary.model
    return BUILTIN_NAME if member.model == BUILTIN_ID else member.model


def _last_state(runs: list[dict[str, Any]]) -> str:
    return str(runs[-1]["state"]) if runs else "queued"


def _run_to_json(entry: RunEntry, outcome: Outcome | None, *, running: bool) -> dict[str, Any]:
    """Return one run; ``outcome`` is None if it was deleted."""
    summary = outcome.summary if outcome else None
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
        "right": outcome.right if outcome else None,
        "judge": _judged_to_json(outcome.grade) if outcome else None,
        "extracted": outcome.grade.extracted if outcome and outcome.grade else "",
        "grader": outcome.grade.grader if outcome and outcome.grade else "",
        "deleted": outcome is None,
    }


def _judged_to_json(judged: Grade | None) -> dict[str, Any] | None:
    if judged is None or not (judged.votes or judged.score is None):
        return None
    return {"votes": judged.votes, "texts": judged.texts, "reason": judged.reason}


def settings_of(member: Member) -> dict[str, Any]:
    """Return the settings of a member that are set, by the page's names."""
    values = asdict(member)
    for name in ("label", "mode", "model"):
        del values[name]
    empty: tuple[Any, ...] = (None, "", {}, ())
    return {camel_case(name): value for name, value in values.items() if value not in empty}
