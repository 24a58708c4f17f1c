"""Plot and table of a training, from its log."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agent.train.held_out import SPLIT_TITLES, title_of
from agent.train.log import TrainingLog

_RAW_COLOUR = "#9fb8d8"
_COLOURS = {"mean": "#1f5fb0", "train": "#1a7f37", "names": "#b35900", "wording": "#8250df",
            "family": "#cf222e"}  # fmt: skip
_SUITE_COLOUR = "#8b572a"
_WINDOW = 5


def draw(log: TrainingLog, path: Path) -> bool:
    """Plot rewards and evaluations as a PNG; return False if there are no rewards."""
    rewards = step_rewards(log)
    if not rewards:
        return False
    axes = reward_axes()
    axes.plot(*zip(*rewards, strict=True), color=_RAW_COLOUR, linewidth=1)
    label = "reward of a step, and the mean of the last five"
    axes.plot(*zip(*smooth(rewards), strict=True), color=_COLOURS["mean"], linewidth=2, label=label)
    for split, points in _evaluations_by_split(log).items():
        colour = _COLOURS.get(split, _SUITE_COLOUR)
        axes.plot(*zip(*points, strict=True), "o", color=colour, label=title_of(split))
    save(axes, path)
    return True


def reward_axes() -> Axes:
    """Return axes with steps on the x axis, and rewards from 0 to 1 on the y axis."""
    axes = Figure(figsize=(9, 4.8), layout="constrained").subplots()
    axes.set(ylim=(-0.02, 1.02), xlabel="step")
    axes.locator_params(axis="x", integer=True)
    axes.grid(axis="y", color="#e4e7eb")
    return axes


def save(axes: Axes, path: Path) -> None:
    """Write the plot, in the format that the suffix names: ``.png``, ``.svg``, ``.pdf``."""
    axes.figure.legend(loc="outside upper left", ncols=3, frameon=False)
    axes.figure.savefig(path)


def step_rewards(log: TrainingLog) -> list[tuple[int, float]]:
    """Return each reinforcement step with its reward; for repeated steps, the last."""
    lines = (line for line in log.lines("step") if "reward" in line)
    return list({line["step"]: (line["step"], line["reward"]) for line in lines}.values())


def smooth(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the mean of each point and the four before it."""
    return [
        (points[at][0], mean([each for _, each in points[max(0, at + 1 - _WINDOW) : at + 1]]))
        for at in range(len(points))
    ]


def mean(values: Sequence[float]) -> float:
    """Return the mean of a non-empty sequence."""
    return sum(values) / len(values)


def row(cells: Sequence[str]) -> str:
    """Format a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def columns(splits: Iterable[str]) -> list[str]:
    """Return the columns of a table: splits in their order, then suites."""
    found = dict.fromkeys(splits)
    return [*(each for each in SPLIT_TITLES if each in found),
            *(each for each in found if each not in SPLIT_TITLES)]  # fmt: skip


def table(log: TrainingLog) -> str:
    """Return Markdown tables: evaluations by splits, and rewards by steps."""
    # The last line of each: a resumed training repeats some steps.
    lines = {(e["stage"], e["step"], e["split"]): e for e in log.lines("evaluation")}
    splits = columns(split for _, _, split in lines)
    rows = dict.fromkeys((stage, step) for stage, step, _ in lines)
    cells = {key: _cell(line) for key, line in lines.items()}
    titles = [title_of(split) for split in splits]
    text = [row(["after", *titles]), row(["---"] * (len(titles) + 1))]
    for stage, step in rows:
        name = stage if not step else f"{stage}, step {step}"
        text.append(row([name, *(cells.get((stage, step, split), "") for split in splits)]))
    return "\n".join([*text, "", *_rewards(log)]).rstrip() + "\n"


def _rewards(log: TrainingLog) -> list[str]:
    rewards = step_rewards(log)
    if not rewards:
        return []
    groups = [rewards[at : at + _WINDOW] for at in range(0, len(rewards), _WINDOW)]
    names = [f"{group[0][0]}-{group[-1][0]}" for group in groups]
    means = [f"{mean([reward for _, reward in group]):.2f}" for group in groups]
    return [row(["steps", *names]), row(["---"] * (len(names) + 1)), row(["reward", *means])]


def _evaluations_by_split(log: TrainingLog) -> dict[str, list[tuple[int, float]]]:
    """Return steps and means by split; step 0 is before reinforcement."""
    found: dict[str, dict[int, float]] = {}
    for line in log.lines("evaluation"):
        step = line["step"] if line["stage"] == "reinforced" else 0
        if line["mean"] is not None:
            found.setdefault(line["split"], {})[step] = line["mean"]
    return {split: sorted(points.items()) for split, points in found.items()}


def _cell(line: dict[str, Any]) -> str:
    if line["mean"] is None:
        return f"not known{missing_scores([line])}"
    return f"{line['mean']:.2f} ({line['low']:.2f}-{line['high']:.2f}){missing_scores([line])}"


def missing_scores(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return how many tasks are not in a mean, and why; empty if all are."""
    counts = {
        name: sum(line.get(name, 0) for line in lines) for name in ("infrastructure", "unscored")
    }
    return "".join(f", {count} {name}" for name, count in counts.items() if count)
