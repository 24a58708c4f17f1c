"""The conversation in a request for a message.

The opaque parts of an answer are its ``blocks`` in order: thinking as it came, and stubs for
texts, with their lengths, and calls. If the stubs no longer fit, the thinking comes first.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
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
from agent.models.endpoint.api import CACHE_MARKS, Body
from agent.models.endpoint.writing import Writing
from agent.models.parsing.repair import valid_arguments, valid_name
from agent.models.parsing.text_tool_calls import to_text_messages
from agent.util.text import replace_surrogates

BLOCKS = "blocks"
THINKING = ("thinking", "redacted_thinking")
# The change for models that refuse to think on where an earlier answer has no thinking
THINKING_FIRST = "thinking first"
_CACHED = {"type": "ephemeral"}
_CACHED_TURNS = 2  # with the system prompt and the tools four marks, which is the maximum
_INVALID_ID_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")


def conversation(
    messages: Sequence[Message], tools: Sequence[ToolSchema], writing: Writing
) -> Body:
    """See ``Api.conversation``."""
    if writing.tool_call_style == "text":
        messages, tools = to_text_messages(messages, tools), ()
    system = "\n\n".join(each.text for each in messages if isinstance(each, SystemMessage))
    turns = _turns(messages, writing)
    body: Body = {}
    if system.strip():
        body["system"] = [_text_block(system)]
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    body["messages"] = turns
    if THINKING_FIRST in writing.changes and _continues_without_thinking(turns):
        body["thinking"] = {"type": "disabled"}
    return _with_cache_marks(body) if CACHE_MARKS in writing.changes else body


def _turns(messages: Sequence[Message], writing: Writing) -> list[Body]:
    """Return the messages; roles alternate, and results come first in a message of the user."""
    turns: list[Body] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            continue
        is_answer = isinstance(message, AssistantMessage)
        role = "assistant" if is_answer else "user"
        blocks = _answer(message, writing) if is_answer else _user_blocks(message, writing)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            content = turns[-1]["content"]
            if not is_answer:
                content = sorted([*content, *blocks], key=lambda b: b["type"] != "tool_result")
            turns[-1]["content"] = [*content, *blocks] if is_answer else content
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _user_blocks(message: Message, writing: Writing) -> list[Body]:
    assert isinstance(message, UserMessage | ToolResult)
    text, shown = writing.content_of(message)
    text = text if text.strip() else "(empty)"
    pictures = [block for each in shown for block in _picture_blocks(*each)]
    if isinstance(message, UserMessage):
        return [_text_block(text), *pictures]
    content = [_text_block(text), *pictures] if pictures else text
    return [{"type": "tool_result", "tool_use_id": _id(message.call_id), "content": content}]


def _picture_blocks(picture: Picture, data: str) -> Iterator[Body]:
    yield _text_block(f"{picture.description}:")
    source = {"type": "base64", "media_type": picture.media_type, "data": data}
    yield {"type": "image", "source": source}


def _answer(message: Message, writing: Writing) -> list[Body]:
    assert isinstance(message, AssistantMessage)
    blocks = _own_blocks(message, writing)
    texts = sum(block["length"] for block in blocks if block["type"] == "text")
    calls = sum(block["type"] == "tool_use" for block in blocks)
    if blocks and (texts, calls) == (len(message.text), len(message.calls)):
        return list(_filled(blocks, message))
    thinking = [dict(block) for block in blocks if block["type"] in THINKING]
    answer = [_text_block(replace_surrogates(message.text))] if message.text.strip() else []
    answer += [_call(call) for call in message.calls]
    return [*thinking, *answer] if answer else []


def _own_blocks(message: AssistantMessage, writing: Writing) -> list[Mapping[str, Any]]:
    """Return the blocks that can be given back; an imported record may hold anything."""
    blocks = writing.own_parts(message).get(BLOCKS) if writing.send_reasoning else None
    return [block for block in blocks if _is_known(block)] if isinstance(blocks, list) else []


def _is_known(block: object) -> bool:
    if not isinstance(block, Mapping):
        return False
    if block.get("type") == "text":
        return type(length := block.get("length")) is int and length >= 0
    return block.get("type") in ("tool_use", *THINKING)


def _filled(blocks: Sequence[Mapping[str, Any]], message: AssistantMessage) -> Iterator[Body]:
    calls, text = iter(message.calls), message.text
    for block in blocks:
        if block["type"] == "tool_use":
            yield _call(next(calls))
        elif block["type"] == "text":
            part, text = text[: block["length"]], text[block["length"] :]
            if part.strip():
                yield _text_block(replace_surrogates(part))
        else:
            yield dict(block)


def _call(call: ToolCall) -> Body:
    arguments = json.loads(valid_arguments(call.arguments))
    name = valid_name(call.name)
    return {"type": "tool_use", "id": _id(call.id), "name": name, "input": arguments}


def _id(call_id: str) -> str:
    return _INVALID_ID_CHARACTERS.sub("_", call_id) or "_"


def _text_block(text: str) -> Body:
    return {"type": "text", "text": replace_surrogates(text)}


def _tool(tool: ToolSchema) -> Body:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.parameters),
    }


def _continues_without_thinking(turns: Sequence[Body]) -> bool:
    """Return whether an answer that has no thinking is continued with results."""
    if len(turns) < 2 or turns[-1]["content"][0]["type"] != "tool_result":
        return False
    return turns[-2]["content"][0]["type"] not in THINKING


def _with_cache_marks(body: Body) -> Body:
    """Mark the last tool, the last part of the system prompt and the last two turns of the user."""
    marked = dict(body)
    for key in ("system", "tools"):
        if key in body:
            marked[key] = _marked_last(body[key])
    users = [at for at, turn in enumerate(body["messages"]) if turn["role"] == "user"]
    marked["messages"] = [
        {**turn, "content": _marked_last(turn["content"])} if at in users[-_CACHED_TURNS:] else turn
        for at, turn in enumerate(body["messages"])
    ]
    return marked


def _marked_last(blocks: list[Body]) -> list[Body]:
    return [*blocks[:-1], {**blocks[-1], "cache_control": _CACHED}]
