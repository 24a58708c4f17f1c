"""The paper's figure: the gain of each member per domain, with its interval, as SVG and PNG."""

from collections.abc import Iterator
from typing import Any

from agent.experiments.figures.chart import (
    BASE,
    INK,
    MUTED,
    OTHER,
    Shape,
    shortened,
    whisker,
)
from agent.util.text import plural

_MARGIN, _LEFT, _RIGHT = 24, 260, 770
_ROW, _BAR, _GAP = 26, 14, 14
_MAX_LABEL, _MAX_TITLE = 34, 100
_TICKS = 4
_NOTE = (
    "Score minus the baseline’s, paired by task, with its 95 % interval; the score in brackets; "
    "n: pairs"
)
_LEAST = 0.05
"""The figure shows gains of at least 5 points to both sides."""


def _title(description: dict[str, Any]) -> str:
    return shortened(f"Gain over the baseline, in points: {description['title']}", _MAX_TITLE)


def draw(description: dict[str, Any]) -> tuple[list[Shape], int, str]:
    """Return the shapes, the figure's height in pixels and its title."""
    domains = _domains(description)
    most = max([_LEAST, *(abs(value) for each in domains for cell in each["members"]
                          for value in _values(cell))])  # fmt: skip
    scale = (_RIGHT - _LEFT) / 2 / most
    shapes = [
        Shape("text", _MARGIN, 38, text=_title(description), bold=True),
        Shape("text", _MARGIN, 60, colour=MUTED, text=_NOTE),
    ]
    y = 84.0
    rows = list[Shape]()
    for domain in domains:
        name = "All domains" if domain["domain"] == "all" else domain["domain"].capitalize()
        text = f"{name} · {plural(domain['tasks'], 'task')}"
        rows.append(Shape("text", _MARGIN, y + 14, text=text, bold=True))
        y += _ROW
        for cell in domain["members"]:
            if cell["member"] != cell["baseline"]:
                rows += _row(description, cell, y, scale)
                y += _ROW
        y += _GAP
    shapes += _axis(most, y, scale)
    return [*shapes, *rows], int(y) + 34, _title(description)


def _domains(description: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the domains, and all together only if there are several."""
    every, *each = description["results"]
    return [*each, every] if len(each) > 1 else each


def _values(cell: dict[str, Any]) -> list[float]:
    known = (cell["gain"], cell["gainLow"], cell["gainHigh"])
    return [float(value) for value in known if value is not None]


def _axis(most: float, bottom: float, scale: float) -> Iterator[Shape]:
    middle = (_LEFT + _RIGHT) / 2
    for tick in range(-_TICKS // 2, _TICKS // 2 + 1):
        value = most * tick / (_TICKS / 2)
        x = middle + value * scale
        yield Shape("rectangle", x - 0.5, 78, 1, bottom - 78, INK if tick == 0 else "#e7e2d8")
        yield Shape("text", x - 14, bottom + 18, colour=MUTED, text=f"{100 * value:+.1f}")


def _row(
    description: dict[str, Any], cell: dict[str, Any], y: float, scale: float
) -> Iterator[Shape]:
    label = description["members"][cell["member"]]["label"]
    yield Shape("text", _MARGIN, y + 12, colour=MUTED, text=shortened(label, _MAX_LABEL))
    gain, low, high = cell["gain"], cell["gainLow"], cell["gainHigh"]
    end, middle = _RIGHT + 12, (_LEFT + _RIGHT) / 2
    if gain is None:
        yield Shape("text", end, y + 12, colour=MUTED, text="no pairs yet")
        return
    left = middle + min(0.0, gain) * scale
    colour = OTHER if gain >= 0 else BASE
    yield Shape("rectangle", left, y, max(1.0, abs(gain) * scale), _BAR, colour)
    if low is not None and high is not None:
        yield from whisker(middle + low * scale, middle + high * scale, y + _BAR / 2)
    text = f"{100 * gain:+.1f} ({100 * cell['score']:.1f} %), n = {cell['pairs']}"
    yield Shape("text", end, y + 12, text=shortened(text, 30))
