"""An evaluation as JSON: what the page, the API and the exports read."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from agent.compare.description import MODE_DETAILS, settings_of
from agent.compare.figures.statistics import Estimate
from agent.evals.evaluation import Evaluation, SuiteInfo
from agent.evals.folder import EvaluationFolder
from agent.evals.outcomes import OUTCOMES, Cell, Summaries
from agent.evals.results import DomainResult, EvaluationResults, JudgeResult, MemberResult, results
from agent.evals.suite import EvalTask
from agent.grading.checks import CHECKS
from agent.models.builtin.install import BUILTIN_ID, BUILTIN_NAME
from agent.runs.metrics.provenance import provenance_of
from agent.titles import strip_markdown

INTERVAL = (
    "All intervals are at 95 %: Wilson’s of a score and Newcombe’s of a paired gain where every "
    "answer is right or wrong, otherwise a bootstrap over the tasks."
)
_MAX_TASK_TITLE = 120
_MAX_REASON = 300
_MAX_EXTRACTED = 60
_CAPABILITY_NAMES = {"external": "external", "file": "files", "compute": "computation"}


def describe(
    folder: EvaluationFolder,
    summaries: Summaries,
    *,
    running: bool = False,
    can_edit: bool = True,
) -> dict[str, Any]:
    """Return an evaluation with its results, as the page reads it.

    Args:
        folder: The evaluation's folder.
        summaries: The summaries of its runs by id: None for one that is queued or starting; a
            run that is missing here was deleted.
        running: Whether its runs are being carried out, or are to be.
        can_edit: Whether the reader may stop, continue and delete it.
    """
    definition, found = folder.definition, results(folder, summaries, running=running)
    runs_of = defaultdict[int, list[str]](list)
    for entry in folder.runs():
        runs_of[entry.member].append(entry.run)
    return {
        "id": definition.id,
        "title": title_of(folder),
        "created": definition.created,
        "canEdit": can_edit,
        "pinned": folder.pinned,
        "state": _state(folder, found, running=running),
        "suites": [_suite_to_json(suite) for suite in definition.suites],
        "domains": [each.domain for each in found.domains[1:]],
        "baseline": definition.baseline,
        "repetitions": definition.repetitions,
        "concurrency": definition.concurrency,
        "judge": _judge_to_json(definition, found.judge),
        "members": [
            {
                "index": index,
                "label": member.label,
                "detail": MODE_DETAILS[member.mode],
                "model": BUILTIN_NAME if member.model == BUILTIN_ID else member.model,
                "mode": member.mode,
                "baseline": definition.baseline_of(index),
                "settings": settings_of(member),
                **provenance_of(
                    known.metrics for run in runs_of[index] if (known := summaries.get(run))
                ),
            }
            for index, member in enumerate(definition.members)
        ],
        "interval": INTERVAL,
        "counts": counts_to_json(found),
        "results": [domain_to_json(each) for each in found.domains],
        "tasks": [
            _task_to_json(suite, task)
            for suite, task in zip(folder.suite_of, folder.tasks, strict=True)
        ],
        "cells": [[cell_to_json(cell) for cell in row] for row in found.cells],
    }


def title_of(folder: EvaluationFolder) -> str:
    """Return the title that the user gave an evaluation, or the titles of its suites."""
    suites = folder.definition.suites
    return folder.title or ", ".join(
        f"{suite.title} (sample)" if suite.sample else suite.title for suite in suites
    )


def counts_to_json(found: EvaluationResults) -> dict[str, int]:
    """Return the number of runs by outcome."""
    counts: dict[str, int] = {name: found.counts[name] for name in OUTCOMES}
    return {"total": sum(counts.values()), "done": found.done, **counts}


def cell_to_json(cell: Cell) -> dict[str, Any]:
    """Return the cell of a task and a member."""
    return {
        "outcome": cell.outcome,
        "score": cell.score,
        "runs": [
            {
                "run": run.entry.run,
                "repetition": run.entry.repetition,
                "attempt": run.entry.attempt,
                "outcome": run.outcome,
                "score": run.score,
                "reason": run.reason[:_MAX_REASON],
                "extracted": run.grade.extracted[:_MAX_EXTRACTED] if run.grade else "",
                "grader": run.grade.grader if run.grade else "",
            }
            for run in cell.runs
        ],
    }


def domain_to_json(domain: DomainResult) -> dict[str, Any]:
    """Return the results of a domain."""
    return {
        "domain": domain.domain,
        "tasks": domain.tasks,
        "members": [_member_to_json(index, each) for index, each in enumerate(domain.members)],
    }


def _member_to_json(index: int, found: MemberResult) -> dict[str, Any]:
    gain = found.gain.difference if found.gain else None
    return {
        "member": index,
        "baseline": found.baseline,
        "n": found.n,
        "correct": found.correct,
        **_estimate_to_json(found.score, "score", "low", "high"),
        "infrastructure": found.infrastructure,
        "unscored": found.unscored,
        **_estimate_to_json(gain, "gain", "gainLow", "gainHigh"),
        "gainP": found.gain.p if found.gain else None,
        "pairs": gain.n if gain else 0,
        "runs": found.runs,
        "tokensOnce": found.tokens_once,
        "tokensPeak": found.tokens_peak,
        "tokensPrompt": found.tokens_prompt,
        "tokensGenerated": found.tokens_generated,
        "turns": found.turns,
        "seconds": found.seconds,
        "capabilities": {
            name: rates and {_CAPABILITY_NAMES[key]: rates[key] for key in rates}
            for name, rates in (
                ("parsed", found.capabilities.get("ours")),
                ("paper", found.capabilities.get("paper")),
            )
        },
        "environmentTime": found.environment_time,
        "environmentTokens": found.environment_tokens,
        "throughput": found.throughput,
    }


def _estimate_to_json(found: Estimate | None, mean: str, low: str, high: str) -> dict[str, Any]:
    return {
        mean: found.mean if found else None,
        low: found.low if found else None,
        high: found.high if found else None,
    }


def _state(folder: EvaluationFolder, found: EvaluationResults, *, running: bool) -> str:
    """Return what an evaluation as a whole is doing."""
    if running:
        return "running"
    if found.done == sum(found.counts.values()):
        return "finished"
    return "stopped" if folder.stopped else "interrupted"


def _suite_to_json(suite: SuiteInfo) -> dict[str, Any]:
    return {
        "name": suite.name,
        "title": suite.title,
        "domain": suite.domain,
        "licence": suite.licence,
        "source": suite.source,
        "sample": suite.sample,
        "tasks": suite.tasks,
        "sha256": suite.sha256,
        "scorer": suite.scorer,
        "check": CHECKS[suite.scorer].title,
        "extraction": suite.extraction,
        "prompt": suite.prompt,
    }


def _judge_to_json(definition: Evaluation, found: JudgeResult | None) -> dict[str, Any] | None:
    judge = definition.judge
    if judge is None or found is None:
        return None
    return {
        "model": judge.model,
        "baseUrl": judge.base_url,
        "prompt": judge.prompt or _judge_prompt(definition.suites),
        "votes": judge.votes,
        "agreement": found.agreement,
        "failedVotes": found.failed,
        "askedVotes": found.asked,
        "answers": found.answers,
        "unscored": found.unscored,
    }


def _judge_prompt(suites: Sequence[SuiteInfo]) -> str:
    """Return the suites' own prompts for a judge."""
    return "\n\n".join(
        dict.fromkeys(suite.judge_prompt for suite in suites if suite.scorer == "judge")
    )


def _task_to_json(suite: SuiteInfo, task: EvalTask) -> dict[str, Any]:
    line = next((line for line in task.text.splitlines() if line.strip()), "")
    return {
        "id": task.id,
        "suite": suite.name,
        "domain": suite.domain,
        "group": task.group,
        "title": strip_markdown(line)[:_MAX_TASK_TITLE],
    }
