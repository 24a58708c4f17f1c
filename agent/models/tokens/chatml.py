"""Conversations in ChatML, the format that many small models were trained on.

    <|im_start|>system
    You do small jobs.<|im_end|>
    <|im_start|>user
    Count the lines.<|im_end|>
    <|im_start|>assistant
    I look.<tool_call>{"name": "execute_bash", "arguments": {"command": "wc -l a"}}</tool_call>
    <|im_end|>        (without the line break before it)
    <|im_start|>tool
    12 a<|im_end|>

A conversation consists of parts: texts and control tokens. Content from users, files and models
is always text, so it cannot end a turn even if it looks like a control token. An answer is a
separate part, so that it is tokenized like the model's own output.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.models.base import (
    Assistant,
    Message,
    System,
    ToolCall,
    ToolResult,
    ToolSchema,
    User,
)


@dataclass(frozen=True, slots=True)
class Control:
    """A control token, by its name in the model's vocabulary."""

    name: str


Part = str | Control
START, END = Control("<|im_start|>"), Control("<|im_end|>")
AFTER_END = "\n"
# The generation prompt: precedes the model's answer.
OPENING: tuple[Part, ...] = (START, "assistant\n")


_TOOLS = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{}
</tools>

For each function call, return a json object with function name and arguments within \
<tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""


def described(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Sequence[Message]:
    """Return the messages with the tools in the system prompt, worded as by Qwen."""
    if not tools:
        return messages
    lines = "\n".join(map(_signature, tools))
    first = messages[0] if messages else None
    if isinstance(first, System):
        return [System(f"{first.text}\n\n{_TOOLS.format(lines)}"), *messages[1:]]
    return [System(_TOOLS.format(lines)), *messages]


def _signature(tool: ToolSchema) -> str:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return json.dumps({"type": "function", "function": function}, ensure_ascii=False)


def parts(message: Message) -> Iterator[Part]:
    """Yield the parts of a message, from start token to final line break."""
    match message:
        case System(text):
            yield from (START, f"system\n{text}")
        case User(text):
            yield from (START, f"user\n{text}")
        case ToolResult(text=text):
            yield from (START, f"tool\n{text}")
        case Assistant():
            yield from (*OPENING, written(message))
    yield from (END, AFTER_END)


def prompt(messages: Sequence[Message]) -> Iterator[Part]:
    """Yield the parts of the messages, then the generation prompt."""
    for message in messages:
        yield from parts(message)
    yield from OPENING


def written(message: Assistant) -> str:
    """Return an answer as the model writes it: reasoning, text, then calls."""
    thought = f"<think>\n{message.reasoning}\n</think>\n\n" if message.reasoning else ""
    return thought + message.text + "".join(map(_call, message.calls))


def _call(call: ToolCall) -> str:
    """Return a call with its arguments unchanged, valid JSON or not."""
    name = json.dumps(call.name, ensure_ascii=False)
    body = f'{{"name": {name}, "arguments": {call.arguments or "{}"}}}'
    return f"<tool_call>{body if call.name else call.arguments}</tool_call>"
