"""The conversation in a request for chat completions.

The opaque parts of a message are fields of it: ``reasoning_details``, an empty
``reasoning_content``; ``content`` is what stood before the text, such as ``<think>…</think>``;
``calls`` maps the position of a call to fields of it, such as ``extra_content``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent.models.base import (
    AssistantMessage,
    Message,
    Picture,
    SystemMessage,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserMessage,
)
from agent.models.chat.changes import change_messages, marked_tools
from agent.models.endpoint.api import Body
from agent.models.endpoint.writing import Writing, data_url
from agent.models.parsing.repair import valid_arguments, valid_name
from agent.models.parsing.text_tool_calls import to_text_messages
from agent.util.text import replace_surrogates

CALLS = "calls"
CALL_FIELDS = ("extra_content",)
_MESSAGE_FIELDS = ("reasoning_content", "reasoning_details")


def conversation(
    messages: Sequence[Message], tools: Sequence[ToolSchema], writing: Writing
) -> Body:
    """See ``Api``."""
    body: Body = {}
    if writing.tool_call_style == "text":
        messages = to_text_messages(messages, tools)
    elif tools:
        body["tools"] = marked_tools([tool.definition for tool in tools], writing.changes)
    bodies = change_messages(list(_message_bodies(messages, writing)), writing.changes)
    return {**body, "messages": bodies}


def _message_bodies(messages: Sequence[Message], writing: Writing) -> Iterator[Body]:
    """Yield the messages; pictures of results follow in a user message, after all results."""
    pictures: list[Body] = []
    for message in messages:
        match message:
            case SystemMessage():
                yield {"role": "system", "content": replace_surrogates(message.text)}
            case ToolResult():
                text, shown = writing.content_of(message)
                yield {
                    "role": "tool", "tool_call_id": message.call_id, "content": text or "(empty)",
                }  # fmt: skip
                pictures += _picture_parts(shown)
            case UserMessage():
                text, shown = writing.content_of(message)
                parts = [*pictures, _text_part(text or "(empty)"), *_picture_parts(shown)]
                pictures = []
                content = parts if len(parts) > 1 else text or "(empty)"
                yield {"role": "user", "content": content}
            # Endpoints reject empty assistant messages.
            case AssistantMessage() if message.text.strip() or message.calls:
                if pictures:
                    yield {"role": "user", "content": pictures}
                    pictures = []
                yield _assistant_body(message, writing)
    if pictures:
        yield {"role": "user", "content": pictures}


def _picture_parts(pictures: Iterable[tuple[Picture, str]]) -> Iterator[Body]:
    for picture, data in pictures:
        yield _text_part(replace_surrogates(f"{picture.description}:"))
        yield {"type": "image_url", "image_url": {"url": data_url(picture, data)}}


def _text_part(text: str) -> Body:
    return {"type": "text", "text": text}


def _assistant_body(message: AssistantMessage, writing: Writing) -> Body:
    opaque = writing.own_parts(message)
    text, reasoning = replace_surrogates(message.text), replace_surrogates(message.reasoning)
    before = opaque.get("content") if writing.send_reasoning else ""
    before = before if isinstance(before, str) else ""
    body: Body = {"role": "assistant", "content": before + text or None}
    if writing.send_reasoning:
        if reasoning and not before:
            body[message.reasoning_field] = reasoning
        body |= {key: opaque[key] for key in _MESSAGE_FIELDS if key in opaque}
    if message.calls:
        fields = _mapping(opaque.get(CALLS))
        body["tool_calls"] = [
            _call_body(call, _mapping(fields.get(str(position))))
            for position, call in enumerate(message.calls)
        ]
    return body


def _call_body(call: ToolCall, fields: Mapping[str, Any]) -> Body:
    function = {"name": valid_name(call.name), "arguments": valid_arguments(call.arguments)}
    kept = {key: fields[key] for key in CALL_FIELDS if key in fields}
    return {"id": call.id, "type": "function", "function": function, **kept}


def _mapping(value: object) -> Mapping[str, Any]:
    """Return a part that is an object, also of an imported record, which may hold anything."""
    return value if isinstance(value, Mapping) else {}
