"""The model that needs no endpoint: turns written by us, run for real in the sandbox.

Each demonstration is one YAML file in ``demonstrations/``; a folder of the same name
holds the files that it is given. Only the model's words are scripted. Every command is
executed, and a turn that expected another answer is not played.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agent.errors import ModelRefused
from agent.models.base import (
    Assistant,
    CallPiece,
    Finish,
    Message,
    Piece,
    ReasoningPiece,
    Request,
    TextPiece,
    ToolResult,
    User,
)
from agent.stop import Stop

FOLDER = Path(__file__).parent / "demonstrations"
PACE = 160.0
"""Characters per second of text and reasoning: a brisk reader's speed, skimming."""
ARGUMENTS_FASTER = 8
"""Programs stream this much faster than prose: they are looked at afterwards."""
CONNECT = (
    "connect a model: endpoint, model and key in Settings, "
    "or OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_API_KEY"
)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_min_length=1)


class ScriptedCall(_Strict):
    """One tool call of a turn: the tool's name and its arguments."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Turn(_Strict):
    """One turn of a script.

    Attributes:
        text: What the model says.
        reasoning: What it thinks before.
        calls: Its tool calls; at least one, since the run ends by ``submit``.
        expect: Regular expressions that the results just above must contain, all of
            them; what the turn says is only true if they do.
    """

    text: str
    reasoning: str | None = None
    calls: tuple[ScriptedCall, ...] = Field(min_length=1)
    expect: tuple[re.Pattern[str], ...] = ()

    @field_validator("expect", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class Demonstration(_Strict):
    """A scripted run that a person can watch.

    Attributes:
        name: Its file's name, without the ending.
        title: A few words for a button.
        task: The task's text, exactly as the person would type it.
        watch: One line: what to watch for.
        seconds: About how long it plays.
        turns: The script.
    """

    name: str
    title: str
    task: str
    watch: str
    seconds: int = Field(gt=0)
    turns: tuple[Turn, ...] = Field(min_length=1)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that belong into ``input/`` before the run starts, by name."""
        folder = FOLDER / self.name
        return tuple(sorted(folder.iterdir())) if folder.is_dir() else ()


def read(path: Path) -> Demonstration:
    """Read one demonstration's file.

    Raises:
        ValueError: the file is not a demonstration; the text says where and why.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ValueError("not a mapping")
        data["task"] = str(data.get("task", "")).strip()
        return Demonstration.model_validate({**data, "name": path.stem})
    except (yaml.YAMLError, ValidationError, ValueError) as error:
        raise ValueError(f"{path.name} is not a demonstration: {error}") from error


@cache
def demonstrations() -> tuple[Demonstration, ...]:
    """Every demonstration there is, by name."""
    return tuple(read(path) for path in sorted(FOLDER.glob("*.yaml")))


def load(name: str) -> Demonstration:
    """The demonstration of this name; ``KeyError`` if there is none."""
    return {each.name: each for each in demonstrations()}[name]


def find(task: str) -> Demonstration | None:
    """The demonstration whose task is this text, white space at its ends aside."""
    wanted = task.replace("\r\n", "\n").strip()
    return next((each for each in demonstrations() if each.task == wanted), None)


class DemonstrationModel:
    """Plays one demonstration. It keeps nothing: its place is read from the conversation.

    Args:
        demonstration: What to play; None answers every task with how to connect a model.
        pace: Characters of prose per second; 0 streams without waiting.
    """

    name = "Demonstration"
    metered = False

    def __init__(self, demonstration: Demonstration | None, pace: float = PACE) -> None:
        self._demonstration = demonstration
        self._pace = pace

    def stream(self, request: Request, stop: Stop) -> Iterator[Piece]:
        """Stream the turn that comes next in the script; see ``Model.stream``.

        Raises:
            ModelRefused: the script is over, the sandbox answered otherwise than it
                expects, or a person said something that it cannot answer.
        """
        place, turn = self._next(request.messages)
        for piece in _pieces(place, turn):
            if self._waits(piece, stop):
                return
            yield piece
        yield Finish("tool_calls")

    def _next(self, messages: Sequence[Message]) -> tuple[int, Turn]:
        said = _since_the_task(messages)
        if self._demonstration is None or sum(isinstance(each, User) for each in said) > 1:
            raise ModelRefused(f"The demonstration is scripted and cannot answer this; {CONNECT}.")
        place = sum(isinstance(message, Assistant) for message in said)
        if place >= len(self._demonstration.turns):
            raise ModelRefused(f"The demonstration ends here. To go on, {CONNECT}.")
        turn = self._demonstration.turns[place]
        _check(turn, _last_results(said))
        return place, turn

    def _waits(self, piece: Piece, stop: Stop) -> bool:
        """Wait as long as the piece takes to write; return whether a stop came."""
        if not self._pace:
            return stop.is_set
        if isinstance(piece, CallPiece):
            return stop.wait(len(piece.arguments) / self._pace / ARGUMENTS_FASTER)
        assert isinstance(piece, TextPiece | ReasoningPiece)
        return stop.wait(len(piece.text) / self._pace)


def _pieces(place: int, turn: Turn) -> Iterator[Piece]:
    for word in re.findall(r"\S+\s*", turn.reasoning or ""):
        yield ReasoningPiece(word)
    for word in re.findall(r"\S+\s*", turn.text):
        yield TextPiece(word)
    for index, call in enumerate(turn.calls):
        yield CallPiece(index, id=f"demonstration_{place}_{index}", name=call.tool)
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        for start in range(0, len(arguments), 48):
            yield CallPiece(index, arguments=arguments[start : start + 48])


def _since_the_task(messages: Sequence[Message]) -> Sequence[Message]:
    starts = (at for at, message in enumerate(messages) if isinstance(message, User))
    return messages[next(starts, 0) :]


def _last_results(said: Sequence[Message]) -> str:
    texts: list[str] = []
    for message in reversed(said):
        if not isinstance(message, ToolResult):
            break
        texts.insert(0, message.text)
    return "\n".join(texts)


def _check(turn: Turn, results: str) -> None:
    for pattern in turn.expect:
        if not pattern.search(results):
            raise ModelRefused(
                "The demonstration stops here: the sandbox answered otherwise than "
                f"expected (looked for {pattern.pattern!r} in {_clip(results)!r})."
            )


def _clip(text: str, width: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 1]}…"
