"""The built-in model as a ``Model``: one answer at a time, short rounds."""

from collections.abc import Iterator

from agent.models.base import Adapted, Model, Piece, Request
from agent.models.builtin.install import NAME, parts
from agent.models.builtin.process import Engine, engine
from agent.models.builtin.sampler import LlamaSampler
from agent.models.tokens.model import TokenModel
from agent.util.cancellation import Stop

PROMPT = "small"
STEPS, TURN_TOKENS = 8, 400
WAITING = "Waiting for the built-in model, which answers one run at a time."


class BuiltinModel:
    """The built-in model for one conversation. The first request loads it.

    Args:
        engine: The inference process, shared by all conversations.
        sampler: The sampler; by default one with the default temperature.
    """

    name = NAME
    metered = True

    def __init__(self, engine: Engine, sampler: LlamaSampler | None = None) -> None:
        self._engine = engine
        self._spoken_to = TokenModel(NAME, sampler or LlamaSampler(engine), max_tokens=TURN_TOKENS)

    def stream(self, request: Request, stop: Stop) -> Iterator[Piece]:
        """Stream one turn after waiting in the queue; see ``Model.stream``."""
        if self._engine.taken:
            yield Adapted(WAITING)
        with self._engine.place(stop) as mine:
            if mine and self._engine.load(stop):
                yield from self._spoken_to.stream(request, stop)


def builtin_model() -> BuiltinModel | None:
    """Return the built-in model for a new conversation; None if it is not installed."""
    found = parts()
    return BuiltinModel(engine(found)) if found else None


def prompt_for(model: Model) -> str:
    """Return the name of the default prompt for a model."""
    return PROMPT if isinstance(model, BuiltinModel) else "general"
