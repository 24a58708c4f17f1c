"""The measures of runs: what each is, and its mean over the runs of a member."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean
from typing import Any, Literal

from agent.experiments.figures.statistics import Estimate, estimate
from agent.experiments.outcomes import Outcome

Better = Literal["higher", "lower"]
Value = float | int | None
ratio = "{:.2f}".format  # a rate from 0 to 1
speed = "{:.2f}×".format  # how many times as much


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A measure of a run.

    ``whole``: what a share is a part of, over all runs together; ``sandbox``: only runs in one have
    it; ``reported`` by the endpoint, under the name ``count`` in ``RunMetrics.partial``.
    """

    key: str
    label: str
    value: Callable[[Outcome], Value]
    text: Callable[[float], str]
    whole: Callable[[Outcome], Value] | None = None
    help: str = ""
    better: Better | None = None
    sandbox: bool = False
    reported: bool = False
    count: str = ""

    def mean(self, runs: Iterable[Outcome], *, interval: bool = True) -> Estimate | None:
        """Return the mean over the runs of which it is known; None if there are none."""
        if self.whole is not None:
            pairs = [(self.value(run), self.whole(run)) for run in runs]
            known = [
                (part, whole) for part, whole in pairs if part is not None and whole is not None
            ]
            total = sum(whole for _, whole in known)
            part = sum(part for part, _ in known)
            return Estimate(part / total, None, None, len(known)) if total else None
        values = [float(value) for run in runs if (value := self.value(run)) is not None]
        if interval or not values:
            return estimate(values)
        return Estimate(fmean(values), None, None, len(values))


def integer(value: float) -> str:
    """Return a count with thousands separators; a mean below 10 with a decimal."""
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


def _metric(name: str) -> Callable[[Outcome], Value]:
    return attrgetter(f"metrics.{name}")


def _environment_tokens(outcome: Outcome) -> Value:
    metrics = outcome.metrics
    return None if metrics.sandbox_seconds is None else metrics.environment_tokens


def _busy_seconds(outcome: Outcome) -> Value:
    model, sandbox = outcome.metrics.model_seconds, outcome.metrics.sandbox_seconds
    return None if model is None or sandbox is None else model + sandbox


def _hosts(outcome: Outcome) -> Value:
    hosts = outcome.metrics.hosts
    return None if hosts is None else len(hosts)


def _rate(method: str, capability: str) -> Callable[[Outcome], Value]:
    def value(outcome: Outcome) -> Value:
        rates: Any = getattr(outcome.metrics, "capabilities", None)
        found = getattr(rates, method, None)
        return None if found is None else getattr(found, capability)

    return value


def _tokens(key: str, label: str, help_: str, count: str, better: Better | None = None) -> Row:
    return Row(
        key=key, label=label, help=help_, value=_metric(key), text=integer, better=better,
        reported=True, count=count,
    )  # fmt: skip


TOKENS: tuple[Row, ...] = (
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
    Row(key="environment_share", label="Share of tokens from the sandbox",
        help="Environment tokens / each token once (the paper: 37–51 %).",
        value=_environment_tokens, whole=_metric("tokens_once"), text=share, sandbox=True),
    Row(key="cost", label="Cost", help="In the unit of the configured price.",
        value=_metric("cost"), text=money, better="lower"),
)  # fmt: skip

TIMES: tuple[Row, ...] = (
    Row(key="first_token_seconds", label="To the first token",
        help="From the first request to its first token.",
        value=_metric("first_token_seconds"), text=seconds, better="lower"),
    Row(key="model_seconds", label="Model", help="In model turns.",
        value=_metric("model_seconds"), text=seconds),
    Row(key="sandbox_seconds", label="Sandbox", help="In commands and file operations.",
        value=_metric("sandbox_seconds"), text=seconds, sandbox=True),
    Row(key="waiting_seconds", label="Waiting",
        help="In the queue, until the sandbox was ready, and before other attempts.",
        value=_metric("waiting_seconds"), text=seconds),
    Row(key="total_seconds", label="Total", help="From the task to the end.",
        value=_metric("total_seconds"), text=seconds, better="lower"),
    Row(key="sandbox_share", label="Share of time in the sandbox",
        help="Sandbox / model and sandbox (the paper: below 4 %); waiting is in neither.",
        value=_metric("sandbox_seconds"), whole=_busy_seconds, text=share, sandbox=True),
)  # fmt: skip

WORK: tuple[Row, ...] = (
    Row(key="steps", label="Steps", help="Model turns.",
        value=lambda outcome: outcome.summary.steps if outcome.summary else None, text=integer),
    Row(key="commands", label="Commands", value=_metric("commands"), text=integer, sandbox=True),
    Row(key="failed_commands", label="of it failed", help="Another exit code than 0.",
        value=_metric("failed_commands"), text=integer, sandbox=True),
    Row(key="edits", label="Files edited", help="With the editor’s commands.",
        value=_metric("edits"), text=integer, sandbox=True),
    Row(key="pictures", label="Pictures seen", help="By the model: viewed, or given to it.",
        value=_metric("pictures"), text=integer),
    Row(key="outputs", label="Files handed back", help="In output/ at the end.",
        value=_metric("outputs"), text=integer, sandbox=True),
    Row(key="hosts", label="Network hosts", help="Hosts that answered, by the proxy’s log.",
        value=_hosts, text=integer, sandbox=True),
    Row(key="peak_memory", label="Peak memory", help="Of the sandbox.",
        value=_metric("peak_memory"), text=mebibytes, sandbox=True),
    Row(key="cpu_seconds", label="CPU time", help="Of the sandbox, during the commands.",
        value=_metric("cpu_seconds"), text=seconds, sandbox=True),
)  # fmt: skip

_CAPABILITIES = (("external", "External resources"), ("file", "File management"),
                 ("compute", "Computation"))  # fmt: skip
CAPABILITIES: tuple[Row, ...] = tuple(
    Row(key=f"{method}_{name}", label=f"{label}{by}", help=help_, value=_rate(method, name),
        text=ratio, sandbox=True)
    for method, by, help_ in (
        ("ours", "", "Share of the steps: observed, or parsed from the commands."),
        ("paper", ", by the paper’s patterns", "Share of the steps by the paper’s expressions."),
    )
    for name, label in _CAPABILITIES
)  # fmt: skip

GROUPS = (("Tokens", TOKENS), ("Time", TIMES), ("Work", WORK),
          ("Capabilities, share of steps", CAPABILITIES))  # fmt: skip
ROWS = {row.key: row for _, rows in GROUPS for row in rows}


class Means:
    """The means of all measures over some runs, which have ended.

    ``estimated``: an endpoint reported no counts; ``missing``: steps without a count, by its name.
    """

    def __init__(self, runs: Sequence[Outcome], *, interval: bool = True) -> None:
        self.runs = runs
        metrics = [run.metrics for run in runs]
        self.asked = any(each.prompt_tokens is not None for each in metrics)
        self.estimated = any(each.estimated for each in metrics)
        self.missing = Counter[str]()
        for each in metrics:
            if each.partial:
                self.missing.update(each.partial)
        self._by_row = {key: row.mean(runs, interval=interval) for key, row in ROWS.items()}

    def __getitem__(self, key: str) -> Estimate | None:
        return self._by_row[key]

    def value(self, key: str) -> float | None:
        """Return the mean of a measure; None if it is not known."""
        found = self._by_row[key]
        return found.mean if found else None
