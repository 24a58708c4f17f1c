"""The figures of one run, reduced from its state; what is not known is None, never 0."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agent.capabilities import CapabilityRates, rates
from agent.runs.requests.tokens import step_tokens, token_totals
from agent.runs.state import CallSummary, RunState
from agent.tools.actions import BASH, EDITOR, SUBMIT

_MAX_NAMES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetrics:
    """The figures of a run; see ``TokenTotals`` for the tokens.

    Attributes:
        rounds: Number of messages of the user, the task included.
        prompt: Name of the prompt.
        network: What the sandbox could reach; empty in plain mode.
        limits: The limits of the last round.
        prompt_tokens: All prompts together.
        cached_tokens: The part of them that the endpoint read from its cache.
        cache_written_tokens: The part written to the cache.
        generated_tokens: All answers together, their reasoning included.
        reasoning_tokens: The part of them that is reasoning.
        environment_tokens: Tokens that came from the sandbox and the loop.
        tokens_once: Each token once: the paper's N_total.
        largest_prompt: The largest prompt of any step.
        partial: The counts that only some steps reported: name and number of missing steps.
        first_prompt: The first prompt in tokens, which contains the documents in plain mode.
        prompt_characters: Length of the system prompt and the first message.
        estimated: Whether any count is an estimate.
        cost: Money; None without a price.
        first_token_seconds: From the first request to its first token.
        model_seconds: In model turns; None if none was answered.
        sandbox_seconds: In commands and file operations; None in plain mode.
        waiting_seconds: In the queue, until the sandbox was ready, before other attempts.
        total_seconds: Of all ended rounds.
        commands: Number of commands executed, of it ``failed_commands``; None in plain mode.
        edits: Files created or changed with the editor.
        invalid_calls: Calls that could not be executed.
        outputs: Number of files in ``output/`` at the end; None in plain mode.
        output_names: Some of their names.
        hosts: The hosts that answered.
        received: Bytes received from them.
        refused_requests: Requests that the network policy refused.
        peak_memory: Of the sandbox, in bytes; None if unknown.
        cpu_seconds: CPU time of the sandbox during the commands; None if unknown.
        capabilities: Capability usage by both methods; None if a step has no record of it.
        answer_characters: Length of the last round's answer, of which the summary may have
            the beginning only.
        left_out: Settings that were asked for and did not reach the model.
        truncated: Whether the server cut the conversation without saying so.
        passport: What was known of the model (``agent.models.passport``); None if nothing was.
    """

    rounds: int
    prompt: str
    network: str
    limits: dict[str, float | None] = field(default_factory=dict)
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cache_written_tokens: int | None = None
    generated_tokens: int | None = None
    reasoning_tokens: int | None = None
    environment_tokens: int | None = None
    tokens_once: int | None = None
    largest_prompt: int | None = None
    partial: dict[str, int] = field(default_factory=dict)
    first_prompt: int | None = None
    prompt_characters: int | None = None
    estimated: bool = False
    cost: float | None = None
    first_token_seconds: float | None = None
    model_seconds: float | None = None
    sandbox_seconds: float | None = None
    waiting_seconds: float = 0.0
    total_seconds: float = 0.0
    commands: int | None = None
    failed_commands: int | None = None
    edits: int | None = None
    invalid_calls: int = 0
    outputs: int | None = None
    output_names: tuple[str, ...] = ()
    hosts: tuple[str, ...] | None = None
    received: int | None = None
    refused_requests: int | None = None
    peak_memory: int | None = None
    answer_characters: int = 0
    cpu_seconds: float | None = None
    capabilities: CapabilityRates | None = None
    left_out: tuple[str, ...] = ()
    truncated: bool = False
    passport: dict[str, Any] | None = None

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader of its score must know, in a few words each."""
        marks = [f"{name.replace('_', ' ')} not sent" for name in self.left_out]
        return tuple(["conversation cut by the server", *marks] if self.truncated else marks)


def metrics_of(state: RunState, files: Iterable[str] = ()) -> RunMetrics:
    """Return the figures of a run that has begun.

    Args:
        state: The run's state.
        files: Paths of the files in its workspace.
    """
    steps = step_tokens(state)
    tokens, totals, tally = token_totals(steps), state.current_totals, state.tally
    sandbox = state.mode == "sandbox"
    calls = [call for step in state.steps for call in step.calls]
    commands = [call for call in calls if call.name == BASH and call.executed]
    outputs = [name for name in files if name.startswith("output/")]
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
