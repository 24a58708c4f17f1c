"""Tokens of a run by step; counts that the endpoint did not report are None, never 0."""

from collections import Counter
from copy import copy
from dataclasses import dataclass, fields

from agent.models.base import PartialCount, Usage
from agent.runs.state import RunState, StepSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounts:
    """Tokens of a step or a run; None if no usage has the count.

    ``environment`` came from the sandbox or the loop since the last answer; ``generated`` includes
    ``reasoning``; ``once`` no earlier step had: their sum is the paper's N_total.
    """

    prompt: int | None = None
    cached: int | None = None
    cache_written: int | None = None
    environment: int | None = None
    generated: int | None = None
    reasoning: int | None = None
    once: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTokens(TokenCounts):
    """Tokens of one step; ``summarising`` requests are not included in the other counts."""

    step: int
    round: int
    estimated: bool = False
    summary: str = ""
    summarising: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTotals(TokenCounts):
    """Tokens of a run; ``missing`` counts the steps without a count, by the count's name."""

    largest_prompt: int | None = None
    missing: dict[str, int]
    estimated: bool = False


_COUNTS = tuple(each.name for each in fields(TokenCounts))
# By count: what of a request for a summary is part of it. Its prompt repeats the conversation.
_SUMMARY_COUNTS = {
    "prompt": "prompt", "cached": "cached", "cache_written": "cache_written",
    "generated": "generated", "reasoning": "reasoning", "once": "generated",
}  # fmt: skip


class TokenCounter:
    """Counts the tokens of a growing run: each step that is not the last one is counted once."""

    def __init__(self) -> None:
        self._steps: list[StepTokens] = []
        self._sums = _Sums()
        self._last: StepSummary | None = None
        self._freed = 0  # by summaries since the last answered step

    def count(self, state: RunState, after: int = 0) -> tuple[list[StepTokens], TokenTotals]:
        """Return the tokens of the steps after a number, and the totals of all.

        ``state`` must be the same as in the call before, or later.
        """
        for step in state.steps[len(self._steps) : -1]:
            self._steps.append(tokens := self._tokens_of(step))
            self._sums.add(tokens)
            self._freed += _freed_by(step)
            if step.usage is not None:
                self._last, self._freed = step, 0
        shown, sums = self._steps[after:], self._sums
        for step in state.steps[-1:]:
            sums = sums.copy()
            sums.add(tokens := self._tokens_of(step))
            shown += [tokens] if after < len(state.steps) else []
        return shown, sums.totals()

    def _tokens_of(self, step: StepSummary) -> StepTokens:
        return _tokens_of(step, self._last, self._freed + _freed_by(step))


class _Sums:
    """Sums of the tokens of steps; requests for summaries are part of them."""

    def __init__(self) -> None:
        self._answered = 0
        self._known: Counter[str] = Counter()  # answered steps with the count
        self._sums: dict[str, int] = {}
        self._largest: int | None = None
        self._estimated = False

    def copy(self) -> "_Sums":
        """Return sums to which other steps can be added."""
        other = copy(self)
        other._known, other._sums = self._known.copy(), self._sums.copy()
        return other

    def add(self, step: StepTokens) -> None:
        if step.prompt is not None:
            self._answered += 1
            self._largest = max(step.prompt, self._largest or 0)
            self._estimated |= step.estimated
            for name in _COUNTS:
                if (count := getattr(step, name)) is not None:
                    self._known[name] += 1
                    self._sums[name] = self._sums.get(name, 0) + count
        if step.summarising is not None:
            for name, part in _SUMMARY_COUNTS.items():
                if (count := _known(step.summarising, part)) is not None:
                    self._sums[name] = self._sums.get(name, 0) + count

    def totals(self) -> TokenTotals:
        return TokenTotals(
            **self._sums,
            largest_prompt=self._largest,
            missing={
                name: self._answered - self._known[name]
                for name in _COUNTS
                if 0 < self._known[name] < self._answered
            },
            estimated=self._estimated,
        )


def _freed_by(step: StepSummary) -> int:
    return sum(each.replaced_tokens - each.summary_tokens for each in step.summaries)


def _tokens_of(step: StepSummary, last: StepSummary | None, freed: int) -> StepTokens:
    """Return a step's tokens; summaries have freed ``freed`` since the ``last`` answer."""
    usage, summary = step.usage, _summary(step)
    summarising = _summarising(step)
    if usage is None:
        return StepTokens(
            step=step.step, round=step.round, summary=summary, summarising=summarising
        )

    def known(count: PartialCount) -> int | None:
        return None if step.estimated else usage.known(count)

    before = 0 if last is None or last.usage is None else last.usage.prompt + last.usage.generated
    new = max(0, usage.prompt - max(0, before - freed))
    return StepTokens(
        step=step.step,
        round=step.round,
        prompt=usage.prompt,
        cached=known("cached"),
        cache_written=known("cache_written"),
        environment=0 if last is None or last.round != step.round else new,
        generated=usage.generated,
        reasoning=known("reasoning"),
        once=new + usage.generated,
        estimated=step.estimated,
        summary=summary,
        summarising=summarising,
    )


def _summarising(step: StepSummary) -> Usage | None:
    """Return the usage of a step's requests for summaries together."""
    usages = [each.usage for each in step.summaries if each.usage is not None]
    if not usages:
        return None
    return Usage(
        prompt=sum(each.prompt for each in usages),
        generated=sum(each.generated for each in usages),
        cached=sum(each.cached for each in usages),
        reasoning=sum(each.reasoning for each in usages),
        cache_written=sum(each.cache_written for each in usages),
        reported=tuple(
            name for name in usages[0].reported if all(name in each.reported for each in usages)
        ),
    )


def _known(usage: Usage, count: str) -> int | None:
    """Return a count, or None if the endpoint did not report it."""
    match count:
        case "cached" | "cache_written" | "reasoning":
            return usage.known(count)
        case "prompt":
            return usage.prompt
        case _:
            return usage.generated


def _summary(step: StepSummary) -> str:
    if step.calls:
        return step.calls[0].summary
    return " ".join(step.text.split())
