"""Comparison of trainings; a group is one method, with one training per seed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import TrainError
from agent.tasks.scoring import wilson_interval
from agent.train.held_out import title_of
from agent.train.log import TrainingLog
from agent.train.report.curves import (
    columns,
    mean,
    missing_scores,
    reward_axes,
    row,
    save,
    smooth,
    step_rewards,
)


@dataclass(frozen=True)
class Group:
    """Trainings that differ only in their seed, with their logs."""

    name: str
    logs: Sequence[TrainingLog]


def parse_groups(arguments: Sequence[str]) -> list[Group]:
    """Parse groups of the form ``NAME=FOLDER,FOLDER``."""
    found = [_parse_group(each) for each in arguments]
    if len({group.name for group in found}) < len(found):
        raise TrainError("Two groups have the same name. Give each its own.")
    return found


def _parse_group(argument: str) -> Group:
    name, _, folders = argument.partition("=")
    if not name or not folders:
        raise TrainError(
            f"{argument}: must be NAME=FOLDER,FOLDER: trainings that differ in their seed."
        )
    logs = [TrainingLog(Path(folder) / "log.jsonl") for folder in folders.split(",")]
    for log in logs:
        _check_ended(log)
    return Group(name, logs)


def _check_ended(log: TrainingLog) -> None:
    """Raise ``TrainError`` if a training is missing or its last stage has no scores."""
    folder = log.path.parent
    try:
        stages = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))["stages"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TrainError(f"{folder} contains no training.") from error
    if not stages or not any(each["stage"] == stages[-1] for each in log.lines("evaluation")):
        raise TrainError(f"{folder}: its training has not ended, or was not evaluated.")


def draw(groups: Sequence[Group], path: Path) -> None:
    """Plot the rewards of all steps: trainings in pale colours, means of groups in strong ones."""
    rewarded = {
        group.name: lines
        for group in groups
        if (lines := [line for log in group.logs if (line := step_rewards(log))])
    }
    if not rewarded:
        raise TrainError("None of these trainings has rewards to plot.")
    axes = reward_axes()
    for number, (name, lines) in enumerate(rewarded.items()):
        colour = f"C{number}"
        for line in lines:
            axes.plot(*zip(*smooth(line), strict=True), color=colour, alpha=0.3, linewidth=1)
        means = smooth(_mean_line(lines))
        axes.plot(*zip(*means, strict=True), color=colour, linewidth=2, label=name)
    try:
        save(axes, path)
    except (OSError, ValueError) as error:
        raise TrainError(f"{path}: the plot cannot be written: {error}") from error


def table(groups: Sequence[Group]) -> str:
    """Return the last evaluations as a Markdown table of groups by splits.

    In parentheses: Wilson's 95 % interval of the mean over all seeds, for the number of tasks of
    one seed because all seeds share them; then the mean of each seed.
    """
    measured = {group.name: [_last_evaluations(log) for log in group.logs] for group in groups}
    splits = columns(split for seeds in measured.values() for seed in seeds for split in seed)
    header = ["", *(title_of(split) for split in splits)]
    rows = [row(header), row(["---"] * len(header))]
    for name, seeds in measured.items():
        cells = [_cell([seed[split] for seed in seeds if split in seed]) for split in splits]
        rows.append(row([name, *cells]))
    return "\n".join(rows) + "\n"


def _mean_line(lines: Sequence[Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
    """Return the mean of several lines, step by step."""
    rewards: dict[int, list[float]] = {}
    for line in lines:
        for step, reward in line:
            rewards.setdefault(step, []).append(reward)
    return [(step, mean(each)) for step, each in sorted(rewards.items())]


def _last_evaluations(log: TrainingLog) -> Mapping[str, Mapping[str, Any]]:
    """Return the last evaluation of each split."""
    return {line["split"]: line for line in log.lines("evaluation")}


def _cell(lines: Sequence[Mapping[str, Any]]) -> str:
    if not lines:
        return ""
    known = [line for line in lines if line["mean"] is not None]
    if not known:
        return f"not known{missing_scores(lines)}"
    means = [line["mean"] for line in known]
    overall = mean(means)
    low, high = wilson_interval(overall, min(line["tasks"] for line in known))
    seeds = "; " + " ".join(f"{each:.2f}" for each in means) if len(means) > 1 else ""
    return f"{overall:.2f} ({low:.2f}-{high:.2f}{seeds}){missing_scores(lines)}"
