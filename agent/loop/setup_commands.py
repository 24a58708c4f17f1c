"""A model whose first turns are commands of the studio; then another model goes on."""

import json
from collections.abc import Iterator, Sequence

from agent.models.base import CallPiece, Finish, Model, ModelRequest, Piece, TextPiece, Usage
from agent.models.parsing.repair import new_call_id
from agent.tools.actions import BASH
from agent.util.stop import Stop

TEXT = "The studio runs this command first, to prepare the new sandbox."


class SetupCommands:
    """Plays one turn per command, which uses no tokens, and then the model's own turns."""

    def __init__(self, model: Model, commands: Sequence[str]) -> None:
        self._model = model
        self._commands = list(commands)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def metered(self) -> bool:
        """As for the model."""
        return self._model.metered

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Stream the next command's turn, or the model's; see ``Model.stream``."""
        if not self._commands:
            yield from self._model.stream(request, stop)
            return
        arguments = json.dumps({"command": self._commands.pop(0)})
        yield TextPiece(TEXT)
        yield CallPiece(0, new_call_id(), BASH, arguments)
        yield Finish("tool_calls", Usage(0, 0) if self.metered else None)
