"""The forms in which models write tool calls as text, and how a complete block is read.

- Hermes, Qwen: ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``
- Qwen2.5-Coder, Llama: the same object in a fenced block or alone, also with doubled braces
- Qwen3-Coder: ``<tool_call><function=NAME><parameter=P>value</parameter></function></tool_call>``
- GLM: ``<tool_call>NAME<arg_key>P</arg_key><arg_value>value</arg_value></tool_call>``
- DeepSeek: ``<｜DSML｜tool_calls><｜DSML｜invoke name="NAME"><｜DSML｜parameter name="P"
  string="true">value</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>``, or an object
  in the ``invoke``; MiniMax: the same with ``<minimax:tool_call>`` and tags without a prefix
- Kimi: ``<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0
  <|tool_call_argument_begin|>{…}<|tool_call_end|><|tool_calls_section_end|>``
- gpt-oss: see ``agent.models.parsing.text_calls.harmony``

Every reader takes time proportional to the block's length.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from agent.models.base import ToolSchema
from agent.models.parsing.repair import resolve_tool_name
from agent.models.parsing.text_calls.json_scanner import read_objects

MAX_NAME_LENGTH = 200
TAG_OPENING, TAG_CLOSING = "<tool_call>", "</tool_call>"
FUNCTION_OPENING, FUNCTION_CLOSING = "<function=", "</function>"
CLOSINGS = {
    TAG_OPENING: (TAG_CLOSING,),
    FUNCTION_OPENING: (FUNCTION_CLOSING,),
    "<minimax:tool_call>": ("</minimax:tool_call>",),
    **{
        f"<|tool_call{s}_section_begin|>": (
            "<|tool_calls_section_end|>", "<|tool_call_section_end|>",
        )
        for s in ("", "s")
    },
    **{
        f"<{bar}DSML{bar}{name}>": (f"</{bar}DSML{bar}{name}>",)
        for bar in "｜|"
        for name in ("tool_calls", "function_calls")
    },
}  # fmt: skip
"""The opening of each form of its own, and what closes it."""

Call = tuple[str, str]  # name and arguments of a call
_NAME = r'"name"\s{0,8}:\s{0,8}"([^"\\]{1,200})"'
_BEGUN_CALL = re.compile(r"\s*\{{1,2}\s*" + _NAME + r'\s*,\s*"(?:arguments|parameters)"\s*:')
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>")
_INVOKE = re.compile(r"<(?:[｜|]DSML[｜|])?invoke name=\"([^\"\n]{1,200})\"\s*>")
_INVOKE_PARAMETER = re.compile(
    r"<(?:[｜|]DSML[｜|])?parameter name=\"([^\"\n]{1,200})\"(?: string=\"(true|false)\")?\s*>"
)
_INVOKE_CLOSING = re.compile(r"</(?:[｜|]DSML[｜|])?(?:invoke|parameter)>")


class CallReader:
    """Reader of the calls in complete blocks; a block must name one of the tools."""

    def __init__(self, tools: Sequence[ToolSchema]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._commands = {command: tool.name for tool in tools for command in _commands(tool)}
        self._known = self._tools.keys() | self._commands.keys()

    def resolve(self, name: str) -> str:
        """Return the tool that a name, or its command's name (``create``), means; else the name."""
        resolved = resolve_tool_name(name, self._known)
        return resolved if resolved in self._tools else self._commands.get(resolved, resolved)

    def knows(self, name: str) -> bool:
        """Return whether a written name means one of the tools."""
        return self.resolve(name) in self._tools

    def names_command(self, name: str) -> bool:
        """Return whether a written name means a command of a tool, such as the editor's."""
        return self.resolve(name) != resolve_tool_name(name, self._known)

    def read(self, opening: str, body: str) -> list[Call]:
        """Return a block's calls, if all name known tools; an empty ``opening`` means JSON."""
        calls = [self._resolved(*call) for call in _reader(opening, body)(self, body)]
        return calls if all(name in self._tools for name, _ in calls) else []

    def named(self, name: str, arguments: str) -> list[Call]:
        """Return the call of a tool by its written name; empty if there is no such tool."""
        call = self._resolved(name, arguments)
        return [call] if call[0] in self._tools else []

    def _resolved(self, name: str, arguments: str) -> Call:
        """Return the call with its tool's name; a command in the name's place is an argument."""
        values = _typed(arguments) if self.names_command(name) else None
        if isinstance(values, dict):
            command = resolve_tool_name(name, self._known)
            arguments = json.dumps({"command": command, **values}, ensure_ascii=False)
        return self.resolve(name), arguments

    def read_json(self, body: str) -> Iterator[Call]:
        """Yield the calls of JSON; an object that is broken is a call with broken arguments."""
        try:
            yield from [read_call(each) for each in read_objects(body)]
        except ValueError:
            if name := _BEGUN_CALL.match(body):
                yield name.group(1), body.strip()

    def read_function(self, body: str) -> Iterator[Call]:
        """Yield the calls of Qwen3-Coder's form, each with its name and parameters."""
        for part in body.split(FUNCTION_OPENING):
            name, opened, rest = part.partition(">")
            if opened and len(name) <= MAX_NAME_LENGTH:
                yield name.strip(), self._arguments(name, _parameters(rest))

    def read_arg_keys(self, body: str) -> Iterator[Call]:
        """Yield the call of GLM's form."""
        name, *pairs = body.split("<arg_key>")
        values = {}
        for pair in pairs:
            key, _, rest = pair.partition("</arg_key>")
            value = rest.partition("<arg_value>")[2].partition("</arg_value>")[0]
            values[key.strip()] = value
        if len(name) <= MAX_NAME_LENGTH:
            yield name.strip(), self._arguments(name, values)

    def read_invokes(self, body: str) -> Iterator[Call]:
        """Yield the calls of DeepSeek's and MiniMax's form."""
        for opening, end in _with_ends(_INVOKE, body):
            name, content = opening.group(1), body[opening.end() : end]
            if content.lstrip().startswith("{"):
                yield name, _INVOKE_CLOSING.sub("", content).strip()
            else:
                yield name, self._arguments(name, *_invoke_parameters(content))

    def read_sections(self, body: str) -> Iterator[Call]:
        """Yield the calls of Kimi's form."""
        for part in body.split("<|tool_call_begin|>")[1:]:
            name, _, rest = part.partition("<|tool_call_argument_begin|>")
            if len(name) <= MAX_NAME_LENGTH:
                yield name.strip(), rest.partition("<|tool_call_end|>")[0].strip() or "{}"

    def _arguments(
        self, name: str, texts: Mapping[str, str], is_text: Mapping[str, bool] | None = None
    ) -> str:
        """Return arguments as JSON; a value is text unless the tool wants another type."""
        tool = self._tools.get(self.resolve(name.strip()))
        properties = tool.parameters.get("properties", {}) if tool else {}
        marked = is_text or {}
        values = {
            key: text if marked.get(key, _is_text(properties.get(key))) else _typed(text)
            for key, text in texts.items()
        }
        return json.dumps(values, ensure_ascii=False)


