"""The results of an evaluation: scores with intervals, paired gains, and what the runs cost.

No journal is read. A task's score is the mean of its repetitions. Runs that failed by an
infrastructure error, and runs without a score, are counted apart: they are in no mean. A figure
that is not known is None, never 0.

| figure | definition |
|---|---|
| score | mean over the tasks; Wilson interval for right or wrong answers, else a bootstrap |
| gain | score minus the baseline's, over the tasks that both have a score of; Newcombe's interval for right or wrong answers, else a bootstrap over the pairs |
| environment tokens | tokens from the sandbox / each token once, over all runs |
| environment time | seconds in the sandbox / seconds in total, over all runs |
| throughput | the baseline's seconds in model and sandbox per run / the member's |
| capabilities | mean over the runs of the share of steps that used one |
"""  # noqa: E501

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from agent.experiments.experiment import Experiment
from agent.experiments.figures.statistics import Estimate, estimate, paired_difference
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import DONE, Cell
from agent.runs.metrics.run_metrics import RunMetrics

_MEANS = {
    "tokensOnce": "tokens_once", "tokensPeak": "largest_prompt", "tokensPrompt": "prompt_tokens",
    "tokensGenerated": "generated_tokens", "seconds": "total_seconds",
}  # fmt: skip
_METHODS = {"parsed": "ours", "paper": "paper"}
_CAPABILITIES = {"external": "external", "files": "file", "computation": "compute"}


def results_by_domain(
    folder: ExperimentFolder, cells: Sequence[Sequence[Cell]]
) -> list[dict[str, Any]]:
    """Return the results of all domains together (``all``), then of each."""
    domains: dict[str, list[int]] = {"all": list(range(len(cells)))}
    for task, suite in enumerate(folder.suite_of):
        domains.setdefault(suite.domain, []).append(task)
    return [
        {
            "domain": name,
            "tasks": len(tasks),
            "members": _members(folder.definition, [cells[task] for task in tasks]),
        }
        for name, tasks in domains.items()
    ]


def judge_figures(folder: ExperimentFolder) -> dict[str, Any]:
    """Return how a judge did its work: answers and votes, and those that it did not give.

    ``agreement`` is the mean share of an answer's votes that agree with their majority, over the
    answers with two or more votes.
    """
    current = {entry.run for entry in folder.runs()}
    scores = [
        each for each in folder.scores().values() if each.run in current and each.scorer == "judge"
    ]
    votes = [vote for each in scores for vote in each.votes]
    agreements = [
        max(each.value, 1 - each.value) for each in scores
        if each.value is not None and sum(vote is not None for vote in each.votes) > 1
    ]  # fmt: skip
    return {
        "agreement": _mean(agreements),
        "failedVotes": sum(vote is None for vote in votes),
        "askedVotes": len(votes),
        "answers": len(scores),
        "unscored": sum(each.value is None for each in scores),
    }


def _members(definition: Experiment, rows: Sequence[Sequence[Cell]]) -> list[dict[str, Any]]:
    columns = [[row[index] for row in rows] for index in range(len(definition.members))]
    costs = [_cost(column) for column in columns]
    paces = [cost.pop("pace") for cost in costs]
    members = []
    for index, column in enumerate(columns):
        baseline = definition.baseline_of(index)
        runs = [run for cell in column for run in cell.runs]
        scores = [cell.score for cell in column if cell.score is not None]
        pace, base_pace = paces[index], paces[baseline]
        members.append({
            "member": index,
            "baseline": baseline,
            "n": len(scores),
            "correct": sum(score > 0.5 for score in scores),
            **_interval(estimate(scores, binary=_is_binary(scores)), "score", "low", "high"),
            "infrastructure": sum(run.outcome == "infrastructure" for run in runs),
            "unscored": sum(run.outcome == "unscored" for run in runs),
            **_gain(column, () if index == baseline else columns[baseline]),
            **costs[index],
            "throughput": base_pace / pace if pace and base_pace else None,
        })  # fmt: skip
    return members


def _cost(column: Sequence[Cell]) -> dict[str, Any]:
    """Return what the runs of a member took that ended with a result, as means over them."""
    ended = [
        run for cell in column for run in cell.runs
        if run.outcome in DONE and run.outcome != "infrastructure"
    ]  # fmt: skip
    metrics = [run.summary.metrics for run in ended if run.summary and run.summary.metrics]
    return {
        "runs": len(ended),
        **{key: _mean(getattr(each, name) for each in metrics) for key, name in _MEANS.items()},
        "turns": _mean(run.summary.steps for run in ended if run.summary),
        "capabilities": {key: _rates(metrics, method) for key, method in _METHODS.items()},
        "environmentTime": _share(
            (each.sandbox_seconds, each.total_seconds) for each in metrics
        ),
        "environmentTokens": _share(
            (each.environment_tokens, each.tokens_once) for each in metrics
            if each.sandbox_seconds is not None
        ),
        "pace": _mean(
            each.model_seconds + (each.sandbox_seconds or 0.0) for each in metrics
            if each.model_seconds is not None
        ),
    }  # fmt: skip


def _gain(column: Sequence[Cell], base: Sequence[Cell]) -> dict[str, Any]:
    """Return the paired difference to a baseline; that of the baseline itself is not known."""
    pairs = [
        (cell.score, other.score)
        for cell, other in zip(column, base, strict=False)
        if cell.score is not None and other.score is not None
    ]
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = paired_difference(first, second, binary=_is_binary([*first, *second]))
    return {
        **_interval(found.difference if found else None, "gain", "gainLow", "gainHigh"),
        "gainP": found.p if found else None,
        "pairs": len(pairs),
    }


def _interval(found: Estimate | None, mean: str, low: str, high: str) -> dict[str, Any]:
    return {mean: found and found.mean, low: found and found.low, high: found and found.high}


def _is_binary(scores: Iterable[float]) -> bool:
    return all(score in (0.0, 1.0) for score in scores)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _share(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    known = [(part, whole) for part, whole in pairs if part is not None and whole is not None]
    total = sum(whole for _, whole in known)
    return sum(part for part, _ in known) / total if total else None


def _rates(metrics: Sequence[RunMetrics], method: str) -> dict[str, float] | None:
    known = [getattr(each.capabilities, method) for each in metrics if each.capabilities]
    if not known:
        return None
    return {
        key: fmean(getattr(each, name) for each in known) for key, name in _CAPABILITIES.items()
    }
