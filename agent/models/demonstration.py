"""Demonstrations: scripted turns, executed in a real sandbox without an endpoint.

Each demonstration is one YAML file in ``demonstrations/``; a folder of the same name
holds its input files. Only the model's output is scripted: every command is executed, and
a turn is not played if the previous results do not match its ``expect`` patterns.
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
from agent.util.cancellation import Stop

FOLDER = Path(__file__).parent / "demonstrations"
PACE = 160.0
"""Characters per second of text and reasoning: the speed of a user who skims."""
ARGUMENTS_FASTER = 8
"""How much faster arguments stream than text: users read programs afterwards."""
CONNECT = (
    "connect a model: endpoint, model and key in Settings, "
    "or OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_API_KEY"
)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_min_length=1)


class ScriptedCall(_Strict):
    """One tool call of a turn: tool name and arguments."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Turn(_Strict):
    """One turn of a script.

    Attributes:
        text: The text of the answer.
        reasoning: The reasoning before the text.
        calls: The tool calls; at least one, since a run ends with ``submit``.
        expect: Regular expressions that must all match in the results of the previous turn;
            otherwise the turn's text would be false.
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
    """A scripted run for users to watch.

    Attributes:
        name: The file name without its extension.
        title: A few words for a button.
        task: The task's text, exactly as a user would type it.
        watch: One line: what to watch for.
        seconds: Approximate duration in seconds.
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
        """The files to put into ``input/`` before the run starts, sorted by name."""
        folder = FOLDER / self.name
        return tuple(sorted(folder.iterdir())) if folder.is_dir() else ()


def read(path: Path) -> Demonstration:
    """Read a demonstration from a file.

    Raises:
        ValueError: the file is not a demonstration; the message says where and why.
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
    """Return all demonstrations, sorted by name."""
    return tuple(read(path) for path in sorted(FOLDER.glob("*.yaml")))


def load(name: str) -> Demonstration:
    """Return the demonstration with this name; raise ``KeyError`` if there is none."""
    return {each.name: each for each in demonstrations()}[name]


def find(task: str) -> Demonstration | None:
    """Return the demonstration whose task or title equals ``task``, or None.

    Leading and trailing whitespace is ignored, and so is a full stop after a title.
    """
    wanted = task.replace("\r\n", "\n").strip()
    title = wanted.removesuffix(".")
    known = demonstrations()
    return next((each for each in known if each.task == wanted or each.title == title), None)


class DemonstrationModel:
    """A stateless model that plays one demonstration.

    The conversation determines the next turn.

    Args:
        demonstration: The demonstration to play; if None, every request is refused with
            instructions for connecting a model.
        pace: Characters of text per second; 0 streams without delay.
    """

    name = "Demonstration"
    metered = False

    def __init__(self, demonstration: Demonstration | None, pace: float = PACE) -> None:
        self._demonstration = demonstration
        self._pace = pace

    def stream(self, request: Request, stop: Stop) -> Iterator[Piece]:
        """Stream the next turn of the script; see ``Model.stream``.

        Raises:
            ModelRefused: the script has ended, the results are not the expected ones, or the
                user sent a message that the script cannot answer.
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
        """Wait as long as writing the piece would take; return whether stopped."""
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
