"""Schemas of the three tools, with the reference's names and parameters."""

from typing import Any

from agent.models.base import ToolSchema
from agent.tools.actions import BASH, EDITOR, SUBMIT
from agent.tools.call_parser import TimeLimits
from agent.tools.editor import MAX_FILE_BYTES, MAX_VIEW_CHARACTERS
from agent.tools.observation import OutputLimits

_PICTURES = """
* `view` of a picture (PNG, JPEG, GIF, WebP, BMP, TIFF, AVIF, SVG) or a PDF shows it to you: use \
it to check charts and drawings that you made, and to read scans. For a PDF or an animation, \
`view_range` names pages or frames: [37, 37] shows one, a longer range a sheet of up to 12."""

_EDITOR_PARAMETERS: dict[str, Any] = {
    "command": {
        "type": "string",
        "enum": ["view", "create", "str_replace", "insert"],
        "description": "The command to execute.",
    },
    "path": {
        "type": "string",
        "description": "Absolute path of the file or folder, e.g. /workspace/a.py.",
    },
    "file_text": {
        "type": "string",
        "description": "For `create`, where it is required: the whole text of the new file.",
    },
    "old_str": {
        "type": "string",
        "description": "For `str_replace`, where it is required: the text to be replaced.",
    },
    "new_str": {
        "type": "string",
        "description": "For `str_replace`: the replacement; if missing, old_str is deleted. "
        "For `insert`, where it is required: the lines to insert; "
        "a line end is added after them.",
    },
    "insert_line": {
        "type": "integer",
        "description": "For `insert`, where it is required: the number of the line "
        "after which to insert; 0 is the top of the file.",
    },
    "view_range": {
        "type": "array",
        "items": {"type": "integer"},
        "description": "For `view` of a file: first and last line, from 1, "
        "e.g. [11, 40]; [11, -1] is from line 11 to the end.",
    },
}


def tool_schemas(
    limits: TimeLimits, output_limits: OutputLimits, *, sees: bool = False
) -> tuple[ToolSchema, ...]:
    """Return the schemas of the three tools, in the order in which they are sent."""
    return (_editor_schema(sees=sees), _bash_schema(limits, output_limits), _submit_schema())


def _editor_schema(*, sees: bool) -> ToolSchema:
    pictures = _PICTURES if sees else ""
    description = f"""View, create and edit text files.
* `view` shows a file with numbered lines, like `cat -n`, about {MAX_VIEW_CHARACTERS} characters \
at a time: where more is left, `<response clipped>` says which `view_range` comes next. \
For a folder it lists the files two levels deep with their sizes, hidden ones left out.{pictures}
* `create` makes a new file, and missing folders. It refuses to overwrite an existing file.
* `str_replace` replaces `old_str` where it is in the file exactly once, to the character; \
include enough of its surroundings to make it unique.
* `insert` puts `new_str` as new lines after the line `insert_line`.
Everything else in a file stays as it was, tabs, line ends and encoding included. \
Files up to {MAX_FILE_BYTES // 1024**2} MB; use execute_bash for larger and for binary ones."""
    return _schema(EDITOR, description, _EDITOR_PARAMETERS, ["command", "path"])


def _bash_schema(limits: TimeLimits, output_limits: OutputLimits) -> ToolSchema:
    description = f"""Run a command in a bash shell.
* The shell stays open: its folder, variables, functions and activated environments last from \
one call to the next. Standard input is empty, so nothing can be typed into a running program.
* A command is ended after {limits.default:g} seconds, or after `timeout` seconds; what it printed \
until then is shown.
* A background process (`command &`) runs on after the call, but what it prints later is not \
shown: send it to a file, e.g. `command > log.txt 2>&1 &`, and look there.
* Of long output the first and last {output_limits.lines} lines of each stream are shown, at most \
{output_limits.characters} characters; a line in the middle says how much was left out. \
For the rest, send output to a file and look at parts of it."""
    default, longest = f"{limits.default:g}", f"{limits.maximum:g}"
    timeout = f"Time limit in seconds, if not {default}; at most {longest}."
    parameters = {
        "command": {"type": "string", "description": "The command, as one string."},
        "timeout": {"type": "number", "description": timeout},
    }
    return _schema(BASH, description, parameters, ["command"])


def _submit_schema() -> ToolSchema:
    description = "Finish: the task is done and its results are in place. Nothing runs after this."
    return _schema(SUBMIT, description, {}, [])


def _schema(
    name: str, description: str, properties: dict[str, Any], required: list[str]
) -> ToolSchema:
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    return ToolSchema(name, description, parameters)
