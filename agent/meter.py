"""What a run has used so far, and which limit that is near."""

import time
from dataclasses import dataclass, replace
from typing import Literal

from agent.events import Status, Totals
from agent.models.base import Usage

_MILLION = 1_000_000
_TOKEN_RESERVE = 0.1
_TIME_RESERVE = 0.05


def estimate_tokens(text: str) -> int:
    """Tokens of a text where nobody counted them: four characters each, as is usual."""
    return (len(text) + 3) // 4


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens: of prompt, of prompt that was cached, of answer."""

    prompt: float
    generated: float
    cached: float | None = None

    def of(self, usage: Usage) -> float:
        """What one turn costs."""
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        money = fresh * self.prompt + usage.cached * cached + usage.generated * self.generated
        return money / _MILLION


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a round ends at the latest.

    Attributes:
        steps: Model turns (the paper: 100).
        conversation_tokens: Length of the conversation (the paper: 65,536, and 131,072 for
            long context); None for no limit but the model's own.
        turn_tokens: Budget of one answer, sent as ``max_tokens``; not sent where None.
        seconds: Wall time of a round; None for no limit.
        money: What a run may cost, in the unit of ``price``; None for no limit.
        price: The model's price; None where it is not known.
        command_seconds: Time limit of a command, unless the call asks for another.
        reminders: How often in a row the model is told to use a tool before its plain
            answer ends the round; 0 takes it at once, None never does.
        attempts: Tries of one turn where a failure may pass.
        backoff: Seconds before the second try; doubled for each further one.
    """

    steps: int = 100
    conversation_tokens: int | None = 131_072
    turn_tokens: int | None = None
    seconds: float | None = 2 * 3600
    money: float | None = None
    price: Price | None = None
    command_seconds: float = 120.0
    reminders: int | None = 2
    attempts: int = 5
    backoff: float = 1.0

    def shown(self) -> dict[str, float | None]:
        """The limits that a person is shown."""
        return {
            "steps": self.steps,
            "conversation_tokens": self.conversation_tokens,
            "turn_tokens": self.turn_tokens,
            "seconds": self.seconds,
            "money": self.money,
        }


LimitStatus = Literal["step_limit", "token_limit", "time_limit", "budget_limit"]
REASONS: dict[Status, str] = {
    "step_limit": "The limit on steps was reached.",
    "token_limit": "The limit on the conversation's tokens was reached.",
    "time_limit": "The limit on time was reached.",
    "budget_limit": "The limit on money was reached.",
}


class Meter:
    """Counts one run; ``totals`` is its picture at any moment.

    Args:
        limits: The limits of the round.
        totals: What earlier rounds used.
    """

    def __init__(self, limits: Limits, totals: Totals | None = None) -> None:
        self.limits = limits
        self.totals = totals or Totals()
        self.round_steps = 0
        self.context = 0
        self._started = time.monotonic()

    @property
    def steps_remaining(self) -> int:
        """Model turns left, the one that is about to begin included."""
        return self.limits.steps - self.round_steps

    def seconds_left(self) -> float | None:
        """Wall time left in this round; None without a limit."""
        if self.limits.seconds is None:
            return None
        return self.limits.seconds - (time.monotonic() - self._started)

    def turn_seconds(self) -> float | None:
        """Wall time that one more turn may take; the last one has the reserve, however late."""
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

    def _count_tokens(self, usage: Usage, estimated: bool) -> None:
        old, price = self.totals, self.limits.price
        came_back = max(0, usage.prompt - self.context) if self.context else 0
        self.context = usage.prompt + usage.generated
        self.totals = replace(
            old,
            prompt_tokens=old.prompt_tokens + usage.prompt,
            cached_tokens=old.cached_tokens + usage.cached,
            generated_tokens=old.generated_tokens + usage.generated,
            environment_tokens=old.environment_tokens + came_back,
            peak_context=max(old.peak_context, self.context),
            estimated=old.estimated or estimated,
            cost=old.cost if price is None else (old.cost or 0.0) + price.of(usage),
        )

    def count_sandbox(self, seconds: float, peak_memory: int | None) -> None:
        """Add time in the sandbox, and its memory at the highest so far."""
        old = self.totals
        known = [m for m in (old.peak_memory, peak_memory) if m is not None]
        self.totals = replace(
            old,
            sandbox_seconds=old.sandbox_seconds + seconds,
            peak_memory=max(known) if known else None,
        )

    def near(self) -> LimitStatus | None:
        """The limit that leaves room for one last turn only, if there is one."""
        limits, left = self.limits, self.seconds_left()
        if self.steps_remaining <= 1:
            return "step_limit"
        tokens = limits.conversation_tokens
        if tokens is not None and self.context >= tokens * (1 - _TOKEN_RESERVE):
            return "token_limit"
        if left is not None and limits.seconds and left <= limits.seconds * _TIME_RESERVE:
            return "time_limit"
        if limits.money is not None and (self.totals.cost or 0.0) >= limits.money * 0.9:
            return "budget_limit"
        return None
