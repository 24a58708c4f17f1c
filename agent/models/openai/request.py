"""JSON bodies of chat completion requests."""

import json
import re
from collections.abc import Sequence
from typing import Any

from agent.models.base import (
    Assistant,
    Message,
    ModelConfig,
    Request,
    System,
    ToolCall,
    ToolResult,
    ToolSchema,
    User,
)
from agent.models.parsing.text_tool_calls import as_text

Body = dict[str, Any]

_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def request_body(config: ModelConfig, request: Request) -> Body:
    """Return the body of a streaming request.

    ``config.extra_body`` may replace any field except ``messages`` and ``stream``.
    ``request.max_tokens`` takes precedence over ``config.max_tokens``; if neither is set, no
    limit is sent.
    """
    native = config.calls == "native"
    messages = request.messages if native else as_text(request.messages, request.tools)
    limit = config.max_tokens if request.max_tokens is None else request.max_tokens
    optional = {"temperature": config.temperature, "top_p": config.top_p, "max_tokens": limit}
    body: Body = {"model": config.model, "stream_options": {"include_usage": True}}
    body |= {key: value for key, value in optional.items() if value is not None}
    if request.tools and native:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body |= config.extra_body
    body["stream"] = True
    body["messages"] = _messages(messages, config.send_reasoning)
    return body


def clean(text: str) -> str:
    """Return ``text`` with lone surrogates, which cannot be encoded, replaced."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _messages(messages: Sequence[Message], send_reasoning: bool) -> list[Body]:
    return [
        _message(message, send_reasoning)
        for message in messages
        # Endpoints reject empty assistant messages.
        if not isinstance(message, Assistant) or message.text.strip() or message.calls
    ]


def _message(message: Message, send_reasoning: bool) -> Body:
    match message:
        case System():
            return {"role": "system", "content": clean(message.text)}
        case User():
            return {"role": "user", "content": clean(message.text) or "(empty)"}
        case ToolResult():
            content = clean(message.text) or "(empty)"
            return {"role": "tool", "tool_call_id": message.call_id, "content": content}
        case Assistant():
            return _assistant(message, send_reasoning)


def _assistant(message: Assistant, send_reasoning: bool) -> Body:
    body: Body = {"role": "assistant", "content": clean(message.text) or None}
    if message.reasoning and send_reasoning:
        body[message.reasoning_field] = clean(message.reasoning)
    if message.calls:
        body["tool_calls"] = [_call(call) for call in message.calls]
    return body


def _call(call: ToolCall) -> Body:
    """Return the body of a call in the history, repairing its name and arguments.

    Servers parse both when they render the prompt, and reject the conversation permanently if
    they are invalid.
    """
    name = _NOT_A_NAME.sub("_", call.name)[:64] or "unknown"
    function = {"name": name, "arguments": _valid(clean(call.arguments))}
    return {"id": call.id, "type": "function", "function": function}


def _valid(arguments: str) -> str:
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({"malformed_arguments": arguments}, ensure_ascii=False)


def _tool(tool: ToolSchema) -> Body:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}
