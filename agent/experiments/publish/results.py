"""The results of an evaluation, computed from the rows of its runs and from nothing else.

Infrastructure errors and runs without a score are in no mean; an unknown figure is None.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from agent.experiments.figures.measures import MEASURES
from agent.experiments.figures.statistics import (
    Estimate,
    PairedDifference,
    estimate,
    mean_of_estimates,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    permutation_p,
)
from agent.experiments.folder import ExperimentFolder
from agent.experiments.publish.run_row import CAPABILITIES, RunRow
from agent.grading.checks import CHECKS, Check

ALL, MEAN = "all", "mean"  # all tasks together, and the mean over the domains
_MEAN_OF = {
    "tokensOnce": "tokens_once", "tokensPeak": "largest_prompt", "tokensPrompt": "prompt_tokens",
    "tokensGenerated": "generated_tokens", "turns": "steps", "seconds": "total_seconds",
    "modelSeconds": "model_seconds", "sandboxSeconds": "sandbox_seconds",
    "waitingSeconds": "waiting_seconds", "cost": "cost", "environmentTime": "sandbox_share",
    "environmentTokens": "environment_share",
}  # fmt: skip
_PASS_K = 3  # the k of a comparison's pass@k
METHODS = {"parsed": "", "paper": "paper_"}


@dataclass
class MemberRuns:
    """The runs of a member in a domain, by task."""

    tasks: Sequence[int]
    rows: Mapping[int, Sequence[RunRow]]

    @cached_property
    def scores(self) -> list[float | None]:
        """The score of each task; None for one without."""
        return [score_of(self.rows.get(task, ())) for task in self.tasks]

    @cached_property
    def known(self) -> list[float]:
        """The known scores."""
        return [score for score in self.scores if score is not None]

    @cached_property
    def ended(self) -> list[RunRow]:
        """The runs that ended with a result."""
        return [row for task in self.tasks for row in self.rows.get(task, ()) if row.is_done]

    @cached_property
    def score(self) -> Estimate | None:
        """The mean score with its interval."""
        return estimate(self.known, binary=_is_binary(self.known))

    def pairs(self, other: "MemberRuns") -> list[tuple[float, float]]:
        """Return the scores of the tasks of which both have one."""
        return [
            (one, base)
            for one, base in zip(self.scores, other.scores, strict=True)
            if one is not None and base is not None
        ]

    def difference(self, other: "MemberRuns") -> PairedDifference | None:
        """Return the scores minus another's, paired by task."""
        pairs = self.pairs(other)
        first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return paired_difference(first, second, binary=_is_binary([*first, *second]))


@dataclass
class _Domain:
    """A domain: each member's runs and results."""

    name: str
    members: Sequence[MemberRuns]
    results: list[dict[str, Any]] = field(default_factory=list)
    gains: list[PairedDifference | None] = field(default_factory=list)


def results_by_domain(
    rows: Iterable[RunRow], domains: Sequence[str], baselines: Sequence[int], k: int | None = None
) -> list[dict[str, Any]]:
    """Return the results of all tasks, of each domain, and the mean over the domains.

    ``domains`` are by task, ``baselines`` by member; ``k`` is as in ``published``.
    """
    by_member = [defaultdict[int, list[RunRow]](list) for _ in baselines]
    for row in rows:
        by_member[row.member][row.task].append(row)
    tasks: dict[str, list[int]] = {ALL: list(range(len(domains)))}
    for task, name in enumerate(domains):
        tasks.setdefault(name, []).append(task)
    k = k or _largest_k(by_member)
    found = [
        _domain(name, [MemberRuns(each, member) for member in by_member], baselines, k)
        for name, each in tasks.items()
    ]
    shown = [
        {"domain": each.name, "tasks": len(tasks[each.name]), "members": each.results}
        for each in found
    ]
    if len(found) < 3:
        return shown
    mean = _mean_over(found[1:], baselines, k)
    return [*shown, {"domain": MEAN, "tasks": len(found) - 1, "members": mean}]


def results_of_repetitions(
    rows: Iterable[RunRow], repetitions: int, baselines: Sequence[int], check: Check | None
) -> list[dict[str, Any]]:
    """Return the results of a comparison's only task, whose repetitions are paired."""
    gradual = check is None or CHECKS[check].gradual
    counted = [
        row if gradual or row.score is None else replace(row, score=float(row.is_right))
        for row in rows
        if row.is_done and row.state  # not of a run that was deleted
    ]
    scores = [replace(row, task=row.repetition - 1) for row in counted]
    (found, _) = results_by_domain(scores, [""] * repetitions, baselines)
    least = min(filter(None, (each["n"] for each in found["members"])), default=0)
    (task, _) = results_by_domain(counted, [""], baselines, min(_PASS_K, least) or None)
    members = [
        one | {name: other[name] for name in other if name == "k" or name.startswith("pass")}
        for one, other in zip(found["members"], task["members"], strict=True)
    ]
    return [{"domain": ALL, "tasks": 1, "members": members}]


