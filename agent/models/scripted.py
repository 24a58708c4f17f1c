"""A model whose turns are given as data: for tests and measurements, without HTTP."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.errors import ModelError, ModelRefused
from agent.models.base import (
    CallPiece,
    Finish,
    FinishReason,
    Piece,
    ReasoningPiece,
    Request,
    TextPiece,
    ToolCall,
    Usage,
)
from agent.models.ids import new_call_id
from agent.stop import Stop


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One turn of a script.

    Attributes:
        text: What the model says.
        reasoning: What it thinks first.
        calls: The calls it makes; an empty id is made up.
        usage: The tokens it reports, if any.
        finish: Why it ends; by default as the calls say.
        error: Raised after text and calls, instead of the end.
        gate: Awaited before the first piece, as a silent model would be.
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[ToolCall] = ()
    usage: Usage | None = None
    finish: FinishReason | None = None
    error: ModelError | None = None
    gate: threading.Event | None = None


class ScriptedModel:
    """Plays its turns in order, whatever it is asked, and remembers what it was asked.

    Args:
        turns: The script; may be endless. ``ModelRefused`` follows the last turn.
        name: The name that a person sees.
        metered: Whether tokens are said to be counted.
        piece: Characters in one piece of text, reasoning or arguments.
    """

    def __init__(
        self,
        turns: Iterable[ScriptedTurn],
        *,
        name: str = "scripted",
        metered: bool = False,
        piece: int = 24,
    ) -> None:
        self._turns = iter(turns)
        self._name = name
        self._metered = metered
        self._piece = piece
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        """The name given to the script."""
        return self._name

    @property
    def metered(self) -> bool:
        """As given."""
        return self._metered

    def stream(self, request: Request, stop: Stop) -> Iterator[Piece]:
        """Play the next turn; see ``Model.stream``."""
        self.requests.append(request)
        turn = next(self._turns, None)
        if turn is None:
            raise ModelRefused("The script has no further turn.")
        _wait(turn.gate, stop)
        for piece in self._pieces(turn):
            if stop.is_set:
                return
            yield piece
        if turn.error is not None:
            raise turn.error
        if not stop.is_set:
            yield Finish(turn.finish or ("tool_calls" if turn.calls else "stop"), turn.usage)

    def _pieces(self, turn: ScriptedTurn) -> Iterator[Piece]:
        yield from map(ReasoningPiece, self._cut(turn.reasoning))
        yield from map(TextPiece, self._cut(turn.text))
        for index, call in enumerate(turn.calls):
            yield CallPiece(index, call.id or new_call_id(), call.name)
            for part in self._cut(call.arguments):
                yield CallPiece(index, arguments=part)

    def _cut(self, text: str) -> Iterator[str]:
        return (text[at : at + self._piece] for at in range(0, len(text), self._piece))


def _wait(gate: threading.Event | None, stop: Stop) -> None:
    """Wait for a gate, or for the stop."""
    while gate is not None and not gate.wait(0.02) and not stop.is_set:
        pass
