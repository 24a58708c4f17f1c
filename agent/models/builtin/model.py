"""The built-in model as a ``Model``: one answer at a time, short rounds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.models.base import Model, ModelNotice, ModelRequest, Piece
from agent.models.builtin.install import BUILTIN_BASE_NAME, BUILTIN_NAME, find_files
from agent.util.stop import Stop

if TYPE_CHECKING:
    from agent.models.builtin.process import InferenceEngine
    from agent.models.builtin.sampler import LlamaSampler

BUILTIN_PROMPT = "small"
BUILTIN_MAX_STEPS, BUILTIN_TURN_TOKENS = 8, 400
WAITING_MESSAGE = "Waiting for the built-in model, which answers one run at a time."


class BuiltinModel:
    """The built-in model for one conversation; in plain mode without the tool adapter."""

    metered = True

    def __init__(
        self,
        engine: "InferenceEngine",
        sampler: "LlamaSampler | None" = None,
        *,
        adapter: bool = True,
    ) -> None:
        from agent.models.builtin.sampler import LlamaSampler  # only where this model answers
        from agent.models.token_model import TokenModel

        self.name = BUILTIN_NAME if adapter else BUILTIN_BASE_NAME
        self._engine = engine
        self._token_model = TokenModel(
            self.name,
            sampler or LlamaSampler(engine, adapter=adapter),
            max_tokens=BUILTIN_TURN_TOKENS,
        )

    def without_adapter(self) -> "BuiltinModel":
        """Return the same weights without the adapter, for a new conversation."""
        return BuiltinModel(self._engine, adapter=False)

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Stream one turn after waiting in the queue; see ``Model.stream``."""
        if self._engine.is_busy:
            yield ModelNotice(WAITING_MESSAGE)
        with self._engine.acquire(stop) as acquired:
            if acquired and self._engine.load(stop):
                yield from self._token_model.stream(request, stop)


def create_builtin_model() -> BuiltinModel | None:
    """Return the built-in model for a new conversation; None if it is not installed."""
    from agent.models.builtin.process import get_engine

    files = find_files()
    return BuiltinModel(get_engine(files)) if files else None


def model_for_mode(model: Model, mode: str) -> Model:
    """Return the model that answers in this mode: the built-in one has no adapter in plain mode."""
    if mode == "plain" and isinstance(model, BuiltinModel):
        return model.without_adapter()
    return model


def default_prompt_name(model: Model) -> str:
    """Return the name of the default prompt for a model."""
    return BUILTIN_PROMPT if isinstance(model, BuiltinModel) else "general"