def results_by_task(
    rows: Iterable[RunRow], tasks: Sequence[Mapping[str, Any]], baselines: Sequence[int]
) -> list[dict[str, Any]]:
    """Return a result for each task and member; ``tasks`` are described as on the page."""
    cells = defaultdict[tuple[int, int], list[RunRow]](list)
    for row in rows:
        cells[row.task, row.member].append(row)
    found = list[dict[str, Any]]()
    for index, task in enumerate(tasks):
        scores = [score_of(cells[index, member]) for member in range(len(baselines))]
        for member, baseline in enumerate(baselines):
            score, base = scores[member], scores[baseline]
            ended = [row for row in cells[index, member] if row.is_done]
            costs = ("turns", "tokensOnce", "modelSeconds", "sandboxSeconds", "cost")
            found.append({
                "task": index,
                **{name: task[name] for name in ("id", "suite", "domain", "group")},
                "member": member,
                "runs": len(ended),
                "scored": sum(row.score is not None for row in ended),
                "right": sum(row.is_right for row in ended),
                "score": score,
                "gain": None if score is None or base is None or member == baseline
                else score - base,
                **{name: _mean_measure(name, ended) for name in costs},
            })  # fmt: skip
    return found


def score_of(rows: Sequence[RunRow]) -> float | None:
    """Return the mean of the known scores; None without any."""
    return _mean(row.score for row in rows)


def judge_figures(folder: ExperimentFolder) -> dict[str, Any]:
    """Return how a judge did its work; ``agreement``: its votes' mean share for the majority."""
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


def _domain(name: str, members: Sequence[MemberRuns], baselines: Sequence[int], k: int) -> _Domain:
    domain, paces = _Domain(name, members), [_pace(runs) for runs in members]
    leaders = _leaders(members)
    for index, (runs, baseline) in enumerate(zip(members, baselines, strict=True)):
        pace, base_pace = paces[index], paces[baseline]
        gain = None if index == baseline else runs.difference(members[baseline])
        rows = [row for task in runs.tasks for row in runs.rows.get(task, ())]
        domain.gains.append(gain)
        domain.results.append({
            "member": index,
            "baseline": baseline,
            "n": len(runs.known),
            "correct": sum(score > 0.5 for score in runs.known),
            **_score(runs.score),
            "best": leaders == [index],
            "tied": len(leaders) > 1 and index in leaders,
            "infrastructure": sum(row.outcome == "infrastructure" for row in rows),
            "unscored": sum(row.outcome == "unscored" for row in rows),
            **_gain(gain),
            "pairs": 0 if index == baseline else len(runs.pairs(members[baseline])),
            **_cost(runs.ended),
            "throughput": base_pace / pace if pace and base_pace else None,
            **_passes(runs, k),
        })  # fmt: skip
    return domain


def _mean_over(
    domains: Sequence[_Domain], baselines: Sequence[int], k: int
) -> list[dict[str, Any]]:
    """Return the mean of each member's figures over the domains, each with the same weight."""
    found = []
    for index, baseline in enumerate(baselines):
        each = [domain.results[index] for domain in domains]
        scores = _complete([domain.members[index].score for domain in domains])
        gains = [domain.gains[index] for domain in domains]
        found.append({
            **{name: _mean_of(each, name) for name in each[0]},
            "member": index,
            "baseline": baseline,
            "n": sum(domain.members[index].score is not None for domain in domains),
            **{name: sum(result[name] for result in each)
               for name in ("correct", "infrastructure", "unscored", "runs", "passTasks")},
            **_score(mean_of_estimates(scores)),
            "best": False,
            "tied": False,
            **_gain(_mean_difference(gains, domains, index, baseline)),
            "pairs": sum(gain is not None for gain in gains),
            "pass": [],
            "k": k if each[0]["k"] else None,
            **{f"{name}{bound}": None for name in ("passAt", "passHat")
               for bound in ("Low", "High")},
            "capabilities": {
                method: _mean_rates([result["capabilities"][method] for result in each])
                for method in METHODS
            },
        })  # fmt: skip
    return found


def _mean_difference(
    gains: Sequence[PairedDifference | None], domains: Sequence[_Domain], index: int, baseline: int
) -> PairedDifference | None:
    """Return the mean of the domains' gains; None unless each has one."""
    known = [gain for gain in gains if gain is not None]
    mean = mean_of_estimates([gain.difference for gain in known])
    if mean is None or len(known) < len(gains):
        return None
    weighted = [
        (one - other) / (len(pairs) * len(domains))
        for domain in domains
        for pairs in [domain.members[index].pairs(domain.members[baseline])]
        for one, other in pairs
    ]
    return PairedDifference(mean, permutation_p(tuple(weighted)), "paired permutation")


