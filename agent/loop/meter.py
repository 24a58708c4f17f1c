"""Resource usage of a run, and the limit that it is about to reach."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from agent.events import Status, Totals
from agent.limits import Limits
from agent.models.base import Usage

_TOKEN_RESERVE = 0.1
_SUMMARY_RESERVE = 0.2
_TIME_RESERVE = 0.05


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text with the usual rule of four characters per token."""
    return (len(text) + 3) // 4


LimitStatus = Literal["step_limit", "token_limit", "time_limit", "budget_limit"]
LIMIT_REASONS: dict[Status, str] = {
    "step_limit": "The step limit was reached.",
    "token_limit": "The token limit of the conversation was reached.",
    "time_limit": "The time limit was reached.",
    "budget_limit": "The cost limit was reached.",
}


class UsageMeter:
    """Counts a run's usage, from the totals of earlier rounds on."""

    def __init__(self, limits: Limits, totals: Totals | None = None) -> None:
        self.limits = limits
        self.totals = totals or Totals()
        self.round_steps = 0
        self.context_tokens = 0
        self._started = time.monotonic()

    @property
    def steps_remaining(self) -> int:
        """Model turns left, including the one about to begin."""
        return self.limits.steps - self.round_steps

    @contextmanager
    def waiting_for_user(self) -> Iterator[None]:
        """Count the time in the block in no limit."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._started += time.monotonic() - began

    def seconds_left(self) -> float | None:
        """Return the wall time left in this round, in seconds; None without a limit."""
        if self.limits.seconds is None:
            return None
        return self.limits.seconds - (time.monotonic() - self._started)

    @property
    def is_out_of_time(self) -> bool:
        """Whether the round has used all its wall time."""
        left = self.seconds_left()
        return left is not None and left <= 0

    def turn_seconds(self) -> float | None:
        """Return the seconds for one more turn, at least a share of the limit; None without one."""
        left, limit = self.seconds_left(), self.limits.seconds
        if left is None or limit is None:
            return None
        return max(left, limit * _TIME_RESERVE)

    def count_turn(self, usage: Usage | None, *, estimated: bool, seconds: float) -> None:
        """Add a model turn; ``usage`` is None for a model that is not metered."""
        self.round_steps += 1
        old = self.totals
        self.totals = replace(old, steps=old.steps + 1, model_seconds=old.model_seconds + seconds)
        if usage is None:
            self.totals = replace(self.totals, metered=False)
            return
        self._count_tokens(usage, estimated)

    def count_summary(
        self, usage: Usage | None, *, estimated: bool, seconds: float, freed_tokens: int = 0
    ) -> None:
        """Count a request for a summary: not a step, and the conversation is shorter after it."""
        old = self.totals
        self.totals = replace(old, model_seconds=old.model_seconds + seconds)
        self.context_tokens = max(0, self.context_tokens - freed_tokens)
        if usage is not None:
            self._add_usage(usage, estimated)

    def _count_tokens(self, usage: Usage, estimated: bool) -> None:
        environment_tokens = (
            max(0, usage.prompt - self.context_tokens) if self.context_tokens else 0
        )
        self.context_tokens = usage.prompt + usage.generated
        self._add_usage(usage, estimated)
        old = self.totals
        self.totals = replace(
            old,
            environment_tokens=old.environment_tokens + environment_tokens,
            peak_context=max(old.peak_context, self.context_tokens),
        )

    def _add_usage(self, usage: Usage, estimated: bool) -> None:
        old, price = self.totals, self.limits.price
        self.totals = replace(
            old,
            prompt_tokens=old.prompt_tokens + usage.prompt,
            cached_tokens=old.cached_tokens + usage.cached,
            cache_written_tokens=old.cache_written_tokens + usage.cache_written,
            generated_tokens=old.generated_tokens + usage.generated,
            estimated=old.estimated or estimated,
            cost=old.cost if price is None else (old.cost or 0.0) + price.cost(usage),
        )

    def mark_truncated(self) -> None:
        """Record that the server cut the conversation without saying so."""
        self.totals = replace(self.totals, truncated=True)

    def count_sandbox(self, seconds: float, peak_memory: int | None) -> None:
        """Add seconds spent in the sandbox, and its peak memory in bytes."""
        old = self.totals
        known = [m for m in (old.peak_memory, peak_memory) if m is not None]
        self.totals = replace(
            old,
            sandbox_seconds=old.sandbox_seconds + seconds,
            peak_memory=max(known) if known else None,
        )

    @property
    def needs_summary(self) -> bool:
        """Whether the conversation is so long that older steps are summarised, if they may be."""
        tokens = self.limits.conversation_tokens
        if not self.limits.summarise or tokens is None:
            return False
        return self.context_tokens >= tokens * (1 - _SUMMARY_RESERVE)

    def limit_allowing_one_turn(self) -> LimitStatus | None:
        """Return the limit that allows only one more turn, or None."""
        limits, left = self.limits, self.seconds_left()
        if self.steps_remaining <= 1:
            return "step_limit"
        if left is not None and limits.seconds and left <= limits.seconds * _TIME_RESERVE:
            return "time_limit"
        if limits.money is not None and (self.totals.cost or 0.0) >= limits.money * 0.9:
            return "budget_limit"
        tokens = limits.conversation_tokens  # last: a summary can make room
        if tokens is not None and self.context_tokens >= tokens * (1 - _TOKEN_RESERVE):
            return "token_limit"
        return None