def _commands(tool: ToolSchema) -> Sequence[str]:
    """Return the commands that a tool chooses from, such as the editor's."""
    command = tool.parameters.get("properties", {}).get("command", {})
    return command.get("enum", ()) if isinstance(command, Mapping) else ()


def _reader(opening: str, body: str) -> Callable[[CallReader, str], Iterator[Call]]:
    if opening == FUNCTION_OPENING:
        return CallReader.read_function
    if opening == TAG_OPENING and not body.lstrip().startswith(("{", "[")):
        if FUNCTION_OPENING in body:
            return CallReader.read_function
        return CallReader.read_invokes if _INVOKE.search(body) else CallReader.read_arg_keys
    if "DSML" in opening or "minimax" in opening:
        return CallReader.read_invokes
    return CallReader.read_sections if "section" in opening else CallReader.read_json


def read_call(value: Mapping[str, object]) -> Call:
    """Return an object as a call; without ``arguments`` they are what stands beside its name."""
    inner = value.get("function")
    call = inner if isinstance(inner, Mapping) else value
    name = call.get("name")
    beside = {key: each for key, each in call.items() if key not in ("name", "id", "type")}
    arguments = call.get("arguments", call.get("parameters", beside))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return name if isinstance(name, str) else "", text


def _parameters(text: str) -> dict[str, str]:
    """Return the values of Qwen3-Coder's parameters; the closing tag may be missing."""
    values: dict[str, str] = {}
    last_closing = text.rfind("</parameter>")
    read = 0
    for opening, following in _with_ends(_PARAMETER, text):
        if opening.start() < read:
            continue  # within the value before
        closed = opening.end() <= last_closing
        end = text.find("</parameter>", opening.end()) if closed else following
        value = text[opening.end() : end].removesuffix(FUNCTION_CLOSING)
        values[opening.group(1).strip()] = value.removeprefix("\n").removesuffix("\n")
        read = end
    return values


def _invoke_parameters(text: str) -> tuple[dict[str, str], dict[str, bool]]:
    """Return the values of an ``invoke``, and which of them are marked as text or not."""
    values: dict[str, str] = {}
    marked: dict[str, bool] = {}
    for opening, end in _with_ends(_INVOKE_PARAMETER, text):
        content = text[opening.end() : end]
        closing = _INVOKE_CLOSING.search(content)
        name, is_text = opening.groups()
        values[name] = content[: closing.start()] if closing else content
        if is_text:
            marked[name] = is_text == "true"
    return values, marked


def _with_ends(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield the matches, each with the start of the next one or the text's end."""
    matches = list(pattern.finditer(text))
    starts = (match.start() for match in matches[1:])
    return zip(matches, chain(starts, [len(text)]), strict=False)


def _is_text(schema: object) -> bool:
    kind = schema.get("type", "string") if isinstance(schema, Mapping) else "string"
    return kind == "string" or (isinstance(kind, list) and "string" in kind)


def _typed(text: str) -> Any:
    try:
        return json.loads(text.strip())
    except (ValueError, RecursionError):
        return text
