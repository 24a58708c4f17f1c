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

from agent.models.base import (
    Assistant,
    CallPiece,
    Message,
    System,
    TextPiece,
    ToolCall,
    ToolResult,
    ToolSchema,
    User,
)
from agent.models.parsing.call_ids import new_call_id
from agent.models.parsing.think import held_back

_FENCE, _FENCE_END = "```tool_call", "```"
_TAG, _TAG_END = "<tool_call>", "</tool_call>"
_HEAD = re.compile(
    r'\s*\{\s*"name"\s*:\s*"([^"\\]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)'
)
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')
# Characters that may belong to the end of a block: its last brace closes the block itself.
_TAIL = " \t\r\n}`"

_INSTRUCTIONS = """\
# Tools
You have the tools below. To call one, write a block exactly like this, and nothing after \
the last block:

```tool_call
{"name": "the tool's name", "arguments": {"parameter": "value"}}
```

The block holds one JSON object; line breaks inside a value are written as \\n. The result \
comes in the next message. Never write a result yourself.
"""


def describe(tools: Sequence[ToolSchema]) -> str:
    """Return a description of the tools for the system prompt; empty without tools."""
    if not tools:
        return ""
    parts = [
        f"## {tool.name}\n{tool.description.strip()}\n"
        f"Parameters (JSON Schema): {json.dumps(tool.parameters, ensure_ascii=False)}"
        for tool in tools
    ]
    return "\n".join([_INSTRUCTIONS, *parts])


def as_text(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[Message]:
    """Return the conversation with tools, calls and results written as text.

    Consecutive user messages are merged, since many chat templates require alternating roles.
    """
    turned: list[Message] = []
    description = describe(tools)
    for message in _told(messages, description) if description else messages:
        if isinstance(message, Assistant):
            turned.append(Assistant(_written(message), message.reasoning))
        elif isinstance(message, System):
            turned.append(message)
        else:
            text = message.text
            if isinstance(message, ToolResult):
                text = f"Result of {message.name}:\n{text or '(empty)'}"
            if turned and isinstance(turned[-1], User):
                text = f"{turned.pop().text}\n\n{text}"
            turned.append(User(text))
    return turned


def _told(messages: Sequence[Message], description: str) -> list[Message]:
    """Return the messages with the description appended to the system prompt."""
    first = messages[0] if messages else None
    if isinstance(first, System):
        return [System(f"{first.text}\n\n{description}"), *messages[1:]]
    return [System(description), *messages]


def _written(message: Assistant) -> str:
    blocks = [f"{_FENCE}\n{_call_text(call)}\n{_FENCE_END}" for call in message.calls]
    return "\n\n".join(part for part in (message.text, *blocks) if part)


def _call_text(call: ToolCall) -> str:
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
        self._held = ""
        self._line_start = True
        self._after_block = False
        self._end = ""
        self._block: _Block | None = None
        self._count = 0

    def feed(self, text: str) -> list[TextPiece | CallPiece]:
        """Process a fragment; return the new pieces that are certain so far."""
        self._held += text
        pieces: list[TextPiece | CallPiece] = []
        while self._held:
            before = self._held
            pieces += self._inside() if self._block else self._outside()
            if self._held == before:
                break
        return pieces

    def flush(self) -> list[TextPiece | CallPiece]:
        """Return the remaining pieces at the end of the text; an open block ends."""
        held, self._held = self._held, ""
        if self._block is None:
            return [TextPiece(held)] if held else []
        block, self._block = self._block, None
        return [*block.feed(held), *block.end()]

    def _outside(self) -> list[TextPiece | CallPiece]:
        if self._after_block:
            self._held = self._held.lstrip("\n")
            self._after_block = not self._held
        found = self._opening()
        if found is not None:
            start, marker, self._end = found
            text, self._held = self._held[:start], self._held[start + len(marker) :]
            self._block = _Block(self._count)
            self._count += 1
            return _text(text)
        keep = max(held_back(self._held, _TAG), self._fence_begun())
        return self._say(len(self._held) - keep)

    def _opening(self) -> tuple[int, str, str] | None:
        """Find the first opening marker: position, opening marker, closing marker."""
        found: list[tuple[int, str, str]] = []
        if (at := self._held.find(_TAG)) >= 0:
            found.append((at, _TAG, _TAG_END))
        for match in re.finditer(re.escape(_FENCE) + r"(?=\s)", self._held):
            if self._begins_line(match.start()):
                found.append((match.start(), _FENCE, _FENCE_END))
                break
        return min(found, default=None)

    def _begins_line(self, at: int) -> bool:
        line = self._held[self._held.rfind("\n", 0, at) + 1 : at]
        return not line.strip() and (self._line_start or "\n" in self._held[:at])

    def _fence_begun(self) -> int:
        """Return the number of characters at the end that may begin a fence."""
        line = self._held[self._held.rfind("\n") + 1 :]
        begun = line.lstrip()
        could = _FENCE.startswith(begun) and self._begins_line(len(self._held) - len(begun))
        return len(line) if could else 0

    def _say(self, length: int) -> list[TextPiece | CallPiece]:
        text, self._held = self._held[:length], self._held[length:]
        if text:
            self._line_start = text.endswith("\n")
        return _text(text)

    def _inside(self) -> list[TextPiece | CallPiece]:
        block = self._block
        assert block is not None
        at = self._closing()
        if at >= 0:
            body, self._held = self._held[:at], self._held[at + len(self._end) :]
            self._block, self._line_start, self._after_block = None, True, True
            return [*block.feed(body), *block.end()]
        # A closing fence counts only at the start of a line, so its line break is held back too.
        keep = held_back(self._held, self._end if self._end == _TAG_END else "\n" + _FENCE_END)
        body, self._held = self._held[: len(self._held) - keep], self._held[-keep:] if keep else ""
        return list(block.feed(body))

    def _closing(self) -> int:
        if self._end == _TAG_END:
            return self._held.find(_TAG_END)
        at = self._held.find("\n" + _FENCE_END)
        return at + 1 if at >= 0 else -1


def _text(text: str) -> list[TextPiece | CallPiece]:
    return [TextPiece(text)] if text else []


class _Block:
    """A block being parsed; arguments are streamed if they are a JSON object."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._body = ""
        self._streams = False

    def feed(self, text: str) -> Iterable[CallPiece]:
        self._body += text
        if self._streams:
            return self._arguments()
        head = _HEAD.match(self._body)
        if head is None:
            return []
        self._streams, self._body = True, self._body[head.end() :]
        return [CallPiece(self._index, new_call_id(), head.group(1)), *self._arguments()]

    def _arguments(self) -> list[CallPiece]:
        """Return the new arguments, without characters that may be the block's end."""
        safe = len(self._body.rstrip(_TAIL))
        said, self._body = self._body[:safe], self._body[safe:]
        return [CallPiece(self._index, arguments=said)] if said else []

    def end(self) -> list[CallPiece]:
        body = self._body.rstrip().removesuffix(_FENCE_END).rstrip()
        if self._streams:
            rest = body.removesuffix("}").rstrip()
            return [CallPiece(self._index, arguments=rest)] if rest else []
        name, arguments = _whole(body.strip())
        return [CallPiece(self._index, new_call_id(), name, arguments)]


def _whole(body: str) -> tuple[str, str]:
    """Return name and arguments of a complete block that could not be streamed."""
    try:
        call = json.loads(body, strict=False)
    except ValueError:
        call = None
    if not isinstance(call, dict):
        name = _NAME.search(body)
        return name.group(1) if name else "", body
    arguments = call.get("arguments", call.get("parameters", {}))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return str(call.get("name") or ""), text
