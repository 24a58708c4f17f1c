"""Limits of a round and the price of a model's tokens."""

from dataclasses import dataclass, replace

from agent.models.base import Model, Usage
from agent.models.builtin.model import BUILTIN_MAX_STEPS, BUILTIN_TURN_TOKENS, BuiltinModel
from agent.models.builtin.worker import CONTEXT_TOKENS
from agent.models.endpoint.deferred import passport_of

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a million prompt, cached prompt and generated tokens."""

    prompt: float
    generated: float
    cached: float | None = None

    def cost(self, usage: Usage) -> float:
        """Return the cost of one turn."""
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        money = fresh * self.prompt + usage.cached * cached + usage.generated * self.generated
        return money / _MILLION


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one round; None for no limit.

    Attributes:
        conversation_tokens: Length of the conversation (the paper: 65,536, and 131,072 for
            long context); None for the model's own limit only.
        reminders: Consecutive reminders to use a tool before a plain answer ends the round;
            0 means the first plain answer does, None means none does.
    """

    steps: int = 100  # model turns (the paper: 100)
    conversation_tokens: int | None = 131_072
    turn_tokens: int | None = None  # of one answer, sent as ``max_tokens``; None: not sent
    seconds: float | None = 2 * 3600  # wall time of a round
    money: float | None = None  # cost of a run, in the unit of ``price``
    price: Price | None = None
    command_seconds: float = 120.0  # unless the call asks for another
    reminders: int | None = 2
    attempts: int = 5  # of one turn, in case of temporary failures
    backoff: float = 1.0  # seconds before the second attempt, then doubled
    summarise: bool = False  # near the limit of the context (``agent.loop.summary``)

    def to_dict(self) -> dict[str, float | None]:
        """Return the limits shown to the user; ``summarise`` is included only when enabled."""
        limits: dict[str, float | None] = {
            "steps": self.steps,
            "conversation_tokens": self.conversation_tokens,
            "turn_tokens": self.turn_tokens,
            "seconds": self.seconds,
            "money": self.money,
        }
        return limits | ({"summarise": 1} if self.summarise else {})


def with_turn_tokens(limits: Limits, tokens: int | None) -> Limits:
    """Return limits with a user's budget of one answer, which is at most the operator's."""
    if tokens is None:
        return limits
    return replace(limits, turn_tokens=min(tokens, limits.turn_tokens or tokens))


def adapt_to_model(limits: Limits, model: Model) -> Limits:
    """Return limits within the model's context; the built-in one gets short turns, no reminders."""
    if not isinstance(model, BuiltinModel):
        passport = passport_of(model)
        context = passport.context_tokens if passport else None
        if context is None or (limits.conversation_tokens or context) < context:
            return limits
        return replace(limits, conversation_tokens=context)
    return replace(
        limits,
        steps=min(limits.steps, BUILTIN_MAX_STEPS),
        turn_tokens=min(limits.turn_tokens or BUILTIN_TURN_TOKENS, BUILTIN_TURN_TOKENS),
        conversation_tokens=min(limits.conversation_tokens or CONTEXT_TOKENS, CONTEXT_TOKENS),
        reminders=0,
    )
