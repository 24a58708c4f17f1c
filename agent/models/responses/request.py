"""The conversation in a request for a response, and settings as its parameters.

Nothing is stored at the endpoint. The opaque parts of an answer are its ``items`` in order, as
they came; a call's name, arguments and id are filled in.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.models.base import (
    AssistantMessage,
    Message,
    ModelConfig,
    SystemMessage,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserMessage,
)
from agent.models.endpoint.api import Body, Parameters, sampling
from agent.models.endpoint.families import Traits
from agent.models.endpoint.writing import Writing, data_url
from agent.models.parsing.repair import valid_arguments, valid_name
from agent.models.parsing.text_tool_calls import to_text_messages
from agent.util.text import replace_surrogates

ITEMS = "items"
CALL = "function_call"
PICTURES_AFTER = "pictures after results"
"""The change that sends pictures of results in a message of the user after all results."""

DEVELOPER = "instructions as a message"
"""The change that sends the system prompt as a message, for servers without ``instructions``."""


def parameters(config: ModelConfig, limit: int | None, traits: Traits) -> Parameters:
    """See ``Api.parameters``."""
    left_out: dict[str, str] = {}
    body: Body = {"model": config.model, "store": False, "include": ["reasoning.encrypted_content"]}
    thinks = config.effort != "none" and config.thinking is not False
    fixed = "this model fixes it" if traits.has_fixed_sampling and thinks else ""
    asked = sampling(config, fixed, left_out)
    if config.seed is not None:
        left_out["seed"] = "“seed” is not sent: the Responses API has no seed."
    optional: dict[str, Any] = {
        **asked,
        "max_output_tokens": limit,
        "reasoning": _reasoning(config, traits),
        "text": {"verbosity": config.verbosity} if config.verbosity else None,
    }
    body |= {key: value for key, value in optional.items() if value is not None}
    return Parameters(body, left_out=left_out)


def conversation(
    messages: Sequence[Message], tools: Sequence[ToolSchema], writing: Writing
) -> Body:
    """See ``Api.conversation``."""
    if writing.tool_call_style == "text":
        messages = to_text_messages(messages, tools)
        tools = ()
    system = "\n\n".join(each.text for each in messages if isinstance(each, SystemMessage))
    body: Body = {}
    if system and DEVELOPER not in writing.changes:
        body["instructions"] = replace_surrogates(system)
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    body["input"] = list(_input(messages, writing))
    return body


def _reasoning(config: ModelConfig, traits: Traits) -> Mapping[str, Any] | None:
    effort = "none" if config.thinking is False else config.effort
    reasoning: dict[str, Any] = {} if effort is None else {"effort": effort}
    if traits.has_fixed_sampling and effort != "none":
        reasoning["summary"] = "auto"  # without it, nothing of the reasoning can be read
    return reasoning or None


def _tool(tool: ToolSchema) -> Body:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "strict": False,
    }


def _input(messages: Sequence[Message], writing: Writing) -> Iterator[Body]:
    pictures: list[Body] = []
    for message in messages:
        is_result = isinstance(message, ToolResult)
        if pictures and not is_result:
            yield {"type": "message", "role": "user", "content": pictures}
            pictures = []
        for item in _items(message, writing):
            if is_result and PICTURES_AFTER in writing.changes and isinstance(item["output"], list):
                first, *rest = item["output"]
                pictures += rest
                item["output"] = first["text"]
            yield item
    if pictures:
        yield {"type": "message", "role": "user", "content": pictures}


def _items(message: Message, writing: Writing) -> Iterator[Body]:
    match message:
        case SystemMessage(text):
            if DEVELOPER in writing.changes:
                yield _message("system", text)
        case UserMessage():
            yield {"type": "message", "role": "user", "content": _content(message, writing)}
        case ToolResult():
            output = _content(message, writing)
            yield {"type": "function_call_output", "call_id": message.call_id, "output": output}
        case AssistantMessage():
            yield from _answer(message, writing)


def _message(role: str, text: str) -> Body:
    return {"type": "message", "role": role, "content": replace_surrogates(text)}


def _content(message: UserMessage | ToolResult, writing: Writing) -> str | list[Body]:
    """Return the text, or a list of parts with the pictures after it."""
    text, pictures = writing.content_of(message)
    if not pictures:
        return text or "(empty)"
    parts: list[Body] = [{"type": "input_text", "text": text or "(empty)"}]
    for picture, data in pictures:
        label = replace_surrogates(f"{picture.description}:")
        parts.append({"type": "input_text", "text": label})
        parts.append({"type": "input_image", "image_url": data_url(picture, data)})
    return parts


def _answer(message: AssistantMessage, writing: Writing) -> Iterator[Body]:
    items = _own_items(message, writing)
    stubs = sum(item.get("type") == CALL for item in items)
    if not items or stubs != len(message.calls):
        if message.text.strip():
            yield _message("assistant", message.text)
        yield from (_call(call, {}) for call in message.calls)
        return
    calls = iter(message.calls)
    for item in items:
        yield _call(next(calls), item) if item.get("type") == CALL else item


def _own_items(message: AssistantMessage, writing: Writing) -> list[Body]:
    """Return the items as they came; none if they are not to be sent or cannot be read."""
    items = writing.own_parts(message).get(ITEMS) if writing.send_reasoning else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return []
    return items


def _call(call: ToolCall, stub: Mapping[str, Any]) -> Body:
    return {
        "type": CALL,
        **stub,
        "call_id": call.id,
        "name": valid_name(call.name),
        "arguments": valid_arguments(call.arguments),
    }
