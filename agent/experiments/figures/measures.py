"""Measures of runs: their labels, formats and means over a member's runs."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from agent.experiments.figures.statistics import Estimate, estimate
from agent.experiments.publish.run_row import PUBLISHED, RunRow

Better = Literal["higher", "lower"]
Value = float | int | None
ratio = "{:.2f}".format  # a rate from 0 to 1
speed = "{:.2f}×".format  # how many times as much


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure of a run: the ``field`` of its row, by default the one named ``key``.

    ``whole``: what a share is a part of, over all runs together; ``sandbox``: only runs in one have
    it; ``reported`` by the endpoint, under the name ``count`` in ``RunRow.partial``.
    """

    key: str
    label: str
    text: Callable[[float], str]
    field: str = ""
    whole: Callable[[RunRow], Value] | None = None
    help: str = ""
    better: Better | None = None
    sandbox: bool = False
    reported: bool = False
    count: str = ""

    @property
    def is_published(self) -> bool:
        """Whether the rows of an export have what it is computed from."""
        return (self.field or self.key) in PUBLISHED

    def value(self, row: RunRow) -> Value:
        """Return the value for a run; None if it is unknown."""
        value: Value = getattr(row, self.field or self.key)
        return value

    def mean(self, rows: Iterable[RunRow], *, interval: bool = True) -> Estimate | None:
        """Return the mean over the runs of which it is known; None if there are none."""
        if self.whole is not None:
            pairs = [(self.value(row), self.whole(row)) for row in rows]
            known = [
                (part, whole) for part, whole in pairs if part is not None and whole is not None
            ]
            total = sum(whole for _, whole in known)
            part = sum(part for part, _ in known)
            return Estimate(part / total, None, None, len(known)) if total else None
        values = [float(value) for row in rows if (value := self.value(row)) is not None]
        if interval or not values:
            return estimate(values)
        return Estimate(fmean(values), None, None, len(values))


