"""A scripted model without HTTP, and helpers that make its turns."""

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent.errors import ModelError, ModelRefused
from agent.models.base import (
    CallPiece,
    Finish,
    FinishReason,
    ModelRequest,
    Piece,
    ReasoningPiece,
    TextPiece,
    ToolCall,
    Usage,
)
from agent.models.parsing.repair import new_call_id
from agent.util.stop import Stop


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One turn of a script; a model that waits for its ``gate`` is silent."""

    text: str = ""
    reasoning: str = ""
    calls: Sequence[ToolCall] = ()
    usage: Usage | None = None
    finish: FinishReason | None = None
    error: ModelError | None = None
    gate: threading.Event | None = None


class ScriptedModel:
    """A model that plays its turns, which may be infinite, in order and records the requests."""

    def __init__(
        self,
        turns: Iterable[ScriptedTurn],
        *,
        name: str = "scripted",
        metered: bool = False,
        piece_size: int = 24,
    ) -> None:
        self._turns = iter(turns)
        self.name, self.metered = name, metered
        self._piece_size = piece_size
        self.requests: list[ModelRequest] = []

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Play the next turn; see ``Model.stream``."""
        self.requests.append(request)
        turn = next(self._turns, None)
        if turn is None:
            raise ModelRefused("The script has no more turns.")
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
        yield from map(ReasoningPiece, self._split(turn.reasoning))
        yield from map(TextPiece, self._split(turn.text))
        for index, call in enumerate(turn.calls):
            yield CallPiece(index, call.id or new_call_id(), call.name)
            for part in self._split(call.arguments):
                yield CallPiece(index, arguments=part)

    def _split(self, text: str) -> Iterator[str]:
        return (text[at : at + self._piece_size] for at in range(0, len(text), self._piece_size))


def _wait(gate: threading.Event | None, stop: Stop) -> None:
    """Wait for the gate or the stop."""
    while gate is not None and not gate.wait(0.02) and not stop.is_set:
        pass


def call(name: str, **arguments: Any) -> ScriptedTurn:
    return ScriptedTurn(calls=(ToolCall("", name, json.dumps(arguments)),))


def bash(command: str) -> ScriptedTurn:
    return call("execute_bash", command=command)


SUBMIT = call("submit")


def script(*turns: ScriptedTurn) -> ScriptedModel:
    return ScriptedModel([*turns, SUBMIT])
