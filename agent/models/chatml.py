"""A conversation as ChatML, the form that many small models were trained on.

    <|im_start|>system
    You do small jobs.<|im_end|>
    <|im_start|>user
    Count the lines.<|im_end|>
    <|im_start|>assistant
    I look.<tool_call>{"name": "execute_bash", "arguments": {"command": "wc -l a"}}</tool_call>
    <|im_end|>        (without the line break before it)
    <|im_start|>tool
    12 a<|im_end|>

It is made of parts: texts, and control tokens that are no texts. What a person, a file or a
model wrote stays a text, whatever it looks like, and can end nobody's turn. An answer is a part
of its own, as it is where the model writes it itself.
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
    """A token that stands for no text, by its name in the model's vocabulary."""

    name: str


Part = str | Control
START, END = Control("<|im_start|>"), Control("<|im_end|>")
AFTER_END = "\n"
# What a model's answer is written after.
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
    """The messages, the tools at the system prompt's end, in the words that Qwen's models know."""
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
    """One message, from the token that begins it to the line break behind its end."""
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
    """The messages, and the beginning of the answer to them."""
    for message in messages:
        yield from parts(message)
    yield from OPENING


def written(message: Assistant) -> str:
    """An answer as the model writes it: its reasoning, its text, then its calls."""
    thought = f"<think>\n{message.reasoning}\n</think>\n\n" if message.reasoning else ""
    return thought + message.text + "".join(map(_call, message.calls))


def _call(call: ToolCall) -> str:
    """A call with its arguments as they were written, JSON or not."""
    name = json.dumps(call.name, ensure_ascii=False)
    body = f'{{"name": {name}, "arguments": {call.arguments or "{}"}}}'
    return f"<tool_call>{body if call.name else call.arguments}</tool_call>"
