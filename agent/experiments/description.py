"""An experiment as JSON: what the page, the API and the exports read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from agent.experiments.document_sizes import documents_to_json
from agent.experiments.experiment import Experiment, Judge, Member, SuiteInfo, varying_fields
from agent.experiments.figures.measures import Means
from agent.experiments.figures.table import (
    Figures,
    comparison_table,
    tables_by_domain,
    unequal_limits,
)
from agent.experiments.figures.verdict import verdict_of
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import Cell, Outcome, Summaries, cells_of, counts_of, missing
from agent.experiments.publish.columns import definitions
from agent.experiments.publish.results import (
    ALL,
    MEAN,
    judge_figures,
    results_by_domain,
    results_of_repetitions,
)
from agent.experiments.publish.rows import rows_of
from agent.experiments.publish.run_row import RunRow
from agent.experiments.reading.filters import (
    failure_of,
    fields_to_json,
    labels_to_json,
    uses_of,
)
from agent.experiments.reading.labels import agreement
from agent.experiments.scan.description import answers_of_run, fields_of, questions_to_json
from agent.experiments.suite import EvalTask
from agent.experiments.suites import presets
from agent.grading.checks import CHECKS, is_right
from agent.models.builtin.install import BUILTIN_ID, BUILTIN_NAME
from agent.models.parameters import camel_case
from agent.runs.metrics.run_metrics import provenance_of
from agent.runs.summary import Summary
from agent.titles import strip_markdown, title_for_task

State = Literal["running", "finished", "stopped", "interrupted"]
INTERVAL = (
    "All intervals are at 95 %: Wilson’s of a score and Newcombe’s of a paired gain where every "
    "answer is right or wrong, otherwise a bootstrap over the tasks; of a mean over domains, "
    "MOVER from the domains’ intervals."
)
_MODE_DETAILS = {"plain": "documents in the prompt", "sandbox": "documents as files"}
_HIDDEN_SETTINGS = ("baseUrl", "extraBody")
_NOTHING_TO_DO = {
    "canEdit": False, "canResume": False, "canRetry": False, "elsewhere": "", "note": "",
    "scanning": {},
}  # fmt: skip
_MAX_ANSWER = 20_000
_MAX_TASK_TITLE, _MAX_REASON, _MAX_EXTRACTED = 120, 300, 60
_OF_A_SUITE = (
    "name", "title", "domain", "licence", "source", "sample", "tasks", "sha256", "scorer",
    "extraction", "prompt", "parameters",
)  # fmt: skip


def describe(
    folder: ExperimentFolder, summaries: Summaries, *, running: bool = False
) -> dict[str, Any]:
    """Return an experiment with its results; a summary is None for a run that is queued."""
    definition = folder.definition
    cells = cells_of(folder, summaries, running=running)
    runs = [
        [run for row in cells for run in row[index].runs]
        for index in range(len(definition.members))
    ]
    baselines = [definition.baseline_of(index) for index in range(len(definition.members))]
    rows, questions = list(rows_of(folder, cells)), questions_to_json(folder)
    if definition.suites:
        domains = [suite.domain for suite in folder.suite_of]
        results = results_by_domain(rows, domains, baselines)
        shown = _evaluation(folder, cells, rows, results, baselines)
        shown["filters"] += fields_of(questions)
    else:
        check = definition.expected.kind if definition.expected else None
        results = results_of_repetitions(rows, definition.repetitions, baselines, check)
        shown = _comparison(folder, runs, rows, results[0]["members"], running)
    members = [
        _member_to_json(index, member, [each.summary for each in runs[index] if each.summary])
        for index, member in enumerate(definition.members)
    ]
    return {
        "id": definition.id,
        "title": title_of(folder),
        "created": definition.created,
        "canEdit": True,
        "pinned": folder.pinned,
        "state": _state(folder, summaries, running=running),
        "baseline": definition.baseline,
        "repetitions": definition.repetitions,
        "counts": counts_of(definition, Counter(row.outcome for row in rows)),
        "results": results,
        "raters": list(folder.labels.raters),
        "labels": folder.labels.names,
        "agreement": agreement(folder.labels.raters, ((row.label_1, row.label_2) for row in rows)),
        "questions": questions,
        **shown,
        "members": [each | more for each, more in zip(members, shown["members"], strict=True)],
    }


def for_readers(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return what others than the owner see of it: no addresses of endpoints, nothing to do."""
    members = [
        each | {"settings": {name: value for name, value in each["settings"].items()
                             if name not in _HIDDEN_SETTINGS}}
        for each in description["members"]
    ]  # fmt: skip
    shown = {**description, **_NOTHING_TO_DO, "members": members}
    if expected := description.get("expected"):
        shown["expected"] = expected | {"judge": _without_address(expected["judge"])}
    if "judge" in description:
        shown["judge"] = _without_address(description["judge"])
    return shown


