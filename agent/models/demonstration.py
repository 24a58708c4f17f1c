"""Demonstrations: scripted turns in YAML files, whose commands run in a real sandbox."""

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
    AssistantMessage,
    CallPiece,
    Finish,
    Message,
    ModelRequest,
    PictureLimits,
    Piece,
    ReasoningPiece,
    TextPiece,
    ToolResult,
    UserMessage,
)
from agent.util.stop import Stop
from agent.util.text import shortened

FOLDER = Path(__file__).parent / "demonstrations"
# Characters per second of text and reasoning: the speed of a user who skims
CHARACTERS_PER_SECOND = 160.0
ARGUMENTS_SPEEDUP = 8  # how much faster arguments stream than text: users read programs afterwards
CONNECT_HINT = (
    "connect a model: endpoint, model and key in Settings, "
    "or OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_API_KEY"
)


class _StrictBase(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_min_length=1)


class ScriptedCall(_StrictBase):
    """One tool call of a turn: tool name and arguments."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class DemonstrationTurn(_StrictBase):
    """One turn of a script, played only if ``expect`` matches in the previous results."""

    text: str
    reasoning: str | None = None
    calls: tuple[ScriptedCall, ...] = Field(min_length=1)
    expect: tuple[re.Pattern[str], ...] = ()

    @field_validator("expect", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class Demonstration(_StrictBase):
    """A scripted run for users: the task as a user would type it, and what to watch for."""

    name: str
    title: str
    task: str
    watch: str
    seconds: int = Field(gt=0)
    turns: tuple[DemonstrationTurn, ...] = Field(min_length=1)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files to put into ``input/`` before the run starts, sorted by name."""
        folder = FOLDER / self.name
        return tuple(sorted(folder.iterdir())) if folder.is_dir() else ()


def load_yaml(path: Path) -> Any:
    """Return the values in a YAML file; libyaml, where PyYAML has it, is ten times as fast."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_bytes(), Loader=loader)


def read_demonstration(path: Path) -> Demonstration:
    """Read a demonstration; raise ``ValueError`` with where and why the file is none."""
    try:
        data = load_yaml(path)
        if not isinstance(data, dict):
            raise ValueError("not a mapping")
        data["task"] = str(data.get("task", "")).strip()
        return Demonstration.model_validate({**data, "name": path.stem})
    except (yaml.YAMLError, ValidationError, ValueError) as error:
        raise ValueError(f"{path.name} is not a demonstration: {error}") from error


@cache
def load_all() -> tuple[Demonstration, ...]:
    """Return all demonstrations, sorted by name."""
    return tuple(read_demonstration(path) for path in sorted(FOLDER.glob("*.yaml")))


def load(name: str) -> Demonstration:
    """Return the demonstration with this name; raise ``KeyError`` if there is none."""
    return {each.name: each for each in load_all()}[name]


def find_by_task(task: str) -> Demonstration | None:
    """Return the demonstration whose task or title equals ``task``, or None."""
    wanted = task.replace("\r\n", "\n").strip()
    title = wanted.removesuffix(".")
    known = load_all()
    return next((each for each in known if each.task == wanted or each.title == title), None)


class DemonstrationModel:
    """A stateless model that plays one demonstration or refuses; ``pace`` is characters/s."""

    name = "Demonstration"
    metered = False

    def __init__(
        self, demonstration: Demonstration | None, pace: float = CHARACTERS_PER_SECOND
    ) -> None:
        self._demonstration = demonstration
        self._pace = pace

    @property
    def picture_limits(self) -> PictureLimits:
        """See ``SeeingModel``: the pictures that it looks at are shown."""
        return PictureLimits("")

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Stream the next turn; refuse after the end, or if results are not as expected."""
        turn_index, turn = self._next_turn(request.messages)
        for piece in _pieces(turn_index, turn):
            if self._wait_for(piece, stop):
                return
            yield piece
        yield Finish("tool_calls")

    def _next_turn(self, messages: Sequence[Message]) -> tuple[int, DemonstrationTurn]:
        conversation = _messages_from_task(messages)
        if (
            self._demonstration is None
            or sum(isinstance(each, UserMessage) for each in conversation) > 1
        ):
            raise ModelRefused(
                "The demonstration is scripted and cannot answer this. "
                f"To continue, {CONNECT_HINT}."
            )
        turn_index = sum(isinstance(message, AssistantMessage) for message in conversation)
        if turn_index >= len(self._demonstration.turns):
            raise ModelRefused(f"The demonstration ends here. To continue, {CONNECT_HINT}.")
        turn = self._demonstration.turns[turn_index]
        _check_expectations(turn, _last_results(conversation))
        return turn_index, turn

    def _wait_for(self, piece: Piece, stop: Stop) -> bool:
        """Wait as long as writing the piece would take; return whether stopped."""
        if not self._pace:
            return stop.is_set
        if isinstance(piece, CallPiece):
            return stop.wait(len(piece.arguments) / self._pace / ARGUMENTS_SPEEDUP)
        assert isinstance(piece, TextPiece | ReasoningPiece)
        return stop.wait(len(piece.text) / self._pace)


def _pieces(turn_index: int, turn: DemonstrationTurn) -> Iterator[Piece]:
    for word in re.findall(r"\S+\s*", turn.reasoning or ""):
        yield ReasoningPiece(word)
    for word in re.findall(r"\S+\s*", turn.text):
        yield TextPiece(word)
    for index, call in enumerate(turn.calls):
        yield CallPiece(index, id=f"demonstration_{turn_index}_{index}", name=call.tool)
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        for start in range(0, len(arguments), 48):
            yield CallPiece(index, arguments=arguments[start : start + 48])


def _messages_from_task(messages: Sequence[Message]) -> Sequence[Message]:
    starts = (index for index, message in enumerate(messages) if isinstance(message, UserMessage))
    return messages[next(starts, 0) :]


def _last_results(messages: Sequence[Message]) -> str:
    texts: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, ToolResult):
            break
        texts.insert(0, message.text)
    return "\n".join(texts)


def _check_expectations(turn: DemonstrationTurn, results: str) -> None:
    for pattern in turn.expect:
        if not pattern.search(results):
            shown = shortened(" ".join(results.split()), 200)
            raise ModelRefused(
                "The demonstration stops here: the sandbox did not return the expected result "
                f"({pattern.pattern!r} does not match {shown!r})."
            )
