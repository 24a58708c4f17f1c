"""Tool calls in the text, for servers and models without tool support.

The system prompt describes the format: a fenced block with the info string
``tool_call`` that contains one JSON object,

    ```tool_call
    {"name": "execute_bash", "arguments": {"command": "ls"}}
    ```

one block per call, any number of blocks in a message. ``<tool_call>{…}</tool_call>``,
which many models were trained on, is accepted as well. The last block of a message need
not be closed. ``parameters`` is accepted instead of ``arguments``.

The blocks are not part of the displayed text. A block that is not valid JSON still counts
as a call, with the text as its arguments, so that the model receives an error message.
Results are sent back as a user message:

    Result of execute_bash:
    total 0
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agent.models.base import (
    AssistantMessage,
    CallPiece,
    Message,
    SystemMessage,
    TextPiece,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserMessage,
)
from agent.models.parsing.call_ids import new_call_id
from agent.models.parsing.think import partial_marker_length

_FENCE, _FENCE_END = "```tool_call", "```"
_TAG, _TAG_END = "<tool_call>", "</tool_call>"
_CALL_START_PATTERN = re.compile(
    r'\s*\{\s*"name"\s*:\s*"([^"\\]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)'
)
_NAME_PATTERN = re.compile(r'"name"\s*:\s*"([^"\\]+)"')
# Characters that may belong to the end of a block: its last brace closes the block itself.
_BLOCK_END_CHARACTERS = " \t\r\n}`"

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
    """Return the conversation with tools, calls and results written as text.

    Consecutive user messages are merged, since many chat templates require alternating roles.
    """
    converted: list[Message] = []
    description = describe_tools(tools)
    for message in _with_tool_description(messages, description) if description else messages:
        if isinstance(message, AssistantMessage):
            converted.append(replace(message, text=_render_answer(message), calls=()))
        elif isinstance(message, SystemMessage):
            converted.append(message)
        else:
            text = message.text
            if isinstance(message, ToolResult):
                text = f"Result of {message.name}:\n{text or '(empty)'}"
            if converted and isinstance(converted[-1], UserMessage):
                text = f"{converted.pop().text}\n\n{text}"
            converted.append(UserMessage(text))
    return converted


def _with_tool_description(messages: Sequence[Message], description: str) -> list[Message]:
    """Return the messages with the description appended to the system prompt."""
    first = messages[0] if messages else None
    if isinstance(first, SystemMessage):
        return [SystemMessage(f"{first.text}\n\n{description}"), *messages[1:]]
    return [SystemMessage(description), *messages]


def _render_answer(message: AssistantMessage) -> str:
    blocks = [f"{_FENCE}\n{_render_call(call)}\n{_FENCE_END}" for call in message.calls]
    return "\n\n".join(part for part in (message.text, *blocks) if part)


def _render_call(call: ToolCall) -> str:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return call.arguments
    return json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False)


class TextCallSplitter:
    """Incremental splitter of a text stream into text and tool calls.

    It works for any fragment boundaries.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._at_line_start = True
        self._after_block = False
        self._end_marker = ""
        self._block: _BlockParser | None = None
        self._count = 0

    def feed(self, text: str) -> list[TextPiece | CallPiece]:
        """Process a fragment; return the new pieces that are certain so far."""
        self._buffer += text
        pieces: list[TextPiece | CallPiece] = []
        while self._buffer:
            before = self._buffer
            pieces += self._parse_block() if self._block else self._parse_text()
            if self._buffer == before:
                break
        return pieces

    def flush(self) -> list[TextPiece | CallPiece]:
        """Return the remaining pieces at the end of the text; an open block ends."""
        rest, self._buffer = self._buffer, ""
        if self._block is None:
            return [TextPiece(rest)] if rest else []
        block, self._block = self._block, None
        return [*block.feed(rest), *block.finish()]

    def _parse_text(self) -> list[TextPiece | CallPiece]:
        if self._after_block:
            self._buffer = self._buffer.lstrip("\n")
            self._after_block = not self._buffer
        marker_match = self._find_opening()
        if marker_match is not None:
            start, marker, self._end_marker = marker_match
            text, self._buffer = self._buffer[:start], self._buffer[start + len(marker) :]
            self._block = _BlockParser(self._count)
            self._count += 1
            return _text_pieces(text)
        keep = max(partial_marker_length(self._buffer, _TAG), self._partial_fence_length())
        return self._take_text(len(self._buffer) - keep)

    def _find_opening(self) -> tuple[int, str, str] | None:
        """Find the first opening marker: position, opening marker, closing marker."""
        found: list[tuple[int, str, str]] = []
        if (at := self._buffer.find(_TAG)) >= 0:
            found.append((at, _TAG, _TAG_END))
        for match in re.finditer(re.escape(_FENCE) + r"(?=\s)", self._buffer):
            if self._is_line_start(match.start()):
                found.append((match.start(), _FENCE, _FENCE_END))
                break
        return min(found, default=None)

    def _is_line_start(self, at: int) -> bool:
        line = self._buffer[self._buffer.rfind("\n", 0, at) + 1 : at]
        return not line.strip() and (self._at_line_start or "\n" in self._buffer[:at])

    def _partial_fence_length(self) -> int:
        """Return the number of characters at the end that may begin a fence."""
        line = self._buffer[self._buffer.rfind("\n") + 1 :]
        begun = line.lstrip()
        could = _FENCE.startswith(begun) and self._is_line_start(len(self._buffer) - len(begun))
        return len(line) if could else 0

    def _take_text(self, length: int) -> list[TextPiece | CallPiece]:
        text, self._buffer = self._buffer[:length], self._buffer[length:]
        if text:
            self._at_line_start = text.endswith("\n")
        return _text_pieces(text)

    def _parse_block(self) -> list[TextPiece | CallPiece]:
        block = self._block
        assert block is not None
        at = self._find_closing()
        if at >= 0:
            body, self._buffer = self._buffer[:at], self._buffer[at + len(self._end_marker) :]
            self._block, self._at_line_start, self._after_block = None, True, True
            return [*block.feed(body), *block.finish()]
        # A closing fence counts only at the start of a line, so its line break is held back too.
        keep = partial_marker_length(
            self._buffer, self._end_marker if self._end_marker == _TAG_END else "\n" + _FENCE_END
        )
        body, self._buffer = (
            self._buffer[: len(self._buffer) - keep],
            self._buffer[-keep:] if keep else "",
        )
        return list(block.feed(body))

    def _find_closing(self) -> int:
        if self._end_marker == _TAG_END:
            return self._buffer.find(_TAG_END)
        at = self._buffer.find("\n" + _FENCE_END)
        return at + 1 if at >= 0 else -1


