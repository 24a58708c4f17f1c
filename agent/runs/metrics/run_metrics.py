"""The figures of one run, reduced from its state; what is not known is None, never 0."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agent.capabilities.usage import CapabilityRates, rates
from agent.runs.metrics.tokens import TokenCounter
from agent.runs.state import CallSummary, RunState
from agent.tools.actions import BASH, EDITOR, SUBMIT
from agent.util.text import plural

_MAX_NAMES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetrics:
    """The figures of a run (see ``TokenTotals`` for the tokens); None stands for unknown."""

    rounds: int  # messages of the user, with the task
    prompt: str
    network: str  # empty in plain mode
    limits: dict[str, float | None] = field(default_factory=dict)  # of the last round
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cache_written_tokens: int | None = None
    generated_tokens: int | None = None  # with the reasoning
    reasoning_tokens: int | None = None
    environment_tokens: int | None = None  # from the sandbox and the loop
    tokens_once: int | None = None  # each token once: the paper's N_total
    largest_prompt: int | None = None  # of any step
    partial: dict[str, int] = field(default_factory=dict)  # counts that steps lack: name, steps
    first_prompt: int | None = None  # tokens; documents in plain mode
    prompt_characters: int | None = None  # system prompt, first message
    estimated: bool = False  # any count
    cost: float | None = None
    first_token_seconds: float | None = None  # from the first request
    model_seconds: float | None = None
    sandbox_seconds: float | None = None  # None in plain mode
    waiting_seconds: float = 0.0  # queue, sandbox, other attempts
    total_seconds: float = 0.0
    commands: int | None = None  # None in plain mode
    failed_commands: int | None = None
    edits: int | None = None  # files changed with the editor
    invalid_calls: int = 0
    pictures: int = 0  # that the model got
    picture_tokens: int | None = None  # of one, as measured; None if it cannot be
    outputs: int | None = None  # files in ``output/`` at the end
    output_names: tuple[str, ...] = ()  # some of them
    hosts: tuple[str, ...] | None = None  # that answered
    received: int | None = None  # bytes from them
    refused_requests: int | None = None  # by the network policy
    peak_memory: int | None = None
    answer_characters: int = 0  # the summary may have fewer
    cpu_seconds: float | None = None
    capabilities: CapabilityRates | None = None  # None if a step has no record
    left_out: tuple[str, ...] = ()  # settings that did not reach the model
    truncated: bool = False  # by the server, without saying so
    passport: dict[str, Any] | None = None  # what was known of the model

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader of its score must know, in a few words each."""
        marks = [f"{name.replace('_', ' ')} not sent" for name in self.left_out]
        return tuple(["conversation cut by the server", *marks] if self.truncated else marks)


def metrics_of(state: RunState, files: Iterable[str] = ()) -> RunMetrics:
    """Return the figures of a run that has begun."""
    steps, tokens = TokenCounter().count(state)
    totals, tally = state.current_totals, state.tally
    sandbox = state.mode == "sandbox"
    calls = [call for step in state.steps for call in step.calls]
    commands = [call for call in calls if call.name == BASH and call.executed]
    outputs = [name for name in files if name.startswith("output/")]
    seen = tally.pictures
    return RunMetrics(
        rounds=len(state.rounds),
        prompt=state.prompt,
        network=state.network if sandbox else "",
        limits=state.limits,
        prompt_tokens=tokens.prompt,
        cached_tokens=tokens.cached,
        cache_written_tokens=tokens.cache_written,
        generated_tokens=tokens.generated,
        reasoning_tokens=tokens.reasoning,
        environment_tokens=tokens.environment,
        tokens_once=tokens.once,
        largest_prompt=tokens.largest_prompt,
        partial=tokens.missing,
        first_prompt=next((step.prompt for step in steps if step.prompt is not None), None),
        prompt_characters=tally.prompt_characters,
        estimated=tokens.estimated,
        cost=totals.cost,
        first_token_seconds=tally.first_token,
        model_seconds=totals.model_seconds if totals.steps else None,
        sandbox_seconds=totals.sandbox_seconds if sandbox else None,
        waiting_seconds=tally.waiting,
        total_seconds=sum(max(0.0, (each.ended or 0) - each.began)
                          for each in state.rounds if each.ended is not None),
        commands=len(commands) if sandbox else None,
        failed_commands=sum(not call.ok for call in commands) if sandbox else None,
        edits=sum(map(_is_edit, calls)) if sandbox else None,
        invalid_calls=sum(not call.executed and call.name != SUBMIT for call in calls),
        pictures=seen.pictures,
        picture_tokens=round(seen.measured / seen.measured_pictures) if seen.measured else None,
        outputs=len(outputs) if sandbox else None,
        output_names=tuple(sorted(outputs)[:_MAX_NAMES]),
        hosts=tuple(tally.hosts) if sandbox else None,
        received=sum(tally.hosts.values()) if sandbox else None,
        refused_requests=tally.refused if sandbox else None,
        peak_memory=totals.peak_memory,
        answer_characters=len(state.rounds[-1].answer) if state.rounds else 0,
        cpu_seconds=_cpu_seconds(state),
        capabilities=rates(step.used for step in state.steps) if sandbox else None,
        left_out=state.left_out,
        truncated=totals.truncated,
        passport=state.passport,
    )  # fmt: skip


def _cpu_seconds(state: RunState) -> float | None:
    known = [step.used.cpu_seconds for step in state.steps if step.used is not None]
    seconds = [each for each in known if each is not None]
    return sum(seconds) if seconds else None


def _is_edit(call: CallSummary) -> bool:
    return call.name == EDITOR and call.ok and call.edits


def provenance_of(of_runs: Iterable[RunMetrics | None]) -> dict[str, Any]:
    """Return the passport of a member's model and the marks of its runs, as JSON."""
    known = [metrics for metrics in of_runs if metrics is not None]
    counts = Counter(mark for metrics in known for mark in metrics.marks)
    passports = [metrics.passport for metrics in known if metrics.passport is not None]
    return {
        "passport": passports[-1] if passports else None,
        "marks": [
            mark if count == len(known) else f"{mark} in {count:,} of {plural(len(known), 'run')}"
            for mark, count in counts.items()
        ],
    }
