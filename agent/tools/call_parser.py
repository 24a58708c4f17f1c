"""Parse a model's tool call into an action or an error message."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.errors import ToolError
from agent.models.base import ToolCall
from agent.tools.actions import (
    BASH,
    EDITOR,
    SUBMIT,
    Action,
    Bash,
    Create,
    Custom,
    Insert,
    InvalidCall,
    Operation,
    Replace,
    Submit,
    View,
)
from agent.tools.custom import Tool
from agent.util.text import one_line

_PARAMETERS: Mapping[str, frozenset[str]] = {
    EDITOR: frozenset(
        {"command", "path", "file_text", "old_str", "new_str", "insert_line", "view_range"}
    ),
    BASH: frozenset({"command", "timeout"}),
    SUBMIT: frozenset(),
}
_COMMAND_PARAMETERS = {
    "view": {"view_range"},
    "create": {"file_text"},
    "str_replace": {"old_str", "new_str"},
    "insert": {"insert_line", "new_str"},
}
_REQUIRED_PARAMETERS = {
    "view": set[str](),
    "create": {"file_text"},
    "str_replace": {"old_str"},
    "insert": {"insert_line", "new_str"},
}
_ALIASES = {(EDITOR, "insert"): {"insert_text": "new_str"}}
"""Names that other editors with the same commands use for the same parameters."""
_IGNORED_PARAMETERS = frozenset({"security_risk"})
"""Parameters that models add out of habit and that have no effect."""
_EXAMPLES = {
    EDITOR: '{"command": "view", "path": "/workspace/input/notes.txt"}',
    BASH: '{"command": "ls -la"}',
    SUBMIT: "{}",
}
_EXAMPLE = '{"name": "value"}'
_JSON_TYPE_NAMES = {str: "a string", bool: "true or false", list: "an array", dict: "an object"}
_MAX_NAME_LENGTH = 80


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits of a command in seconds: the default and the highest allowed."""

    default: float = 120.0
    maximum: float = 3600.0


def parse(
    call: ToolCall, limits: TimeLimits, custom: Mapping[str, Tool] | None = None
) -> Action | InvalidCall:
    """Parse a call; accept deviations only if the meaning is certain."""
    tool = (custom or {}).get(call.name)
    if tool is None and call.name not in _PARAMETERS:
        name = one_line(call.name)[:_MAX_NAME_LENGTH]
        known = ", ".join([EDITOR, BASH, *(custom or {})])
        return InvalidCall(f"Unknown action: {name}. The tools are {known} and {SUBMIT}.")
    try:
        if tool is not None:
            tool.validate(arguments := _parse_arguments(call))
            return Action(Custom(tool.name, arguments))
        arguments, understood = _with_command(call.name, _parse_arguments(call))
        arguments = _resolve_aliases(call.name, arguments)
        unknown = sorted(set(arguments) - _PARAMETERS[call.name] - _ignored_silently(arguments))
        notes = understood + [
            f"the unknown parameter {one_line(name)[:_MAX_NAME_LENGTH]} was ignored"
            for name in unknown
        ]
        operation = _parse_operation(call.name, _Parameters(call.name, arguments, notes), limits)
    except ToolError as error:
        return InvalidCall(f"Error: {error}")
    return Action(operation, tuple(notes))