def _text_pieces(text: str) -> list[TextPiece | CallPiece]:
    return [TextPiece(text)] if text else []


class _BlockParser:
    """A block being parsed; arguments are streamed if they are a JSON object."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._body = ""
        self._streaming = False

    def feed(self, text: str) -> Iterable[CallPiece]:
        self._body += text
        if self._streaming:
            return self._take_arguments()
        start = _CALL_START_PATTERN.match(self._body)
        if start is None:
            return []
        self._streaming, self._body = True, self._body[start.end() :]
        return [CallPiece(self._index, new_call_id(), start.group(1)), *self._take_arguments()]

    def _take_arguments(self) -> list[CallPiece]:
        """Return the new arguments, without characters that may be the block's end."""
        safe = len(self._body.rstrip(_BLOCK_END_CHARACTERS))
        arguments, self._body = self._body[:safe], self._body[safe:]
        return [CallPiece(self._index, arguments=arguments)] if arguments else []

    def finish(self) -> list[CallPiece]:
        body = self._body.rstrip().removesuffix(_FENCE_END).rstrip()
        if self._streaming:
            rest = body.removesuffix("}").rstrip()
            return [CallPiece(self._index, arguments=rest)] if rest else []
        name, arguments = _parse_complete_block(body.strip())
        return [CallPiece(self._index, new_call_id(), name, arguments)]


def _parse_complete_block(body: str) -> tuple[str, str]:
    """Return name and arguments of a complete block that could not be streamed."""
    try:
        call = json.loads(body, strict=False)
    except ValueError:
        call = None
    if not isinstance(call, dict):
        name = _NAME_PATTERN.search(body)
        return name.group(1) if name else "", body
    arguments = call.get("arguments", call.get("parameters", {}))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return str(call.get("name") or ""), text
