"""Tool calls in the text, for servers and models without tool support.

The system prompt describes the format: any number of fenced blocks, the last need not be closed,

    ```tool_call
    {"name": "execute_bash", "arguments": {"command": "ls"}}
    ```

``<tool_call>{…}</tool_call>`` and ``parameters`` for ``arguments`` are accepted as well. Invalid
JSON still counts as a call, so that the model receives an error message. Results are sent back
as a user message: ``Result of execute_bash:``, and the output on the next lines.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from agent.models.base import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserMessage,
)
from agent.models.parsing.text_calls.described_block import FENCE, FENCE_END

_INSTRUCTIONS = """\
# Tools
You have the tools below. To call a tool, write a block exactly like this, and nothing after \
the last block:

```tool_call
{"name": "the tool's name", "arguments": {"parameter": "value"}}
```

The block contains one JSON object; write line breaks inside a value as \\n. The next message \
contains the result. Never write a result yourself.
"""


def describe_tools(tools: Sequence[ToolSchema]) -> str:
    """Return a description of the tools for the system prompt; empty without tools."""
    if not tools:
        return ""
    parts = [
        f"## {tool.name}\n{tool.description.strip()}\n"
        f"Parameters (JSON Schema): {json.dumps(tool.parameters, ensure_ascii=False)}"
        for tool in tools
    ]
    return "\n".join([_INSTRUCTIONS, *parts])


def to_text_messages(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[Message]:
    """Return the conversation with tools, calls and results as text, in alternating roles."""
    converted: list[Message] = []
    description = describe_tools(tools)
    for message in _with_tool_description(messages, description) if description else messages:
        if isinstance(message, AssistantMessage):
            converted.append(replace(message, text=_render_answer(message), calls=()))
        elif isinstance(message, SystemMessage):
            converted.append(message)
        else:
            text, pictures = message.text, message.pictures
            if isinstance(message, ToolResult):
                text = f"Result of {message.name}:\n{text or '(empty)'}"
            last = converted[-1] if converted else None
            if isinstance(last, UserMessage):
                text, pictures = f"{last.text}\n\n{text}", last.pictures + pictures
                converted.pop()
            converted.append(UserMessage(text, pictures))
    return converted


def _with_tool_description(messages: Sequence[Message], description: str) -> list[Message]:
    """Return the messages with the description appended to the system prompt."""
    first = messages[0] if messages else None
    if isinstance(first, SystemMessage):
        return [SystemMessage(f"{first.text}\n\n{description}"), *messages[1:]]
    return [SystemMessage(description), *messages]


def _render_answer(message: AssistantMessage) -> str:
    blocks = [f"{FENCE}\n{_render_call(call)}\n{FENCE_END}" for call in message.calls]
    return "\n\n".join(part for part in (message.text, *blocks) if part)


def _render_call(call: ToolCall) -> str:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return call.arguments
    return json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False)
