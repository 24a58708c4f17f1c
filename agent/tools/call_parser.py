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
    Mistake,
    Replace,
    Submit,
    View,
    Work,
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
_USED = {
    "view": {"view_range"},
    "create": {"file_text"},
    "str_replace": {"old_str", "new_str"},
    "insert": {"insert_line", "new_str"},
}
_ALIASES = {(EDITOR, "insert"): {"insert_text": "new_str"}}
"""Names that other editors with the same commands use for the same parameters."""
_HARMLESS = frozenset({"security_risk"})
"""Parameters that models add out of habit and that have no effect."""
_EXAMPLES = {
    EDITOR: '{"command": "view", "path": "/workspace/input/notes.txt"}',
    BASH: '{"command": "ls -la"}',
    SUBMIT: "{}",
}
_EXAMPLE = '{"name": "value"}'
_KINDS = {str: "a string", bool: "true or false", list: "an array", dict: "an object"}
_NAMED = 80


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits of a command in seconds: the default and the highest allowed."""

    default: float = 120.0
    longest: float = 3600.0


def parse(
    call: ToolCall, limits: TimeLimits, custom: Mapping[str, Tool] | None = None
) -> Action | Mistake:
    """Parse a call; accept deviations only if the meaning is certain.

    Args:
        call: The call.
        limits: The time limits of a command.
        custom: The user's own tools, by name.
    """
    own = (custom or {}).get(call.name)
    if own is None and call.name not in _PARAMETERS:
        name = one_line(call.name)[:_NAMED]
        known = ", ".join([EDITOR, BASH, *(custom or {})])
        return Mistake(f"Unknown action: {name}. The tools are {known} and {SUBMIT}.")
    try:
        if own is not None:
            own.validate(values := _arguments(call))
            return Action(Custom(own.name, values))
        given = _with_usual_names(call.name, _arguments(call))
        unknown = sorted(set(given) - _PARAMETERS[call.name] - _harmless(given))
        remarks = [
            f"the unknown parameter {one_line(name)[:_NAMED]} was ignored" for name in unknown
        ]
        work = _work(call.name, _Given(call.name, given, remarks), limits)
    except ToolError as error:
        return Mistake(f"Error: {error}")
    return Action(work, tuple(remarks))


def _with_usual_names(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """Replace aliases in the arguments, unless the usual name is also given."""
    aliases = _ALIASES.get((tool, str(given.get("command"))), {})
    for alias, name in aliases.items():
        if given.get(name) is None and alias in given:
            given = {**given, name: given[alias]}
            del given[alias]
    return given


def _harmless(given: dict[str, Any]) -> set[str]:
    """Return the parameters to ignore without a remark; not a true ``is_input``."""
    no_input = str(given.get("is_input", False)).lower() == "false"
    return {*_HARMLESS, *(["is_input"] if no_input else [])}


def _work(tool: str, given: "_Given", limits: TimeLimits) -> Work:
    match tool:
        case "submit":
            return Submit()
        case "execute_bash":
            command = given.text("command")
            if not command or not command.strip():
                raise ToolError("No command provided.")
            if "\0" in command:
                raise ToolError("command holds a NUL character, which no shell command can.")
            return Bash(command, given.timeout(limits))
        case _:
            return _editor_work(given)


def _editor_work(given: "_Given") -> Work:
    command, path = given.text("command"), given.text("path")
    if not command or not path:
        raise ToolError("command and path are required.")
    if command == "undo_edit":
        raise ToolError(
            "undo_edit is not one of the commands. To take an edit back, use str_replace with "
            "old_str and new_str exchanged; to see the file as it is now, view."
        )
    if command not in _USED:
        known = ", ".join(_USED)
        raise ToolError(f"Unknown command: {one_line(command)[:_NAMED]}. The commands are {known}.")
    given.tell_unused(command)
    path = given.checked_path(path)
    match command:
        case "view":
            return View(path, given.view_range())
        case "create":
            return Create(path, given.required("file_text", command))
        case "str_replace":
            old_str = given.required("old_str", command)
            return Replace(path, old_str, given.text("new_str") or "")
        case _:
            new_str = given.required("new_str", command)
            line = given.integer("insert_line", given.values.get("insert_line"))
            return Insert(path, line, new_str)


class _Given:
    """A call's parameters, with one conversion method per type."""

    def __init__(self, tool: str, values: dict[str, Any], remarks: list[str]) -> None:
        self.tool = tool
        self.values = values
        self.remarks = remarks

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise ToolError(self._wrong(name, value, "one string"))
        if lone := re.search("[\ud800-\udfff]", value):
            code = ord(lone.group())
            raise ToolError(f"{name} holds \\u{code:04x}, half of a character; write it whole.")
        return value

    def required(self, name: str, command: str) -> str:
        value = self.text(name)
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
            raise ToolError(self._wrong(name, value, "an integer"))
        return value

    def view_range(self) -> tuple[int, int] | None:
        value = self.values.get("view_range")
        if isinstance(value, str) and value.strip().startswith("["):
            value = _json_or_text(value)
        if value is None or value == [] or value == "":
            return None
        if not isinstance(value, list) or len(value) != 2:
            raise ToolError(self._wrong("view_range", value, "two integers, like [1, 20]"))
        first, last = (self.integer("view_range", number) for number in value)
        return first, last

    def timeout(self, limits: TimeLimits) -> float | None:
        value = self.values.get("timeout")
        if value is None or value == "":
            return None
        seconds = _number(value)
        if not seconds > 0:
            raise ToolError(self._wrong("timeout", value, "seconds, a number above 0"))
        if seconds > limits.longest:
            self.remarks.append(f"the longest time limit is {limits.longest:g} s, which was used")
        return min(seconds, limits.longest)

    def checked_path(self, path: str) -> str:
        if "\0" in path:
            raise ToolError("path holds a NUL character, which no file name can.")
        if path.startswith("~"):
            raise ToolError(f"path must be absolute; ~ is not expanded: {path}")
        if not path.startswith("/"):
            self.remarks.append(f"{path} is not absolute; it was taken from /workspace")
        return path

    def tell_unused(self, command: str) -> None:
        """Add remarks on parameters that are set but unused by this command."""
        others = _PARAMETERS[EDITOR] - {"command", "path"} - _USED[command]
        for name in sorted(others & self.values.keys()):
            if self.values[name] not in (None, "", [], 0):
                self.remarks.append(f"{name} has no meaning for {command} and was ignored")

    def _wrong(self, name: str, value: Any, wanted: str) -> str:
        try:
            shown = json.dumps(value)[:80]
        except RecursionError:
            shown = "a deep nesting"
        kind = _KINDS.get(type(value), "a number")
        example = _EXAMPLES[self.tool]
        return f"{name} must be {wanted}; given was {kind}: {shown}. For example: {example}"


def _number(value: Any) -> float:
    """Return a number, also from a string; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _arguments(call: ToolCall) -> dict[str, Any]:
    """Return the call's arguments as an object; accept doubly encoded JSON."""
    value = _loads(call.name, call.arguments) if call.arguments.strip() else {}
    if isinstance(value, str):
        value = _json_or_text(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = _KINDS.get(type(value), "a number")
        raise ToolError(f"the arguments of {call.name} are {kind}. {_rule(call.name)}")
    return value


def _loads(tool: str, text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        near = one_line(text[max(0, error.pos - 20) : error.pos + 20])
        unended = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        end = " The text ends too early: it may have been cut off." * unended
        where = f"{error.msg} at line {error.lineno}, column {error.colno}, near `{near}`"
        problem = f"{where}.{end}"
    except (ValueError, RecursionError):
        problem = "a number is too long, or the nesting too deep."
    raise ToolError(f"the arguments of {tool} are not valid JSON: {problem} {_rule(tool)}")


def _rule(tool: str) -> str:
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
