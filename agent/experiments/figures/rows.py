"""The rows of a comparison's table that are a mean over a member's runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from agent.experiments.outcomes import Outcome

Better = Literal["higher", "lower"]
Value = float | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A measure of a run; ``count`` is the count's name in ``RunMetrics.partial``."""

    key: str
    label: str
    value: Callable[[Outcome], Value]
    text: Callable[[float], str]
    help: str = ""
    better: Better | None = None
    sandbox: bool = False
    reported: bool = False
    count: str = ""


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


def ratio(value: float) -> str:
    """Return a rate from 0 to 1."""
    return f"{value:.2f}"


def money(value: float) -> str:
    """Return an amount in the unit of the configured price."""
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def mebibytes(value: float) -> str:
    """Return bytes as MiB."""
    return f"{value / 1024**2:,.0f} MiB"


def _metric(name: str) -> Callable[[Outcome], Value]:
    return lambda outcome: getattr(outcome.metrics, name)


def _share_of(part: str, whole: str) -> Callable[[Outcome], Value]:
    def value(outcome: Outcome) -> Value:
        one, all_ = getattr(outcome.metrics, part), getattr(outcome.metrics, whole)
        return None if one is None or not all_ else one / all_

    return value


def _sandbox_share(outcome: Outcome) -> Value:
    model, sandbox = outcome.metrics.model_seconds, outcome.metrics.sandbox_seconds
    whole = None if model is None or sandbox is None else model + sandbox
    return None if sandbox is None or not whole else sandbox / whole


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
        value=_share_of("environment_tokens", "tokens_once"), text=share, sandbox=True),
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
        value=_sandbox_share, text=share, sandbox=True),
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
