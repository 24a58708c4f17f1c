"""JSON bodies of chat completion requests."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.models.base import (
    AssistantMessage,
    Message,
    ModelConfig,
    ModelRequest,
    SystemMessage,
    ToolCall,
    ToolCallStyle,
    ToolResult,
    ToolSchema,
    UserMessage,
)
from agent.models.parsing.text_tool_calls import to_text_messages

Body = dict[str, Any]

_INVALID_NAME_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")


def request_body(config: ModelConfig, request: ModelRequest) -> Body:
    """Return the body of a streaming request.

    ``config.extra_body`` may replace any field except ``messages`` and ``stream``.
    ``request.max_tokens`` takes precedence over ``config.max_tokens``; if neither is set, no
    limit is sent.
    """
    limit = config.max_tokens if request.max_tokens is None else request.max_tokens
    optional = {"temperature": config.temperature, "top_p": config.top_p, "max_tokens": limit}
    body: Body = {"model": config.model, "stream_options": {"include_usage": True}}
    body |= {key: value for key, value in optional.items() if value is not None}
    if request.tools and config.tool_call_style == "native":
        body["tools"] = tool_bodies(request.tools)
    body |= config.extra_body
    body["stream"] = True
    body["messages"] = message_bodies(
        request.messages, request.tools, config.tool_call_style, config.send_reasoning
    )
    return body


def message_bodies(
    messages: Sequence[Message],
    tools: Sequence[ToolSchema],
    style: ToolCallStyle,
    send_reasoning: bool,
) -> list[Body]:
    """Return a conversation as the field ``messages``; see ``ModelConfig`` for the options."""
    if style == "text":
        messages = to_text_messages(messages, tools)
    return [
        _message_body(message, send_reasoning)
        for message in messages
        # Endpoints reject empty assistant messages.
        if not isinstance(message, AssistantMessage) or message.text.strip() or message.calls
    ]


def tool_bodies(tools: Sequence[ToolSchema]) -> list[Body]:
    """Return tools as the field ``tools``."""
    return [_tool_body(tool) for tool in tools]


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Return the bytes of a request's body."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def replace_surrogates(text: str) -> str:
    """Return ``text`` with lone surrogates, which cannot be encoded, replaced."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _message_body(message: Message, send_reasoning: bool) -> Body:
    match message:
        case SystemMessage():
            return {"role": "system", "content": replace_surrogates(message.text)}
        case UserMessage():
            return {"role": "user", "content": replace_surrogates(message.text) or "(empty)"}
        case ToolResult():
            content = replace_surrogates(message.text) or "(empty)"
            return {"role": "tool", "tool_call_id": message.call_id, "content": content}
        case AssistantMessage():
            return _assistant_body(message, send_reasoning)


def _assistant_body(message: AssistantMessage, send_reasoning: bool) -> Body:
    body: Body = {"role": "assistant", "content": replace_surrogates(message.text) or None}
    if message.reasoning and send_reasoning:
        body[message.reasoning_field] = replace_surrogates(message.reasoning)
    if message.calls:
        body["tool_calls"] = [_call_body(call) for call in message.calls]
    return body


def _call_body(call: ToolCall) -> Body:
    """Return the body of a call in the history, repairing its name and arguments.

    Servers parse both when they render the prompt, and reject the conversation permanently if
    they are invalid.
    """
    name = _INVALID_NAME_CHARACTERS.sub("_", call.name)[:64] or "unknown"
    function = {"name": name, "arguments": _valid_arguments(replace_surrogates(call.arguments))}
    return {"id": call.id, "type": "function", "function": function}


def _valid_arguments(arguments: str) -> str:
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({"malformed_arguments": arguments}, ensure_ascii=False)


def _tool_body(tool: ToolSchema) -> Body:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}