def integer(value: float) -> str:
    """Format a count with thousands separators; means below 10 get one decimal."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def seconds(value: float) -> str:
    """Return a duration."""
    if value < 10:
        return f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    if value < 7200:
        return f"{value / 60:.1f} min"
    return f"{value / 3600:.1f} h"


def share(value: float) -> str:
    """Return a share as a percentage."""
    return f"{value * 100:.1f} %"


def money(value: float) -> str:
    """Return an amount in the unit of the configured price."""
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def mebibytes(value: float) -> str:
    """Return bytes as MiB."""
    return f"{value / 1024**2:,.0f} MiB"


def _tokens_of_sandbox(row: RunRow) -> Value:
    return None if row.sandbox_seconds is None else row.tokens_once


def _busy_seconds(row: RunRow) -> Value:
    model, sandbox = row.model_seconds, row.sandbox_seconds
    return None if model is None or sandbox is None else model + sandbox


def _tokens(key: str, label: str, help_: str, count: str, better: Better | None = None) -> Measure:
    return Measure(
        key=key, label=label, help=help_, text=integer, better=better, reported=True, count=count,
    )  # fmt: skip


TOKENS: tuple[Measure, ...] = (
    _tokens("prompt_tokens", "Prompt, summed over the steps",
            "Each step sends the conversation so far: most of it several times.", "prompt"),
    _tokens("cached_tokens", "of it read from cache",
            "Prompt tokens that the endpoint did not compute again.", "cached"),
    _tokens("cache_written_tokens", "of it written to cache",
            "Prompt tokens that the endpoint stored for later steps.", "cache_written"),
    _tokens("generated_tokens", "Generated", "Answers with their reasoning.", "generated",
            "lower"),
    _tokens("reasoning_tokens", "of it reasoning", "Reasoning within the answers.", "reasoning"),
    _tokens("environment_tokens", "From the environment",
            "Outputs of commands and messages of the loop, when they were new.", "environment"),
    _tokens("tokens_once", "Each token counted once",
            "First prompt + answers + environment: the paper’s N_total.", "once", "lower"),
    _tokens("largest_prompt", "Largest single prompt", "What the context has to hold.", "prompt",
            "lower"),
    Measure(key="environment_share", label="Share of tokens from the sandbox",
        help="Environment tokens / each token once (the paper: 37–51 %).",
        field="environment_tokens", whole=_tokens_of_sandbox, text=share, sandbox=True),
    Measure(key="cost", label="Cost", help="In the unit of the configured price.",
        text=money, better="lower"),
)  # fmt: skip

TIMES: tuple[Measure, ...] = (
    Measure(key="first_token_seconds", label="To the first token",
        help="From the first request to its first token.", text=seconds, better="lower"),
    Measure(key="model_seconds", label="Model", help="In model turns.", text=seconds),
    Measure(key="sandbox_seconds", label="Sandbox", help="In commands and file operations.",
        text=seconds, sandbox=True),
    Measure(key="waiting_seconds", label="Waiting",
        help="In the queue, until the sandbox was ready, and before other attempts.",
        text=seconds),
    Measure(key="total_seconds", label="Total", help="From the task to the end.",
        text=seconds, better="lower"),
    Measure(key="sandbox_share", label="Share of time in the sandbox",
        help="Sandbox / model and sandbox (the paper: below 4 %); waiting is in neither.",
        field="sandbox_seconds", whole=_busy_seconds, text=share, sandbox=True),
)  # fmt: skip

WORK: tuple[Measure, ...] = (
    Measure(key="steps", label="Steps", help="Model turns.", field="turns", text=integer),
    Measure(key="commands", label="Commands", text=integer, sandbox=True),
    Measure(key="failed_commands", label="of it failed", help="Another exit code than 0.",
        text=integer, sandbox=True),
    Measure(key="edits", label="Files edited", help="With the editor’s commands.",
        text=integer, sandbox=True),
    Measure(key="pictures", label="Pictures seen", help="By the model: viewed, or given to it.",
        text=integer),
    Measure(key="outputs", label="Files handed back", help="In output/ at the end.",
        text=integer, sandbox=True),
    Measure(key="hosts", label="Network hosts", help="Hosts that answered, by the proxy’s log.",
        field="host_count", text=integer, sandbox=True),
    Measure(key="peak_memory", label="Peak memory", help="Of the sandbox.",
        text=mebibytes, sandbox=True),
    Measure(key="cpu_seconds", label="CPU time", help="Of the sandbox, during the commands.",
        text=seconds, sandbox=True),
)  # fmt: skip

_CAPABILITIES = (("external", "external", "External resources"),
                 ("file", "files", "File management"),
                 ("compute", "computation", "Computation"))  # fmt: skip
CAPABILITIES: tuple[Measure, ...] = tuple(
    Measure(key=f"{method}_{name}", field=f"{prefix}{column}", label=f"{label}{by}", help=help_,
            text=ratio, sandbox=True)
    for method, prefix, by, help_ in (
        ("ours", "", "", "Share of the steps: observed, or parsed from the commands."),
        ("paper", "paper_", ", by the paper’s patterns",
         "Share of the steps by the paper’s expressions."),
    )
    for name, column, label in _CAPABILITIES
)  # fmt: skip

GROUPS = (("Tokens", TOKENS), ("Time", TIMES), ("Work", WORK),
          ("Capabilities, share of steps", CAPABILITIES))  # fmt: skip
MEASURES = {each.key: each for _, measures in GROUPS for each in measures}


class Means:
    """The means of all measures over some runs, which have ended.

    ``estimated``: an endpoint reported no counts; ``missing``: steps without a count, by its name.
    """

    def __init__(self, rows: Sequence[RunRow], *, interval: bool = True) -> None:
        self.rows = rows
        self.asked = any(each.prompt_tokens is not None for each in rows)
        self.estimated = any(each.tokens_estimated for each in rows)
        self.missing = Counter[str]()
        for each in rows:
            self.missing.update(each.partial)
        self._by_key = {key: each.mean(rows, interval=interval) for key, each in MEASURES.items()}

    def __getitem__(self, key: str) -> Estimate | None:
        return self._by_key[key]
