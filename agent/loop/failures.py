"""Failures of the model itself, as opposed to those of its endpoint or of the sandbox."""

import re

from agent.errors import ToolError
from agent.sandbox.base import Sandbox

EMPTY_ANSWER = "The model wrote no text and called no tool. Try again, or choose another model."
NO_TOOLS_MESSAGE = (
    "The model called tools twice in a row, but a run in plain mode has none. Start the run with a "
    "sandbox, or choose another model."
)
FALSE_CLAIM = (
    "The model reported that {path} is done, but {problem}. Rephrase the task, or "
    "connect a larger model."
)
_DONE_PATTERN = re.compile(r"^Done: (output/\S*)\s*$", re.MULTILINE)


def is_models_failure(reason: str) -> bool:
    """Whether the reason for which a run failed is something that the model did."""
    return reason in (EMPTY_ANSWER, NO_TOOLS_MESSAGE) or reason.startswith(
        FALSE_CLAIM.partition("{")[0]
    )


def check_claimed_files(message: str, sandbox: Sandbox) -> str:
    """Return a sentence on the first missing or empty file of ``Done: PATH``; empty if none is."""
    for path in _DONE_PATTERN.findall(message):
        if problem := _file_problem(path, sandbox):
            return FALSE_CLAIM.format(path=path, problem=problem)
    return ""


def _file_problem(path: str, sandbox: Sandbox) -> str:
    kind = sandbox.kind(path)
    if kind == "missing":
        return "it does not exist"
    if kind == "folder":
        return "" if sandbox.list_folder(path, depth=1, limit=1) else "it is empty"
    try:
        return "" if sandbox.read(path, limit=1) else "it is empty"
    except ToolError:  # more than one byte
        return ""
