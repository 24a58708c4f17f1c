"""The results of an evaluation: scores with intervals, paired gains, and what the runs cost.

A pure reduction of the folder and of the runs' summaries; no journal is read. A task's score is
the mean of its repetitions. Runs that failed by an infrastructure error, and runs without a score,
are counted apart: they are in no mean. A figure that is not known is None, never 0.

| figure | definition |
|---|---|
| score | mean over the tasks; Wilson interval for right or wrong answers, else a bootstrap |
| gain | score minus the baseline's, over the tasks that both have a score of; Newcombe's interval for right or wrong answers, else a bootstrap over the pairs |
| environment tokens | tokens from the sandbox / each token once, over all runs |
| environment time | seconds in the sandbox / seconds in total, over all runs |
| throughput | the baseline's seconds in model and sandbox per run / the member's |
| capabilities | mean over the runs of the share of steps that used one |
"""  # noqa: E501

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from agent.capabilities.rates import Rates
from agent.experiments.figures.statistics import (
    Estimate,
    PairedDifference,
    estimate,
    paired_difference,
)
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import (
    DONE,
    OUTCOMES,
    Cell,
    Outcome,
    OutcomeName,
    Summaries,
    cells_of,
)
from agent.runs.metrics.run_metrics import RunMetrics

ALL = "all"
"""The name of the results over all domains."""

