"""Session traces of the Hugging Face Hub (STS): a header line, then a line per message.

The Hub ignores fields that it does not describe, so the header also has the tools and the task.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from agent.traces.chat import OPAQUE, items_of_conversation, with_shown_pictures
from agent.traces.fields import Fields, dump, read_fields
from agent.traces.formats.images import Image
from agent.traces.formats.messages import parts_of
from agent.traces.json_reader import JsonReader
from agent.traces.trace import Item, Result, Start, Trace, Turn, UserText

HARNESS = "llm-in-sandbox-studio"


def read(head: Fields, reader: JsonReader) -> Trace:
    """Yield the session's items, from the header line and the file before it."""
    reader.skip()
    start = Start(
        title=head.text("name"), agent=head.text("harness"), model=head.text("model"),
        tools=tuple(tool.values for tool in head.items("tools")),
    )  # fmt: skip
    lines = (read_fields(reader) for _ in reader.documents())
    messages = (line.fields("message") for line in lines if line.text("type") == "message")
    items = items_of_conversation(start, messages, time_of=lambda each: each.time("timestamp"))
    yield from with_shown_pictures(items)


def write(items: Iterable[Item], run: str) -> Iterator[str]:
    """Yield the lines of the session."""
    model = ""
    for item in items:
        match item:
            case Start():
                model = item.model
                header: dict[str, Any] = {
                    "type": "session",
                    "harness": HARNESS,
                    "id": run,
                    "name": item.title,
                }
                header |= {"model": model, "tools": list(item.tools)}
                yield dump(header) + "\n"
                yield _line("system", item.system, item.at)
            case UserText():
                yield _line("user", _content(item.text, item.images), item.at)
            case Turn():
                yield _line("assistant", item.text, item.at, **_turn(item, model))
            case Result():
                content = _content(item.text, item.images)
                yield _line("tool", content, item.at, toolCallId=item.call_id)
            case _:
                pass


def _turn(turn: Turn, model: str) -> dict[str, Any]:
    calls = [
        {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
        for call in turn.calls
    ]
    more = {"reasoningContent": turn.reasoning, "toolCalls": calls, "model": turn.model or model,
            OPAQUE: asdict(turn.opaque) if turn.opaque else None}  # fmt: skip
    return {name: value for name, value in more.items() if value}


def _content(text: str, images: Sequence[Image]) -> str | list[dict[str, object]]:
    return parts_of(text, images) if images else text


def _line(role: str, content: str | list[dict[str, object]], at: float | None, **more: Any) -> str:
    message = {"role": role, "content": content} | more
    if at is not None:
        message["timestamp"] = round(at * 1000)
    return dump({"type": "message", "message": message}) + "\n"
