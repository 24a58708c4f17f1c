"""The built-in model as the loop knows it: one answer at a time, and short rounds."""

from collections.abc import Iterator
from dataclasses import replace

from agent.meter import Limits
from agent.models.base import Adapted, Model, Piece, Request
from agent.models.builtin.engine import Engine, engine
from agent.models.builtin.parts import NAME, parts
from agent.models.builtin.sampler import LlamaSampler
from agent.models.builtin.worker import CONTEXT
from agent.models.tokenwise import TokenModel
from agent.stop import Stop

PROMPT = "small"
STEPS, TURN_TOKENS = 8, 400
WAITING = "Waiting for the built-in model, which answers one run at a time."


class BuiltinModel:
    """Answers with the model that comes along; one conversation. It is loaded when first asked.

    Args:
        engine: The process that computes, shared by all conversations.
        sampler: How it is sampled; at its default temperature where not given.
    """

    name = NAME
    metered = True

    def __init__(self, engine: Engine, sampler: LlamaSampler | None = None) -> None:
        self._engine = engine
        self._spoken_to = TokenModel(NAME, sampler or LlamaSampler(engine), max_tokens=TURN_TOKENS)

    def stream(self, request: Request, stop: Stop) -> Iterator[Piece]:
        """Stream one turn, when it is this conversation's; see ``Model.stream``."""
        if self._engine.taken:
            yield Adapted(WAITING)
        with self._engine.place(stop) as mine:
            if mine and self._engine.load(stop):
                yield from self._spoken_to.stream(request, stop)


def builtin_model() -> BuiltinModel | None:
    """The built-in model, for a new conversation; None where it is not installed."""
    found = parts()
    return BuiltinModel(engine(found)) if found else None


def prompt_for(model: Model) -> str:
    """The name of the prompt for a model where nobody chose another."""
    return PROMPT if isinstance(model, BuiltinModel) else "general"


def suited(limits: Limits, model: Model) -> Limits:
    """The limits for a model: the built-in one gets few steps, short answers, no reminders.

    It answers in plain words where it does not know a task, which then is the end.
    """
    if not isinstance(model, BuiltinModel):
        return limits
    return replace(
        limits,
        steps=min(limits.steps, STEPS),
        turn_tokens=min(limits.turn_tokens or TURN_TOKENS, TURN_TOKENS),
        conversation_tokens=min(limits.conversation_tokens or CONTEXT, CONTEXT),
        reminders=0,
    )
