"""An evaluation's part of the JSON: suites, results by domain, tasks and cells."""

from collections.abc import Sequence
from typing import Any

from agent.experiments.experiment import Experiment, SuiteInfo
from agent.experiments.figures.results import DomainResult, JudgeResult, MemberResult, results
from agent.experiments.figures.statistics import Estimate
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import Cell, Summaries
from agent.experiments.suite import EvalTask
from agent.grading.checks import CHECKS
from agent.titles import strip_markdown

INTERVAL = (
    "All intervals are at 95 %: Wilson’s of a score and Newcombe’s of a paired gain where every "
    "answer is right or wrong, otherwise a bootstrap over the tasks."
)
_MAX_TASK_TITLE = 120
_MAX_REASON = 300
_MAX_EXTRACTED = 60
_CAPABILITY_NAMES = {"external": "external", "file": "files", "compute": "computation"}


def results_and_cells(
    folder: ExperimentFolder, summaries: Summaries, *, running: bool
) -> dict[str, Any]:
    """Return what an evaluation shows besides what all experiments show."""
    definition, found = folder.definition, results(folder, summaries, running=running)
    return {
        "suites": [_suite_to_json(suite) for suite in definition.suites],
        "domains": [each.domain for each in found.domains[1:]],
        "concurrency": definition.concurrency,
        "judge": _judge_to_json(definition, found.judge),
        "members": [
            {"baseline": definition.baseline_of(index)} for index in range(len(definition.members))
        ],
        "interval": INTERVAL,
        "counts": {"total": sum(found.counts.values()), "done": found.done, **found.counts},
        "results": [domain_to_json(each) for each in found.domains],
        "tasks": [
            _task_to_json(suite, task)
            for suite, task in zip(folder.suite_of, folder.tasks, strict=True)
        ],
        "cells": [[cell_to_json(cell) for cell in row] for row in found.cells],
    }


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


def _judge_to_json(definition: Experiment, found: JudgeResult | None) -> dict[str, Any] | None:
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
