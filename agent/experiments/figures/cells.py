"""Cells and rows of a comparison's table, as JSON values."""

from collections.abc import Callable, Sequence
from typing import Any

from agent.experiments.figures.rows import Better

Cell = dict[str, Any]
NOT_REPORTED, NONE = "not reported", "–"
_MAX_RATIO = 100


def mark_best(
    cells: Sequence[Cell],
    baseline: int,
    better: Better | None,
    *,
    differences: bool = False,
    answered: Sequence[bool] | None = None,
    is_above: Callable[[int, int], bool] | None = None,
) -> None:
    """Set the difference to the baseline of each cell, and mark the best, if there is one.

    The best is so by intervals: of paired differences where ``is_above`` tells them, otherwise its
    own, which overlaps with no other's. A member that ``answered`` nothing is not the best for
    having taken little.
    """
    base = cells[baseline]["value"]
    for index, cell in enumerate(cells):
        value = cell["value"]
        if index == baseline or value is None or base is None:
            continue
        if differences:
            cell["delta"] = f"{value - base:+.2f}"
            cell["worse"] = value < base
        elif base > 0:
            cell["delta"] = _ratio(value / base)
    rivals = [
        index
        for index, cell in enumerate(cells)
        if cell["value"] is not None and (answered is None or answered[index])
    ]
    if better is None or len(rivals) < 2:
        return
    sign = 1 if better == "higher" else -1
    best = max(rivals, key=lambda index: sign * cells[index]["value"])
    cells[best]["best"] = all(
        is_above(best, each) if is_above else _is_apart(cells[best], cells[each], sign)
        for each in rivals
        if each != best
    )


def _is_apart(best: Cell, other: Cell, sign: int) -> bool:
    """Whether the interval of one lies on the better side of another's."""
    bounds = [best["low"], best["high"], other["low"], other["high"]]
    if None in bounds:
        return False
    return bool(best["low"] > other["high"] if sign > 0 else best["high"] < other["low"])


def _ratio(value: float) -> str:
    if value >= _MAX_RATIO:
        return f"> {_MAX_RATIO}×"
    return f"{value:.2f}×"


def make_row(
    key: str, label: str, cells: list[Cell], help_: str = "", better: Better | None = None
) -> dict[str, Any]:
    """Return a row."""
    return {"key": key, "label": label, "help": help_, "better": better, "cells": cells}


def make_cell(
    text: str,
    *,
    value: float | None = None,
    low: float | None = None,
    high: float | None = None,
    n: int = 0,
    note: str = "",
    bar: float | None = None,
    method: str = "",
    shown: Callable[[float], str] = "{:.2f}".format,
) -> Cell:
    """Return a cell; ``shown`` formats the bounds of its interval."""
    interval = ""
    if low is not None and high is not None and shown(low) != shown(high):
        interval = f"{shown(low)} to {shown(high)}"
    return {
        "text": text, "value": value, "low": low, "high": high, "n": n, "note": note,
        "delta": "", "best": False, "worse": False, "bar": bar, "method": method,
        "interval": interval,
    }  # fmt: skip
