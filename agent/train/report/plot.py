"""Plot of rewards over the steps of a training."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure


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
