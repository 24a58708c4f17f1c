"""The contract of every model; each implementation subclasses ``ModelSuite``."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

import pytest

from agent.errors import ModelRefused, ModelUnavailable
from agent.models.base import (
    CallPiece,
    Finish,
    Model,
    ModelRequest,
    Piece,
    ReasoningPiece,
    TextPiece,
    ToolCall,
    ToolSchema,
    Usage,
    UserMessage,
)
from agent.util.stop import Stop
from tests.support.models.scripted import ScriptedTurn

BASH = ToolSchema(
    "execute_bash",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
REQUEST = ModelRequest([UserMessage("Do it.")], [BASH])


def text_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))


def reasoning_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece))


def calls_of(pieces: Sequence[Piece]) -> list[ToolCall]:
    """Join call fragments; only the first fragment of a call has its id and name."""
    calls: dict[int, ToolCall] = {}
    for piece in pieces:
        if isinstance(piece, CallPiece):
            previous = calls.get(piece.index)
            if previous is None:
                assert piece.id
                calls[piece.index] = ToolCall(piece.id, piece.name, piece.arguments)
            else:
                assert (piece.id, piece.name) == ("", "")
                arguments = previous.arguments + piece.arguments
                calls[piece.index] = ToolCall(previous.id, previous.name, arguments)
    return [calls[index] for index in sorted(calls)]


class ModelSuite(ABC):
    """Tests for subclasses that create a model from scripted turns."""

    @abstractmethod
    def model(self, *turns: ScriptedTurn) -> AbstractContextManager[Model]:
        """Create a model that plays these turns."""

    def answer(self, turn: ScriptedTurn) -> tuple[list[Piece], Finish]:
        """Return the pieces of a turn; exactly one is a ``Finish``, the last."""
        with self.model(turn) as model:
            pieces = list(model.stream(REQUEST, Stop()))
        (finish,) = (piece for piece in pieces if isinstance(piece, Finish))
        assert pieces[-1] == finish
        return pieces, finish

    def test_reasoning_and_text_are_separate_and_complete(self) -> None:
        turn = ScriptedTurn(text="Ångström 🙂\n" * 40, reasoning="Let me see …\n" * 40)
        pieces, finish = self.answer(turn)
        assert (text_of(pieces), reasoning_of(pieces)) == (turn.text, turn.reasoning)
        assert finish.reason == "stop"

    def test_calls_keep_their_order_and_have_unique_ids(self) -> None:
        calls = [ToolCall("", "execute_bash", f'{{"command": "ls {n}"}}') for n in range(5)]
        pieces, finish = self.answer(ScriptedTurn(calls=calls))
        received = calls_of(pieces)
        assert [(call.name, call.arguments) for call in received] == [
            (call.name, call.arguments) for call in calls
        ]
        assert len({call.id for call in received}) == 5
        assert finish.reason == "tool_calls"

    def test_arguments_are_passed_unchanged_even_if_invalid_json(self) -> None:
        pieces, _ = self.answer(ScriptedTurn(calls=[ToolCall("", "execute_bash", '{"comm')]))
        assert calls_of(pieces)[0].arguments == '{"comm'

    def test_usage_comes_with_the_finish(self) -> None:
        usage = Usage(prompt=900, generated=30, cached=800)
        assert self.answer(ScriptedTurn(text="Yes.", usage=usage))[1] == Finish("stop", usage)

    def test_an_answer_truncated_by_max_tokens_is_marked(self) -> None:
        assert self.answer(ScriptedTurn(text="Once upon", finish="length"))[1].reason == "length"

    def test_a_transient_failure_comes_after_streamed_text(self) -> None:
        error = ModelUnavailable("The endpoint is overloaded.")
        with self.model(ScriptedTurn(text="Well, ", error=error)) as model:
            pieces: list[Piece] = []
            with pytest.raises(ModelUnavailable, match="overloaded"):
                pieces += model.stream(REQUEST, Stop())
        assert text_of(pieces)

    def test_a_request_without_a_next_turn_is_refused(self) -> None:
        with self.model() as model, pytest.raises(ModelRefused):
            list(model.stream(REQUEST, Stop()))

    def test_a_stop_ends_the_wait_for_a_silent_model(self) -> None:
        stop, gate = Stop(), threading.Event()
        with self.model(ScriptedTurn(text="never", gate=gate)) as model:
            timer = threading.Timer(0.1, stop.set)
            timer.start()
            assert list(model.stream(REQUEST, stop)) == []
            timer.join()

    def test_a_stop_during_a_turn_ends_it_without_a_finish(self) -> None:
        stop = Stop()
        with self.model(ScriptedTurn(text="word " * 20_000)) as model:
            pieces = []
            for piece in model.stream(REQUEST, stop):
                pieces.append(piece)
                stop.set()
        assert pieces
        assert not any(isinstance(piece, Finish) for piece in pieces)

    def test_an_earlier_stop_yields_nothing(self) -> None:
        stop = Stop()
        stop.set()
        with self.model(ScriptedTurn(text="Hello")) as model:
            assert list(model.stream(REQUEST, stop)) == []

    def test_an_abandoned_turn_does_not_affect_the_next(self) -> None:
        with self.model(ScriptedTurn(text="a " * 5000), ScriptedTurn(text="next")) as model:
            first = iter(model.stream(REQUEST, Stop()))
            next(first)
            first.close()  # type: ignore[attr-defined]
            assert text_of(list(model.stream(REQUEST, Stop()))) == "next"
