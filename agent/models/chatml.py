"""Conversations in ChatML, the format that many small models were trained on.

    <|im_start|>user
    Count the lines.<|im_end|>
    <|im_start|>assistant
    I look.<tool_call>{"name": "execute_bash", "arguments": {"command": "wc -l a"}}</tool_call>
    <|im_end|>        (without the line break before it)
    <|im_start|>tool
    12 a<|im_end|>

Content from users, files and models is always text, so it cannot end a turn even if it looks like a
control token. An answer is a part of its own, so that it is tokenized like the model's output.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.models.base import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserMessage,
)


@dataclass(frozen=True, slots=True)
class ControlToken:
    """A control token, by its name in the model's vocabulary."""

    name: str


Part = str | ControlToken
START_TOKEN, END_TOKEN = ControlToken("<|im_start|>"), ControlToken("<|im_end|>")
MESSAGE_SEPARATOR = "\n"
# The generation prompt: precedes the model's answer.
GENERATION_PROMPT: tuple[Part, ...] = (START_TOKEN, "assistant\n")


_TOOLS_TEMPLATE = """\
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


def with_tool_descriptions(
    messages: Sequence[Message], tools: Sequence[ToolSchema]
) -> Sequence[Message]:
    """Return the messages with the tools in the system prompt, worded as by Qwen."""
    if not tools:
        return messages
    lines = "\n".join(json.dumps(each.definition, ensure_ascii=False) for each in tools)
    first = messages[0] if messages else None
    if isinstance(first, SystemMessage):
        return [SystemMessage(f"{first.text}\n\n{_TOOLS_TEMPLATE.format(lines)}"), *messages[1:]]
    return [SystemMessage(_TOOLS_TEMPLATE.format(lines)), *messages]


def message_parts(message: Message) -> Iterator[Part]:
    """Yield the parts of a message, from start token to final line break."""
    match message:
        case SystemMessage(text):
            yield from (START_TOKEN, f"system\n{text}")
        case UserMessage(text):
            yield from (START_TOKEN, f"user\n{text}")
        case ToolResult(text=text):
            yield from (START_TOKEN, f"tool\n{text}")
        case AssistantMessage():
            yield from (*GENERATION_PROMPT, render_answer(message))
    yield from (END_TOKEN, MESSAGE_SEPARATOR)


def prompt_parts(messages: Sequence[Message]) -> Iterator[Part]:
    """Yield the parts of the messages, then the generation prompt."""
    for message in messages:
        yield from message_parts(message)
    yield from GENERATION_PROMPT


def render_answer(message: AssistantMessage) -> str:
    """Return an answer as the model writes it: reasoning, text, then calls."""
    thought = f"<think>\n{message.reasoning}\n</think>\n\n" if message.reasoning else ""
    return thought + message.text + "".join(map(_render_call, message.calls))


def _render_call(call: ToolCall) -> str:
    """Return a call with its arguments unchanged, valid JSON or not."""
    name = json.dumps(call.name, ensure_ascii=False)
    body = f'{{"name": {name}, "arguments": {call.arguments or "{}"}}}'
    return f"<tool_call>{body if call.name else call.arguments}</tool_call>"
