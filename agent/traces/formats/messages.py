"""OpenAI's messages as JSON Lines, a message or a conversation each; Anthropic's bodies, too."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict

from agent.models.base import (
    AssistantMessage,
    Message,
    Picture,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from agent.traces.chat import (
    OPAQUE,
    items_of_conversation,
    label,
    with_shown_pictures,
)
from agent.traces.fields import Fields, dump, read_fields, read_objects
from agent.traces.formats.anthropic_messages import items_of_blocks, tool_of
from agent.traces.formats.images import Image
from agent.traces.json_reader import JsonReader
from agent.traces.trace import Start, Trace


def read(head: Fields, reader: JsonReader) -> Trace:
    """Yield the items of the conversation at hand; its messages may be a list or the rest."""
    start = Start(
        model=head.text("model"),
        system=head.text("system"),
        tools=tuple(map(tool_of, head.items("tools"))),
    )
    messages = _messages(head, reader)
    yield from with_shown_pictures(items_of_conversation(start, messages, items_of_blocks))


def _messages(head: Fields, reader: JsonReader) -> Iterator[Fields]:
    if "role" in head:  # a message a line
        yield read_fields(reader)
        for _ in reader.documents():
            yield read_fields(reader)
    elif reader.kind() == "[":
        for _ in reader.elements():
            yield read_fields(reader)
    else:
        yield from read_objects(reader, "messages")


def write(
    messages: Iterable[Message],
    tools: Sequence[object],
    read: Callable[[Sequence[Picture]], tuple[Image, ...]],
) -> Iterator[str]:
    """Yield the text of a conversation as one line; results' pictures follow a whole turn."""
    yield '{"messages": ['
    between = ""
    for values in _to_values(messages, read):
        yield between + dump(values)
        between = ", "
    yield f'], "tools": {dump(list(tools))}}}\n' if tools else "]}\n"


def _to_values(
    messages: Iterable[Message], read: Callable[[Sequence[Picture]], tuple[Image, ...]]
) -> Iterator[dict[str, object]]:
    shown: list[Image] = []
    for message in messages:
        if isinstance(message, ToolResult):
            shown += read(message.pictures)
        elif shown:
            yield _shown(shown)
            shown = []
        images = read(message.pictures) if isinstance(message, UserMessage) else ()
        yield _to_json(message, images)
    if shown:
        yield _shown(shown)


def _shown(images: Sequence[Image]) -> dict[str, object]:
    return {"role": "user", "content": parts_of("", images)}


def parts_of(text: str, images: Sequence[Image]) -> list[dict[str, object]]:
    """Return a text and pictures, each with its label, as content parts of Chat Completions."""
    parts: list[dict[str, object]] = [{"type": "text", "text": text}] if text else []
    for image in images:
        parts.append({"type": "text", "text": label(image)})
        parts.append({"type": "image_url", "image_url": {"url": image.url}})
    return parts


def _to_json(message: Message, images: Sequence[Image]) -> dict[str, object]:
    match message:
        case SystemMessage(text):
            return {"role": "system", "content": text}
        case UserMessage(text):
            return {"role": "user", "content": parts_of(text, images) if images else text}
        case ToolResult(call_id, _, text):
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case AssistantMessage():
            values: dict[str, object] = {"role": "assistant", "content": message.text}
            if message.reasoning:
                values[message.reasoning_field] = message.reasoning
            if message.calls:
                values["tool_calls"] = [call_to_json(call) for call in message.calls]
            if message.opaque is not None:
                values[OPAQUE] = asdict(message.opaque)
            return values


def call_to_json(call: ToolCall) -> dict[str, object]:
    """Return a tool call as in OpenAI's API."""
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}