def _with_command(tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments with the only command that uses all and misses nothing, and a remark."""
    if tool != EDITOR or arguments.get("command"):
        return arguments, []
    readings = [
        {**_resolve_aliases(tool, {**arguments, "command": command}), "command": command}
        for command in _COMMAND_PARAMETERS
    ]
    fitting = [each for each in readings if _fits(each)]
    if len(fitting) != 1:
        return arguments, []
    command = fitting[0]["command"]
    return fitting[0], [f"command was missing; the call was understood as {command}"]


def _fits(arguments: dict[str, Any]) -> bool:
    command = arguments["command"]
    given = {
        name
        for name in _PARAMETERS[EDITOR] - {"command", "path"}
        if arguments.get(name) is not None
    }
    uses_all = bool(given) and given <= _COMMAND_PARAMETERS[command]
    return uses_all and given >= _REQUIRED_PARAMETERS[command]


def _resolve_aliases(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Replace aliases in the arguments, unless the usual name is also given."""
    aliases = _ALIASES.get((tool, str(arguments.get("command"))), {})
    for alias, name in aliases.items():
        if arguments.get(name) is None and alias in arguments:
            arguments = {**arguments, name: arguments[alias]}
            del arguments[alias]
    return arguments


def _ignored_silently(arguments: dict[str, Any]) -> set[str]:
    """Return the parameters to ignore without a remark; not a true ``is_input``."""
    no_input = str(arguments.get("is_input", False)).lower() == "false"
    return {*_IGNORED_PARAMETERS, *(["is_input"] if no_input else [])}


def _parse_operation(tool: str, parameters: "_Parameters", limits: TimeLimits) -> Operation:
    match tool:
        case "submit":
            return Submit()
        case "execute_bash":
            command = parameters.optional_string("command")
            if not command or not command.strip():
                raise ToolError("No command provided.")
            if "\0" in command:
                raise ToolError("command contains a NUL character, which a shell does not accept.")
            return Bash(command, parameters.timeout(limits))
        case _:
            return _parse_editor_operation(parameters)


def _parse_editor_operation(parameters: "_Parameters") -> Operation:
    command, path = parameters.optional_string("command"), parameters.optional_string("path")
    if not command or not path:
        raise ToolError(_missing(command=not command, path=not path))
    if command == "undo_edit":
        raise ToolError(
            "undo_edit is not one of the commands. To undo an edit, use str_replace with old_str "
            "and new_str swapped; to see the current content of the file, use view."
        )
    if command not in _COMMAND_PARAMETERS:
        known = ", ".join(_COMMAND_PARAMETERS)
        raise ToolError(
            f"Unknown command: {one_line(command)[:_MAX_NAME_LENGTH]}. The commands are {known}."
        )
    parameters.note_unused(command)
    path = parameters.check_path(path)
    match command:
        case "view":
            return View(path, parameters.view_range())
        case "create":
            return Create(path, parameters.required_string("file_text", command))
        case "str_replace":
            old_str = parameters.required_string("old_str", command)
            return Replace(path, old_str, parameters.optional_string("new_str") or "")
        case _:
            new_str = parameters.required_string("new_str", command)
            line = parameters.integer("insert_line", parameters.values.get("insert_line"))
            return Insert(path, line, new_str)


def _missing(*, command: bool, path: bool) -> str:
    """Return what an editor's call lacks, and what it may be."""
    commands = f"command is missing: it is one of {', '.join(_COMMAND_PARAMETERS)}"
    paths = "path is missing: it is the absolute path of the file or folder"
    return "; ".join([commands] * command + [paths] * path) + "."


class _Parameters:
    """A call's parameters, with one conversion method per type."""

    def __init__(self, tool: str, values: dict[str, Any], notes: list[str]) -> None:
        self.tool = tool
        self.values = values
        self.notes = notes

    def optional_string(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise ToolError(self._type_error(name, value, "one string"))
        if lone := re.search("[\ud800-\udfff]", value):
            code = ord(lone.group())
            raise ToolError(
                f"{name} contains \\u{code:04x}, half of a surrogate pair; write both halves."
            )
        return value

    def required_string(self, name: str, command: str) -> str:
        value = self.optional_string(name)
        if value is None:
            raise ToolError(f"{name} is required for {command}.")
        return value

    def integer(self, name: str, value: Any) -> int:
        if value is None:
            raise ToolError(f"{name} is required.")
        if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", value):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ToolError(self._type_error(name, value, "an integer"))
        return value

    def view_range(self) -> tuple[int, int] | None:
        value = self.values.get("view_range")
        if isinstance(value, str) and value.strip().startswith("["):
            value = _json_or_text(value)
        if value is None or value == [] or value == "":
            return None
        if not isinstance(value, list) or len(value) != 2:
            raise ToolError(self._type_error("view_range", value, "two integers, like [1, 20]"))
        first, last = (self.integer("view_range", number) for number in value)
        return first, last

    def timeout(self, limits: TimeLimits) -> float | None:
        value = self.values.get("timeout")
        if value is None or value == "":
            return None
        seconds = _to_float(value)
        if not seconds > 0:
            raise ToolError(self._type_error("timeout", value, "seconds, a number above 0"))
        if seconds > limits.maximum:
            self.notes.append(f"timeout was reduced to the maximum, {limits.maximum:g} s")
        return min(seconds, limits.maximum)

    def check_path(self, path: str) -> str:
        if "\0" in path:
            raise ToolError("path contains a NUL character, which no file name may contain.")
        if path.startswith("~"):
            raise ToolError(f"path must be absolute; ~ is not expanded: {path}")
        if not path.startswith("/"):
            self.notes.append(f"{path} is not absolute; it was resolved against /workspace")
        return path

    def note_unused(self, command: str) -> None:
        """Add remarks on parameters that are set but unused by this command."""
        others = _PARAMETERS[EDITOR] - {"command", "path"} - _COMMAND_PARAMETERS[command]
        for name in sorted(others & self.values.keys()):
            if self.values[name] not in (None, "", [], 0):
                self.notes.append(f"{name} has no meaning for {command} and was ignored")

    def _type_error(self, name: str, value: Any, expected: str) -> str:
        try:
            formatted = json.dumps(value)[:80]
        except RecursionError:
            formatted = "a deeply nested value"
        kind = _JSON_TYPE_NAMES.get(type(value), "a number")
        example = _EXAMPLES[self.tool]
        return f"{name} must be {expected}, not {kind}: {formatted}. For example: {example}"


def _to_float(value: Any) -> float:
    """Return a number, also from a string; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _parse_arguments(call: ToolCall) -> dict[str, Any]:
    """Return the call's arguments as an object; accept doubly encoded JSON."""
    value = _parse_json(call.name, call.arguments) if call.arguments.strip() else {}
    if isinstance(value, str):
        value = _json_or_text(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = _JSON_TYPE_NAMES.get(type(value), "a number")
        raise ToolError(f"the arguments of {call.name} are {kind}. {_json_hint(call.name)}")
    return value


def _parse_json(tool: str, text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        near = one_line(text[max(0, error.pos - 20) : error.pos + 20])
        unended = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        end = " The text ends too early: it may have been cut off." * unended
        where = f"{error.msg} at line {error.lineno}, column {error.colno}, near `{near}`"
        problem = f"{where}.{end}"
    except (ValueError, RecursionError):
        problem = "a number is too long, or the nesting is too deep."
    raise ToolError(f"the arguments of {tool} are not valid JSON: {problem} {_json_hint(tool)}")


def _json_hint(tool: str) -> str:
    return (
        "Nothing was done. The arguments must be one JSON object, "
        f'for example {_EXAMPLES.get(tool, _EXAMPLE)}; in strings write " as \\" and \\ as \\\\.'
    )


def _json_or_text(text: str) -> Any:
    """Return the string parsed as JSON, or the string itself if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
