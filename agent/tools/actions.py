"""Actions: parsed tool calls."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from agent.util.text import common_prefix_length, mark_hidden, one_line, shortened

BASH, EDITOR, SUBMIT = "execute_bash", "str_replace_editor", "submit"

_MAX_SUMMARY_LENGTH = 120
_MAX_DIFF_SIZE = 10_000


@dataclass(frozen=True, slots=True)
class Bash:
    """A shell command; ``timeout`` is its limit in seconds, if the call set one."""

    command: str
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A file or folder to show; ``view_range`` is first and last line (-1: the end)."""

    path: str
    view_range: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """A new file with its text."""

    path: str
    file_text: str


@dataclass(frozen=True, slots=True)
class Replace:
    """A text in a file and its replacement."""

    path: str
    old_str: str
    new_str: str


@dataclass(frozen=True, slots=True)
class Insert:
    """Text to insert after a line (0: at the top)."""

    path: str
    insert_line: int
    new_str: str


@dataclass(frozen=True, slots=True)
class Submit:
    """The end of the task."""


@dataclass(frozen=True, slots=True)
class Custom:
    """A call of a tool of the user's own, with its arguments as JSON types."""

    tool: str
    arguments: Mapping[str, Any]


Operation = Bash | View | Create | Replace | Insert | Submit | Custom
_COMMANDS = {View: "view", Create: "create", Replace: "str_replace", Insert: "insert"}


@dataclass(frozen=True, slots=True)
class Action:
    """A call that can be executed; notes on ignored or changed parameters follow its result."""

    operation: Operation
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The tool's name."""
        match self.operation:
            case Bash():
                return BASH
            case Submit():
                return SUBMIT
            case Custom(tool):
                return tool
        return EDITOR

    @property
    def arguments(self) -> dict[str, Any]:
        """The call's parameters as parsed, in JSON types."""
        if isinstance(self.operation, Custom):
            return dict(self.operation.arguments)
        values = {
            name: value for name, value in asdict(self.operation).items() if value is not None
        }
        if "view_range" in values:
            values["view_range"] = list(values["view_range"])
        command = _COMMANDS.get(type(self.operation))
        return {"command": command, **values} if command else values

    @property
    def summary(self) -> str:
        """A one-line summary of the call for the user."""
        text = one_line(mark_hidden(_summarize(self.operation)))
        return shortened(text, _MAX_SUMMARY_LENGTH)


@dataclass(frozen=True, slots=True)
class InvalidCall:
    """A call that cannot be executed; ``text`` is its result and gives the reason."""

    text: str


def _summarize(operation: Operation) -> str:
    match operation:
        case Bash(command):
            lines = command.strip().splitlines() or [""]
            return lines[0] + (" …" if len(lines) > 1 else "")
        case View(path, view_range):
            lines_shown = f" {view_range[0]}–{_line_label(view_range[1])}" if view_range else ""
            return f"view {_short_path(path)}{lines_shown}"
        case Create(path):
            return f"create {_short_path(path)}"
        case Replace(path, old_str, new_str):
            more, less = _changed_lines(old_str, new_str)
            return f"str_replace {_short_path(path)} +{more} −{less}"
        case Insert(path, _, new_str):
            return f"insert {_short_path(path)} +{new_str.count(chr(10)) + 1}"
        case Submit():
            return SUBMIT
        case Custom(tool, arguments):
            values = (f"{name}={_value(value)}" for name, value in arguments.items())
            return " ".join([tool, *values])


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short_path(path: str) -> str:
    return path.removeprefix("/workspace/") or path


def _line_label(line: int) -> str:
    return "end" if line == -1 else str(line)


def _changed_lines(old: str, new: str) -> tuple[int, int]:
    """Count lines added and removed; count all lines of a large change."""
    before, after = old.splitlines(), new.splitlines()
    same = common_prefix_length(before, after)
    before, after = before[same:][::-1], after[same:][::-1]
    same = common_prefix_length(before, after)
    before, after = before[same:], after[same:]
    if len(before) * len(after) > _MAX_DIFF_SIZE:
        return len(after), len(before)
    blocks = SequenceMatcher(None, before, after).get_matching_blocks()
    same = sum(block.size for block in blocks)
    return len(after) - same, len(before) - same
