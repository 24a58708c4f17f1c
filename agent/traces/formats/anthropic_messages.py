"""Messages of Anthropic's API, whose calls and results are blocks of their content."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from agent.models.base import ToolCall
from agent.traces.chat import items_of_message, user_text
from agent.traces.fields import Fields, dump, shorten
from agent.traces.trace import Item, Result, Turn

_RESULT, _CALL = "tool_result", "tool_use"
_THINKING = ("thinking", "redacted_thinking")


def items_of_blocks(message: Fields, at: float | None = None) -> Iterator[Item]:
    """Yield what a message says: a turn, or results and then a text; also one of another API."""
    content = message.values.get("content")
    types = [_type(part) for part in (content if isinstance(content, list) else ())]
    if not any(each in (_RESULT, _CALL, *_THINKING) for each in types):
        yield from items_of_message(message, at)
        return
    blocks = list(message.items("content"))
    if message.text("role") == "assistant":
        yield _turn(message, blocks, at)
        return
    for block in blocks:
        if _type(block.values) == _RESULT:
            shown = user_text(block, at, reminder=False)
            ok = False if block.flag("is_error") else None
            call_id = block.text("tool_use_id")
            yield Result(call_id=call_id, text=shown.text, ok=ok, at=at, images=shown.images)
    rest = [block.values for block in blocks if _type(block.values) != _RESULT]
    if rest:
        said = user_text(Fields({"content": rest}, message.place), at, reminder=False)
        yield replace(said, while_working=True)


def tool_of(tool: Fields) -> Mapping[str, Any]:
    """Return a tool's definition as in Chat Completions."""
    if "input_schema" not in tool:
        return tool.values
    function = {key: tool.values[key] for key in ("name", "description") if key in tool}
    function["parameters"] = tool.values["input_schema"]
    return {"type": "function", "function": function}


def _turn(message: Fields, blocks: list[Fields], at: float | None) -> Turn:
    """Return an answer; a signature or encrypted thinking is good for its endpoint only."""
    texts = [block.values for block in blocks if _type(block.values) not in (_CALL, *_THINKING)]
    thinking = [block.text("thinking") for block in blocks if _type(block.values) == "thinking"]
    return Turn(
        text=Fields({"content": texts}, message.place).text("content"),
        reasoning=shorten("\n\n".join(thinking)),
        calls=tuple(_call(block) for block in blocks if _type(block.values) == _CALL),
        model=message.text("model"),
        at=at,
    )


def _call(block: Fields) -> ToolCall:
    arguments = shorten(dump(block.fields("input").values))
    return ToolCall(block.text("id"), block.text("name") or "unknown", arguments)


def _type(part: object) -> object:
    return part.get("type") if isinstance(part, dict) else None