def _leaders(members: Sequence[MemberRuns]) -> list[int]:
    """Return the member with the best score, or those that cannot be told from the highest."""
    scores = {at: runs.score for at, runs in enumerate(members) if runs.score is not None}
    if len(scores) < 2:
        return []
    top = max(scores, key=lambda at: scores[at].mean)
    return [at for at in scores if at == top or not _is_above(members[top], members[at])]


def _is_above(one: MemberRuns, other: MemberRuns) -> bool:
    found = one.difference(other)
    return found is not None and found.difference.low is not None and found.difference.low > 0


def _score(found: Estimate | None) -> dict[str, Any]:
    return {
        "score": found and found.mean, "low": found and found.low, "high": found and found.high,
        "method": found.method if found else "",
    }  # fmt: skip


def _gain(found: PairedDifference | None) -> dict[str, Any]:
    difference = found and found.difference
    return {
        "gain": difference and difference.mean,
        "gainLow": difference and difference.low,
        "gainHigh": difference and difference.high,
        "gainMethod": difference.method if difference else "",
        "gainP": found and found.p,
        "gainTest": found.test if found else "",
    }


def _cost(ended: Sequence[RunRow]) -> dict[str, Any]:
    """Return what runs that ended with a result took, as means over them."""
    return {
        "runs": len(ended),
        **{name: _mean_measure(name, ended) for name in _MEAN_OF},
        "capabilities": {method: _rates(ended, prefix) for method, prefix in METHODS.items()},
    }


def _mean_measure(name: str, ended: Sequence[RunRow]) -> float | None:
    found = MEASURES[_MEAN_OF[name]].mean(ended, interval=False)
    return found.mean if found else None


def _pace(runs: MemberRuns) -> float | None:
    """Return the seconds of a run in model and sandbox."""
    return _mean(
        row.model_seconds + (row.sandbox_seconds or 0.0)
        for row in runs.ended
        if row.model_seconds is not None
    )


def _largest_k(by_member: Sequence[Mapping[int, Sequence[RunRow]]]) -> int:
    """Return the smallest number of scored runs that a task has; 0 without any."""
    counts = [
        sum(row.score is not None for row in rows)
        for member in by_member
        for rows in member.values()
    ]
    return min(filter(None, counts), default=0)


def _passes(runs: MemberRuns, k: int) -> dict[str, Any]:
    """Return pass@k and pass^k: of the chosen k with intervals, and the means of all k."""
    known = [[row for row in runs.rows.get(task, ()) if row.score is not None]
             for task in runs.tasks]  # fmt: skip
    counts = [(len(rows), sum(row.is_right for row in rows)) for rows in known if rows]
    most = max((count for count, _ in counts), default=0)
    every = [
        {"k": size, "tasks": len(enough), "at": fmean(pass_at_k(*each, size) for each in enough),
         "hat": fmean(pass_hat_k(*each, size) for each in enough)}
        for size in range(2, most + 1)
        for enough in [[each for each in counts if each[0] >= size]]
    ]  # fmt: skip
    enough = [each for each in counts if each[0] >= k] if k > 1 else []
    found: dict[str, Any] = {"pass": every, "k": k if k > 1 else None, "passTasks": len(enough)}
    for name, formula in (("passAt", pass_at_k), ("passHat", pass_hat_k)):
        mean = estimate([formula(*each, k) for each in enough])
        found |= {name: mean and mean.mean, f"{name}Low": mean and mean.low,
                  f"{name}High": mean and mean.high}  # fmt: skip
    return found


def _is_binary(scores: Iterable[float]) -> bool:
    return all(score in (0.0, 1.0) for score in scores)


def _complete(estimates: Sequence[Estimate | None]) -> list[Estimate]:
    """Return estimates if all are known, else none."""
    known = [each for each in estimates if each is not None]
    return known if len(known) == len(estimates) else []


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _mean_of(results: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """Return the mean of a figure; None if it is none, or not known of every domain."""
    values = [result[name] for result in results]
    numbers = all(isinstance(value, int | float) for value in values)
    return fmean(values) if numbers else None


def _rates(ended: Sequence[RunRow], prefix: str) -> dict[str, float] | None:
    return _mean_rates([
        {name: getattr(row, f"{prefix}{name}") for name in CAPABILITIES} for row in ended
        if getattr(row, f"{prefix}external") is not None
    ])  # fmt: skip


def _mean_rates(rates: Sequence[Mapping[str, float] | None]) -> dict[str, float] | None:
    known = [each for each in rates if each is not None]
    if not known:
        return None
    return {name: fmean(each[name] for each in known) for name in CAPABILITIES}