def _without_address(judge: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return {**judge, "baseUrl": ""} if judge else None


def title_of(folder: ExperimentFolder) -> str:
    """Return the title that the user gave, or the suites' titles, or the task's first line."""
    suites = folder.definition.suites_by_name
    if folder.title or not suites:
        return folder.title or title_for_task(folder.definition.task)
    return ", ".join(f"{suite.title} (sample)" if suite.sample else suite.title for suite in suites)


def _state(folder: ExperimentFolder, summaries: Summaries, *, running: bool) -> State:
    """Return what an experiment as a whole is doing."""
    if running:
        return "running"
    if not missing(folder, summaries):
        return "finished"
    return "stopped" if folder.stopped else "interrupted"


def _member_to_json(index: int, member: Member, known: list[Summary]) -> dict[str, Any]:
    """Return a member; its model is the one that answered, or before that, the one asked for."""
    asked = BUILTIN_NAME if member.model == BUILTIN_ID else member.model
    return {
        "index": index,
        "label": member.label,
        "detail": _MODE_DETAILS[member.mode],
        "model": known[0].model if known else asked,
        "mode": member.mode,
        "settings": _settings_of(member),
        **provenance_of(each.metrics for each in known),
    }


def _settings_of(member: Member) -> dict[str, Any]:
    """Return the settings of a member that are set, by the page's names."""
    values = asdict(member)
    for name in ("label", "mode", "model"):
        del values[name]
    empty: tuple[Any, ...] = (None, "", {}, ())
    return {camel_case(name): value for name, value in values.items() if value not in empty}


def _judge_to_json(judge: Judge) -> dict[str, Any]:
    return {camel_case(name): each for name, each in asdict(judge).items()}


def _about_run(run: Outcome) -> dict[str, Any]:
    """Return the fields of a run that comparisons and evaluations share."""
    return {
        "run": run.entry.run,
        "repetition": run.entry.repetition,
        "score": run.score,
        "grader": run.grade.grader if run.grade else "",
        **labels_to_json(run),
        **answers_of_run(run.answers),
    }


# A comparison: inputs, the members' runs, the table and the verdict.


def _comparison(
    folder: ExperimentFolder,
    runs: Sequence[Sequence[Outcome]],
    rows: Sequence[RunRow],
    figures: Sequence[Figures],
    running: bool,
) -> dict[str, Any]:
    comparison = folder.definition
    members = [[run for run in each if not run.deleted] for each in runs]
    ended = {run.entry.run for each in runs for run in each if run.counts}
    means = [
        Means([row for row in rows if row.member == index and row.run in ended])
        for index in range(len(members))
    ]
    inputs = documents_to_json(folder, members)
    known = [each.get("characters") for each in inputs]
    characters = sum(each or 0 for each in known) if known and None not in known else None
    unequal, expected = unequal_limits(comparison, members), comparison.expected
    return {
        "task": comparison.task,
        "inputs": inputs,
        "varying": [camel_case(each) for each in varying_fields(comparison.members)],
        "expected": expected and asdict(expected) | {
            "check": CHECKS[expected.kind].title,
            "judge": expected.judge and _judge_to_json(expected.judge),
        },
        "members": [
            _runs_to_json([_run_to_json(comparison, run, running) for run in each])
            | {"unequal": unequal[index]}
            for index, each in enumerate(runs)
        ],
        "verdict": verdict_of(comparison, members, figures, means),
        "table": comparison_table(comparison, members, figures, means, characters),
    }  # fmt: skip


def _runs_to_json(runs: list[dict[str, Any]]) -> dict[str, Any]:
    last = runs[-1]["state"] if runs else "queued"
    return {"state": next((each["state"] for each in runs if each["running"]), last), "runs": runs}


def _run_to_json(comparison: Experiment, run: Outcome, running: bool) -> dict[str, Any]:
    summary, grade, expected = run.summary, run.grade, comparison.expected
    state = "deleted" if run.deleted else "queued" if running else "interrupted"
    judged = grade and (grade.votes or grade.score is None)
    return _about_run(run) | {
        "state": summary.state if summary else state,
        "running": summary.running if summary else state == "queued",
        "status": summary.state if summary and not summary.running else "",
        "reason": summary.reason if summary else "",
        "answer": run.answer[:_MAX_ANSWER],
        "right": expected and not run.deleted and is_right(expected.kind, run.score),
        "judge": {"votes": grade.votes, "texts": grade.texts, "reason": grade.reason}
        if grade and judged else None,
        "extracted": grade.extracted if grade else "",
        "deleted": run.deleted,
    }  # fmt: skip


# An evaluation: suites, results by domain, tasks and cells.


def _evaluation(
    folder: ExperimentFolder,
    cells: Sequence[Sequence[Cell]],
    rows: Sequence[RunRow],
    results: list[dict[str, Any]],
    baselines: Sequence[int],
) -> dict[str, Any]:
    definition, judge = folder.definition, folder.definition.judge
    tables = tables_by_domain(definition, rows, results)
    prompts = dict.fromkeys(
        suite.judge_prompt for suite in definition.suites if suite.scorer == "judge"
    )
    return {
        "suites": [_suite_to_json(suite, definition) for suite in definition.suites_by_name],
        "domains": [each["domain"] for each in results if each["domain"] not in (ALL, MEAN)],
        "preset": _preset_to_json(definition),
        "concurrency": definition.concurrency,
        "merged": definition.from_runs,
        "judge": judge and _judge_to_json(judge) | judge_figures(folder) | {
            "prompt": judge.prompt or "\n\n".join(prompts),
        },
        "members": [{"baseline": baseline} for baseline in baselines],
        "interval": INTERVAL,
        "columns": definitions("domains"),
        "filters": fields_to_json(),
        "results": [each | {"table": tables.get(each["domain"])} for each in results],
        "tasks": [
            _task_to_json(suite, task)
            for suite, task in zip(folder.suite_of, folder.tasks, strict=True)
        ],
        "cells": [[cell_to_json(cell) for cell in row] for row in cells],
    }  # fmt: skip


def cell_to_json(cell: Cell) -> dict[str, Any]:
    """Return the cell of a task and a member."""
    return {
        "outcome": cell.outcome,
        "score": cell.score,
        "runs": [
            _about_run(run)
            | {
                "attempt": run.entry.attempt,
                "outcome": run.outcome,
                "reason": run.reason[:_MAX_REASON],
                "extracted": run.grade.extracted[:_MAX_EXTRACTED] if run.grade else "",
                "failure": failure_of(run),
                "uses": uses_of(run),
                "tokens": run.metrics.tokens_once,
                "turns": run.summary.steps if run.summary else None,
                "cost": run.metrics.cost,
            }
            for run in cell.runs
        ],
    }


def _suite_to_json(suite: SuiteInfo, definition: Experiment) -> dict[str, Any]:
    known = {name: getattr(suite, name) for name in _OF_A_SUITE}
    repetitions = definition.repetitions_of(suite)
    return known | {"check": CHECKS[suite.scorer].title, "repetitions": repetitions}


def _preset_to_json(definition: Experiment) -> dict[str, Any] | None:
    """Return the preset of the suites and the experiment's departures from it."""
    name = next((suite.preset for suite in definition.suites if suite.preset), "")
    return {"name": name, "departures": presets.departures(definition)} if name else None


def _task_to_json(suite: SuiteInfo, task: EvalTask) -> dict[str, Any]:
    line = next((line for line in task.text.splitlines() if line.strip()), "")
    return {
        "id": task.id,
        "suite": suite.name,
        "domain": suite.domain,
        "group": task.group,
        "title": strip_markdown(line)[:_MAX_TASK_TITLE],
    }
