"""The conversation in a request for chat completions.

The opaque parts of a message are fields of it: ``reasoning_details``, an empty
``reasoning_content``; ``content`` is what stood before the text, such as ``<think>…</think>``;
``calls`` maps the position of a call to fields of it, such as ``extra_content``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.models.base import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserMessage,
)
from agent.models.chat.changes import change_messages, marked_tools
from agent.models.endpoint.api import Body
from agent.models.endpoint.writing import Writing
from agent.models.parsing.repair import replace_surrogates, valid_arguments, valid_name
from agent.models.parsing.text_tool_calls import to_text_messages

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
    bodies = [
        _message_body(message, writing)
        for message in messages
        # Endpoints reject empty assistant messages.
        if not isinstance(message, AssistantMessage) or message.text.strip() or message.calls
    ]
    return {**body, "messages": change_messages(bodies, writing.changes)}


def _message_body(message: Message, writing: Writing) -> Body:
    match message:
        case SystemMessage():
            return {"role": "system", "content": replace_surrogates(message.text)}
        case UserMessage():
            return {"role": "user", "content": replace_surrogates(message.text) or "(empty)"}
        case ToolResult():
            content = replace_surrogates(message.text) or "(empty)"
            return {"role": "tool", "tool_call_id": message.call_id, "content": content}
        case AssistantMessage():
            return _assistant_body(message, writing)


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
