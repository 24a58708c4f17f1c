"""A run's journal as the items of a trace, to be written in another format."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from agent.errors import RunError
from agent.events import (
    Annotation,
    Event,
    MessageDelivered,
    ModelAnswered,
    Notice,
    Reminder,
    RunContinued,
    RunEnded,
    RunStarted,
    SummaryEnded,
    SummaryStarted,
    ToolEnded,
    UnreadableEvent,
)
from agent.installation import DISTRIBUTION_NAME
from agent.loop.conversation import Conversation
from agent.models.base import Picture, ToolSchema
from agent.models.endpoint.apis import APIS
from agent.models.endpoint.request import in_base64
from agent.models.endpoint.writing import Writing
from agent.runs import journal
from agent.runs.compatibility import decode_line
from agent.runs.outputs.pictures import PictureStore, pictures_of
from agent.runs.state import remark
from agent.runs.transcript import Call, parts_of
from agent.tools.call_parser import TimeLimits
from agent.tools.observation import OutputLimits
from agent.tools.schemas import tool_schemas
from agent.traces.fields import dump
from agent.traces.formats import messages
from agent.traces.formats.images import Image
from agent.traces.recording import NO_RESULT
from agent.traces.token_ids import TokenSequence
from agent.traces.trace import Ended, Item, Note, Result, Review, Start, Turn, TurnIds, UserText
from agent.util.state_files import read_record

# The file in an imported run's folder with its agent and the definitions of its tools
ORIGIN_FILE = "imported.json"
_MAX_TOOLS = 200


def items_of(
    events: Iterable[Event], origin: "Origin | None" = None, outputs: Path | None = None
) -> Iterator[Item]:
    """Yield a run's events as items of a trace; ``outputs`` has its pictures."""
    origin, read = origin or Origin(), partial(_images, outputs)
    step, sequence = 0, TokenSequence()
    for part in parts_of(events):
        copied = step < origin.copied_steps
        match part:
            case RunStarted():
                yield from _start(part, origin, read(part), copied=copied)
            case RunContinued() | Reminder() | MessageDelivered() if part.text:
                yield _message(part, read(part), copied=copied)
            case ModelAnswered():
                step = part.step
                yield _turn(part, sequence.add(part.tokens), copied=copied)
            case Call(ended=ToolEnded() as ended) if ended.observation != NO_RESULT:
                yield _result(part, ended, read(ended))
            case Notice() | UnreadableEvent() | SummaryEnded() | Annotation():
                usage = part.usage if isinstance(part, SummaryEnded) else None
                yield Note(text=remark(part), usage=usage, at=part.at)
            case RunEnded():
                yield Ended(
                    status=part.status, reason=part.reason, answer=part.answer, at=part.at,
                    cost=part.totals.cost,
                )  # fmt: skip
            case _:
                pass


def _images(outputs: Path | None, event: Event) -> tuple[Image, ...]:
    """Return the pictures that the model got with an event, except those that are missing."""
    return read_images(outputs, pictures_of(event)) if outputs else ()


def read_images(outputs: Path, pictures: Sequence[Picture]) -> tuple[Image, ...]:
    """Return pictures of a run's outputs, except those that are missing."""
    store, found = PictureStore(outputs), list[Image]()
    for each in pictures:
        with suppress(RunError):
            found.append(Image(store.read(each), each.media_type, each.source, each.tokens))
    return tuple(found)


def _start(
    event: RunStarted, origin: "Origin", images: tuple[Image, ...], *, copied: bool
) -> Iterator[Item]:
    tools = origin.tools
    if tools is None:
        tools = default_tools() if event.mode == "sandbox" else []
    yield Start(
        title=event.task, agent=origin.agent, model=event.model, system=event.system,
        mode=event.mode, prompt=event.prompt, at=event.at, tools=tuple(tools),
    )  # fmt: skip
    for earlier in event.history:
        yield (
            UserText(text=earlier.text, at=event.at, copied=True)
            if earlier.role == "user"
            else Turn(text=earlier.text, at=event.at, copied=True)
        )
    yield UserText(text=event.user, task=event.task, at=event.at, copied=copied, images=images)


def _message(
    event: RunContinued | Reminder | MessageDelivered,
    images: tuple[Image, ...],
    *,
    copied: bool,
) -> UserText:
    text = event.sent if isinstance(event, RunContinued) else event.text
    return UserText(
        text=text, at=event.at, reminder=isinstance(event, Reminder),
        while_working=isinstance(event, MessageDelivered), copied=copied, images=images,
    )  # fmt: skip


