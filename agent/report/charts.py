"""Charts of a run: the tokens of each step, and what the steps used of the computer."""

from collections.abc import Sequence
from typing import TypeVar

from agent.capabilities.usage import CAPABILITIES, CapabilityUsage
from agent.report.html import Html, el
from agent.report.words import number
from agent.runs.requests.tokens import StepTokens, TokenTotals, step_tokens, token_totals
from agent.runs.state import RunState
from agent.util.text import plural

T = TypeVar("T")
CAPABILITY_LABELS = {
    "external": "External resources",
    "file": "File management",
    "compute": "Computation",
}
_MAX_COLUMNS = 240
_HEIGHT, _COLUMN = 120, 10
_PARTS = (
    ("cached", "Prompt, from the cache"),
    ("fresh", "Prompt, not cached"),
    ("environment", "Environment"),
    ("generated", "Generated"),
)


def token_chart(state: RunState) -> Html | None:
    """Return the chart of a run's tokens with its totals; None if no step reported any."""
    steps = step_tokens(state)
    totals = token_totals(steps)
    if totals.prompt is None:
        return None
    columns = [max(group, key=_height) for group in _grouped(steps)]
    return el(
        "figure",
        el("figcaption", el("h3", "Tokens by step"), _legend()),
        _plot(columns, len(steps)),
        _totals(totals),
        class_="tokens",
    )


def _height(step: StepTokens) -> int:
    return (step.prompt or 0) + (step.generated or 0)


def _plot(columns: Sequence[StepTokens], count: int) -> Html:
    peak = max(1, max(map(_height, columns)))
    width = max(len(columns), 12) * _COLUMN
    bars = []
    for at, step in enumerate(columns):
        top = float(_HEIGHT)
        for (name, _), tokens in zip(_PARTS, _parts(step), strict=True):
            height = _HEIGHT * tokens / peak
            top -= height
            if height >= 0.05:
                bars.append(
                    el("rect", x=at * _COLUMN + 1, y=f"{top:.2f}", width=_COLUMN - 2,
                       height=f"{height:.2f}", class_=name)
                )  # fmt: skip
    shown = f"Tokens of {plural(count, 'step')}; the largest has {peak:,}."
    return el(
        "div",
        el("svg", *bars, viewBox=f"0 0 {width} {_HEIGHT}", preserveAspectRatio="none",
           role="img", aria_label=shown),
        el("span", f"{peak:,}", class_="peak num"),
        class_="plot",
    )  # fmt: skip


def _parts(step: StepTokens) -> tuple[int, int, int, int]:
    """Return the parts of a step's bar, from its bottom to its top."""
    prompt = step.prompt or 0
    cached = min(step.cached or 0, prompt)
    environment = min(step.environment or 0, prompt - cached)
    return cached, prompt - cached - environment, environment, step.generated or 0


def _legend() -> Html:
    return el("p", *(_key(name, label) for name, label in _PARTS), class_="legend")


def _key(colour: str, label: str) -> Html:
    return el("span", el("i", class_=colour), label)


def _totals(totals: TokenTotals) -> Html:
    names = (
        ("prompt", "All prompts"), ("cached", "from the cache"), ("generated", "Generated"),
        ("reasoning", "of it reasoning"), ("environment", "Environment"),
        ("once", "Each token once"), ("largest_prompt", "Largest prompt"),
    )  # fmt: skip
    rows = []
    for key, label in names:
        text = number(getattr(totals, key), about=totals.estimated)
        least = "at least " if totals.missing.get(key) else ""
        rows.append(el("div", el("dt", label), el("dd", least + text, class_="num")))
    return el("dl", *rows, class_="facts")


def capability_strip(used: Sequence[CapabilityUsage | None]) -> Html | None:
    """Return the strip over a run; None if it was not recorded what the steps used."""
    if not any(each is not None for each in used):
        return None
    columns = []
    for group in _grouped(used):
        lanes = []
        for name in CAPABILITIES:
            found = {each.evidence(name) for each in group if each is not None}
            how = "observed" if "observed" in found else "parsed" if "parsed" in found else ""
            lanes.append(el("i", class_=f"{name} {how}".strip()))
        columns.append(el("span", *lanes))
    counts = [
        f"{CAPABILITY_LABELS[name]} in {sum(1 for each in used if each and each.evidence(name)):,}"
        for name in CAPABILITIES
    ]
    label = f"Of {plural(len(used), 'step')}: {', '.join(counts)}."
    legend = [
        _key(f"{name} observed", text) for name, text in zip(CAPABILITIES, counts, strict=True)
    ]
    return el(
        "figure",
        el("figcaption", el("h3", "What the steps used"), el("p", *legend, class_="legend")),
        el("div", *columns, class_="track", role="img", aria_label=label),
        class_="capabilities",
    )


def _grouped(values: Sequence[T]) -> list[Sequence[T]]:
    """Return at most ``_MAX_COLUMNS`` groups of neighbours."""
    size = -(-len(values) // _MAX_COLUMNS) or 1
    return [values[at : at + size] for at in range(0, len(values), size)]
