"""What the runs of an evaluation will take, and what that is known from."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

from agent.errors import RunError
from agent.experiments.experiment import Experiment, Member
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import has_ended
from agent.experiments.suite import Suite
from agent.history import records
from agent.runs.metrics.run_metrics import RunMetrics
from agent.util.text import plural

_MAX_EVALUATIONS = 20
_MAX_RUNS = 40
"""Earlier evaluations and runs of a member that an estimate is made from."""
_Key = tuple[str, str, str]  # suite, model and mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What all runs take together, or a question about them; None is not known.

    ``seconds`` are of all runs at the asked concurrency; a judge's ``votes`` come on top.
    """

    runs: int
    prompt_tokens: int | None
    generated_tokens: int | None
    seconds: float | None = None
    cost: float | None
    votes: int = 0
    basis: str


@dataclass(frozen=True, slots=True)
class _Group:
    """The runs of a member with the tasks of a suite, and earlier ones of the same kind."""

    runs: int
    earlier: Sequence[RunMetrics]

    def total(self, name: str) -> float | None:
        """Return a figure of all of them; None if no earlier run has it."""
        known = [each for run in self.earlier if (each := getattr(run, name)) is not None]
        return fmean(known) * self.runs if known else None


def estimate(
    definition: Experiment,
    suites: Sequence[Suite],
    places: Iterable[Path],
    concurrency: int,
    owner: str | None = None,
    done: Mapping[tuple[str, int], int] = MappingProxyType({}),
) -> Estimate:
    """Estimate an evaluation from earlier runs of the same suites, models and modes.

    ``places`` are the data folders with earlier evaluations, of an ``owner`` if not None. Runs that
    are ``done``, counted by suite and member, are not repeated.
    """
    folders = [each for place in places for each in ExperimentFolder.all(place, "evaluation")]
    own = [each for each in folders if owner in (None, each.owner)]
    earlier = _earlier_runs(suites, definition.members, own)
    left = {
        (suite.name, at): len(suite.tasks) * definition.repetitions_of(suite)
        - done.get((suite.name, at), 0)
        for suite in suites
        for at in range(len(definition.members))
    }
    groups = [
        _Group(runs, earlier.get((suite, member.model, member.mode), ()))
        for (suite, at), runs in left.items()
        for member in (definition.members[at],)
        if runs > 0
    ]
    known = sum(bool(group.earlier) for group in groups)
    sums = {name: _sum(group.total(name) for group in groups) for name in
            ("prompt_tokens", "generated_tokens", "total_seconds", "cost")}  # fmt: skip
    seconds = sums["total_seconds"]
    by_judge = {suite.name for suite in suites if suite.scorer == "judge"}
    judged = sum(runs for (suite, _), runs in left.items() if suite in by_judge and runs > 0)
    return Estimate(
        runs=sum(group.runs for group in groups),
        prompt_tokens=_whole(sums["prompt_tokens"]),
        generated_tokens=_whole(sums["generated_tokens"]),
        seconds=None if seconds is None else seconds / max(1, concurrency),
        cost=sums["cost"],
        votes=judged * (definition.judge.votes if definition.judge else 0),
        basis=_basis(groups, known),
    )


def _basis(groups: Sequence[_Group], known: int) -> str:
    count = sum(len(group.earlier) for group in groups)
    if not count:
        return "There are no earlier runs of these models with these suites to estimate from."
    text = f"From {plural(count, 'earlier run')} of the same suites, models and modes"
    missing = len(groups) - known
    if not missing:
        return f"{text}."
    return (
        f"{text}; there are none of {missing:,} of {len(groups):,} members and suites, so that the "
        "whole is not known."
    )


def _earlier_runs(
    suites: Sequence[Suite], members: Sequence[Member], folders: Sequence[ExperimentFolder]
) -> Mapping[_Key, list[RunMetrics]]:
    """Return the figures of ended runs in earlier evaluations, newest first, a few of each."""
    wanted = {(suite.name, member.model, member.mode) for suite in suites for member in members}
    found: dict[_Key, list[RunMetrics]] = {key: [] for key in wanted}
    for folder in sorted(folders, key=lambda each: -each.definition.created)[:_MAX_EVALUATIONS]:
        with suppress(RunError):
            _collect(folder, found)
    return found


def _collect(folder: ExperimentFolder, found: dict[_Key, list[RunMetrics]]) -> None:
    for entry in folder.runs():
        member = folder.definition.members[entry.member]
        runs = found.get((folder.suite_of[entry.task].name, member.model, member.mode))
        if runs is None or len(runs) >= _MAX_RUNS:
            continue
        summary = records.summaries(folder.data, [entry.run]).get(entry.run)
        if has_ended(summary) and summary is not None and summary.metrics is not None:
            runs.append(summary.metrics)


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(each for each in known if each is not None)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