def _result(call: Call, ended: ToolEnded, images: tuple[Image, ...]) -> Result:
    reviewed, edited = call.reviewed, call.edited
    return Result(
        call_id=ended.call_id, text=edited.observation if edited else ended.observation,
        original=ended.observation if edited else None, exit_code=ended.exit_code, ok=ended.ok,
        seconds=ended.seconds, at=ended.at, images=images,
        review=Review(
            decision=reviewed.decision, arguments=reviewed.arguments, reason=reviewed.reason,
            note=reviewed.note,
        ) if reviewed else None,
    )  # fmt: skip


def _turn(event: ModelAnswered, ids: TurnIds | None, *, copied: bool) -> Turn:
    return Turn(
        text=event.text, reasoning=event.reasoning, calls=event.calls, usage=event.usage,
        estimated=event.estimated, finish=event.finish, seconds=event.seconds, at=event.at,
        copied=copied, ids=ids, opaque=event.opaque,
    )  # fmt: skip


def default_tools() -> list[dict[str, Any]]:
    """Return the definitions of the three tools, with the default limits in their texts."""
    return [schema.definition for schema in tool_schemas(TimeLimits(), OutputLimits())]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a journal does not say: its agent, its tools (None: the three), copied steps."""

    agent: str = DISTRIBUTION_NAME
    tools: Sequence[Any] | None = None
    copied_steps: int = 0


def items_of_journal(path: Path) -> Iterator[Item]:
    """Yield the items of the run with this journal."""
    return items_of(
        (event for _, event in journal.read(path)), origin_of(path), path.parent / "outputs"
    )


def messages_of_journal(path: Path) -> Iterator[str]:
    """Yield the conversation as a line of OpenAI messages, with the steps that were summarised."""
    conversation, tools = _conversation_of(path)
    return messages.write(
        conversation.messages, tools, partial(read_images, path.parent / "outputs")
    )


def anthropic_of_journal(path: Path) -> Iterator[str]:
    """Yield the conversation as a line with the body of a request to Anthropic's API."""
    conversation, tools = _conversation_of(path)
    schemas = [_schema(each) for each in tools if isinstance(each, dict)]
    read = in_base64(PictureStore(path.parent / "outputs").read)
    messages = APIS["messages"].conversation
    yield dump(messages(conversation.messages, schemas, Writing(picture_data=read))) + "\n"


def _schema(tool: Mapping[str, Any]) -> ToolSchema:
    function = tool.get("function", tool)
    values = function if isinstance(function, dict) else {}
    parameters = values.get("parameters")
    return ToolSchema(
        str(values.get("name", "")),
        str(values.get("description", "")),
        parameters if isinstance(parameters, dict) else {},
    )


def _conversation_of(path: Path) -> tuple[Conversation, Sequence[Any]]:
    """Return a run's messages, with the steps that were summarised, and its tools."""
    conversation, mode = Conversation(), ""
    for _, event in journal.read(path):
        if not isinstance(event, SummaryStarted | SummaryEnded):
            conversation.apply(event)
        mode = event.mode if isinstance(event, RunStarted) else mode
    tools = origin_of(path).tools
    if tools is None:
        tools = default_tools() if mode == "sandbox" else []
    return conversation, tools


def origin_of(path: Path) -> Origin:
    """Return what the files beside a journal and its lines say about where the run is from."""
    about = _imported(path.parent)
    copied, names = 0, dict[str, None]()
    for _, line in journal.read_lines(path):
        if b'"kind":"forked"' in line:
            copied = _forked_step(line) or copied
        elif about is not None and b'"calls":[{' in line and len(names) < _MAX_TOOLS:
            names.update(dict.fromkeys(_called(line)))
    if about is None:
        return Origin(copied_steps=copied)
    tools = about.get("tools") or [{"type": "function", "function": {"name": n}} for n in names]
    return Origin(str(about.get("agent") or "unknown"), tools, copied)


def _imported(folder: Path) -> dict[str, Any] | None:
    """Return what is stored of an imported run; None for any other."""
    try:
        about = json.loads(read_record(folder / ORIGIN_FILE))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) else None


def _forked_step(line: bytes) -> int:
    event = from_json(line, allow_partial=True)
    return int(event.get("step", 0)) if event.get("kind") == "forked" else 0


def _called(line: bytes) -> list[str]:
    """Return the names of the tools that a turn calls."""
    events = decode_line(line, first=False)
    return [
        call.name for event in events if isinstance(event, ModelAnswered) for call in event.calls
    ]