Method = Literal["ours", "paper"]
Capability = Literal["external", "file", "compute"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberResult:
    """The results of a member in a domain; see the module for the figures.

    Attributes:
        correct: Of it those with a score above one half.
        score: The mean score; None without any.
        gain: The paired difference to ``baseline``; None for the baseline itself.
        baseline: The index of the member that it is compared with.
        runs: Runs that ended with a result; the following are means over them.
        tokens_prompt: All prompts together; ``tokens_generated``: all answers.
    """

    n: int
    correct: int
    score: Estimate | None
    gain: PairedDifference | None
    baseline: int
    infrastructure: int
    unscored: int
    runs: int
    tokens_once: float | None = None
    tokens_peak: float | None = None
    tokens_prompt: float | None = None
    tokens_generated: float | None = None
    turns: float | None = None
    seconds: float | None = None
    environment_tokens: float | None = None
    environment_time: float | None = None
    throughput: float | None = None
    capabilities: dict[Method, dict[Capability, float] | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainResult:
    """The results of all members in a domain, or in all domains."""

    domain: str
    tasks: int
    members: tuple[MemberResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeResult:
    """How a judge did its work.

    Attributes:
        asked: Votes that it was asked for; of it ``failed`` gave no verdict.
        agreement: Mean share of an answer's votes that agree with their majority, over the
            answers with two or more votes; None without any.
        answers: The answers that it was asked about; of it ``unscored`` have no vote at all.
    """

    asked: int
    failed: int
    agreement: float | None
    answers: int
    unscored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResults:
    """The results of an evaluation.

    Attributes:
        counts: The number of runs with each outcome, those that were not begun included.
        domains: The results of all domains together, then of each.
        judge: What the judge did; None without one.
    """

    cells: tuple[tuple[Cell, ...], ...]
    counts: dict[OutcomeName, int]
    domains: tuple[DomainResult, ...]
    judge: JudgeResult | None

    @property
    def done(self) -> int:
        """The number of runs that are not carried out again."""
        return sum(self.counts[name] for name in DONE)


def results(
    folder: ExperimentFolder, summaries: Summaries, *, running: bool = False
) -> EvaluationResults:
    """Return the results of an evaluation.

    Args:
        summaries: The summaries of its runs: None for one that is queued or starting; a run that
            is missing was deleted.
    """
    cells = cells_of(folder, summaries, running=running)
    domains: dict[str, list[int]] = {}
    for task, suite in enumerate(folder.suite_of):
        domains.setdefault(suite.domain, []).append(task)
    groups = [(ALL, list(range(len(cells)))), *domains.items()]
    return EvaluationResults(
        cells=tuple(map(tuple, cells)),
        counts=_counts(folder, cells),
        domains=tuple(
            _domain(folder, name, [cells[task] for task in tasks]) for name, tasks in groups
        ),
        judge=_judge(folder),
    )


def _counts(folder: ExperimentFolder, cells: Sequence[Sequence[Cell]]) -> dict[OutcomeName, int]:
    counts = dict.fromkeys(OUTCOMES, 0)
    for row in cells:
        for cell in row:
            counts["waiting"] += folder.definition.repetitions - len(cell.runs)
            for run in cell.runs:
                counts[run.outcome] += 1
    return counts


def _domain(folder: ExperimentFolder, name: str, rows: Sequence[Sequence[Cell]]) -> DomainResult:
    definition = folder.definition
    columns = [[row[index] for row in rows] for index in range(len(definition.members))]
    paces = [_pace(column) for column in columns]
    members = []
    for index, column in enumerate(columns):
        baseline = definition.baseline_of(index)
        members.append(
            _member(column, columns[baseline], baseline, paces[index], paces[baseline],
                    is_baseline=index == baseline)
        )  # fmt: skip
    return DomainResult(domain=name, tasks=len(rows), members=tuple(members))


def _member(
    column: Sequence[Cell],
    base: Sequence[Cell],
    baseline: int,
    pace: float | None,
    base_pace: float | None,
    *,
    is_baseline: bool,
) -> MemberResult:
    scores = [cell.score for cell in column if cell.score is not None]
    runs = [run for cell in column for run in cell.runs]
    ended = [run for run in runs if run.outcome in DONE and run.outcome != "infrastructure"]
    metrics = [run.summary.metrics for run in ended if run.summary and run.summary.metrics]
    return MemberResult(
        n=len(scores),
        correct=sum(score > 0.5 for score in scores),
        score=estimate(scores, binary=_is_binary(scores)),
        gain=None if is_baseline else _gain(column, base),
        baseline=baseline,
        infrastructure=sum(run.outcome == "infrastructure" for run in runs),
        unscored=sum(run.outcome == "unscored" for run in runs),
        runs=len(ended),
        tokens_once=_mean(each.tokens_once for each in metrics),
        tokens_peak=_mean(each.largest_prompt for each in metrics),
        tokens_prompt=_mean(each.prompt_tokens for each in metrics),
        tokens_generated=_mean(each.generated_tokens for each in metrics),
        turns=_mean(run.summary.steps for run in ended if run.summary),
        seconds=_mean(each.total_seconds for each in metrics),
        environment_tokens=_share(
            [each for each in metrics if each.sandbox_seconds is not None],
            lambda each: each.environment_tokens,
            lambda each: each.tokens_once,
        ),
        environment_time=_share(
            metrics, lambda each: each.sandbox_seconds, lambda each: each.total_seconds
        ),
        throughput=base_pace / pace if pace and base_pace else None,
        capabilities={"ours": _capabilities(metrics, "ours"),
                      "paper": _capabilities(metrics, "paper")},
    )  # fmt: skip


def _gain(column: Sequence[Cell], base: Sequence[Cell]) -> PairedDifference | None:
    pairs = [
        (cell.score, other.score)
        for cell, other in zip(column, base, strict=True)
        if cell.score is not None and other.score is not None
    ]
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return paired_difference(first, second, binary=_is_binary([*first, *second]))


def _is_binary(scores: Iterable[float]) -> bool:
    return all(score in (0.0, 1.0) for score in scores)


def _pace(column: Sequence[Cell]) -> float | None:
    """Return the mean seconds in model and sandbox of the runs that ended."""
    return _mean(
        each.model_seconds + (each.sandbox_seconds or 0.0)
        for each in map(_metrics, (run for cell in column for run in cell.runs))
        if each is not None and each.model_seconds is not None
    )


def _metrics(run: Outcome) -> RunMetrics | None:
    counts = run.outcome in DONE and run.outcome != "infrastructure"
    return run.summary.metrics if counts and run.summary else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _share(
    metrics: Sequence[RunMetrics],
    part: Callable[[RunMetrics], float | None],
    whole: Callable[[RunMetrics], float | None],
) -> float | None:
    pairs = [
        (one, all_) for each in metrics
        if (one := part(each)) is not None and (all_ := whole(each)) is not None
    ]  # fmt: skip
    total = sum(all_ for _, all_ in pairs)
    return sum(one for one, _ in pairs) / total if total else None


def _capabilities(metrics: Sequence[RunMetrics], method: Method) -> dict[Capability, float] | None:
    known: list[Rates] = [
        getattr(each.capabilities, method) for each in metrics if each.capabilities is not None
    ]
    if not known:
        return None
    names: tuple[Capability, ...] = ("external", "file", "compute")
    return {name: fmean(getattr(each, name) for each in known) for name in names}


def _judge(folder: ExperimentFolder) -> JudgeResult | None:
    if folder.definition.judge is None:
        return None
    current = {entry.run for entry in folder.runs()}
    scores = [
        each for each in folder.scores().values() if each.run in current and each.scorer == "judge"
    ]
    votes = [vote for each in scores for vote in each.votes]
    agreements = [
        max(each.value, 1 - each.value) for each in scores
        if each.value is not None and sum(vote is not None for vote in each.votes) > 1
    ]  # fmt: skip
    return JudgeResult(
        asked=len(votes),
        failed=sum(vote is None for vote in votes),
        agreement=_mean(agreements),
        answers=len(scores),
        unscored=sum(each.value is None for each in scores),
    )
